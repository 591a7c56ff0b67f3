"""Trainers that collect what the model puts out, for all evaluation batches, before any of it leaves the device."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from mpslint.checks._trainers import is_asked
from mpslint.rule.check import Gate
from mpslint.rule.judge import Match, match_of
from mpslint.settings.evidence import Evidence
from mpslint.settings.plan import TrainingPlan

OFF = ("no", None)

GATE = Gate(words=("Trainer", "TrainingArguments", "Config"), file_words=("Trainer",))


def find(evidence: Evidence, options: Mapping[str, Any]) -> Iterator[Match]:
    """Yield the arguments of the runs in which evaluation or prediction keeps its outputs on the device to the end."""
    for plan in evidence.plans:
        steps = plan.get("evaluation.accumulation_steps")
        if plan.kind != "trainer" or steps is None or not steps.is_known or steps.constant is not None:
            continue
        if _keeps_outputs(plan, evidence) and plan.constant("evaluation.reduces_logits") is False:
            match = match_of(steps, plan, evidence)
            if match is not None:
                yield match


def _keeps_outputs(plan: TrainingPlan, evidence: Evidence) -> bool:
    """Return whether a run evaluates with metrics, or predicts: else only the losses are kept."""
    if plan.constant("evaluation.loss_only") or plan.constant("evaluation.batch_metrics"):
        return False
    evaluates = plan.constant("evaluation.strategy") not in OFF or is_asked(plan, "evaluate", evidence)
    return is_asked(plan, "predict", evidence) or (evaluates and plan.constant("evaluation.metrics") is True)
