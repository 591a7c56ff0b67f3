"""Sequence-to-sequence Trainers whose metrics decode texts although nothing is generated."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from typing import Any

from mpslint.checks._trainers import function_given, trainer_of
from mpslint.program.walk import walk
from mpslint.rule.judge import Match, match_of
from mpslint.settings.evidence import Evidence

DECODES = frozenset({"batch_decode", "decode"})


def find(evidence: Evidence, options: Mapping[str, Any]) -> Iterator[Match]:
    """Yield the arguments of the runs whose `compute_metrics` decodes the argmax of teacher-forced logits."""
    for plan in evidence.plans:
        generates, trainer = plan.get("evaluation.generates"), trainer_of(plan)
        if generates is None or trainer is None or not generates.is_known or generates.constant is not False:
            continue
        function = function_given(plan, "compute_metrics", evidence)
        if function is None or not any(name.endswith("Seq2SeqTrainer") for name in trainer.names):
            continue
        if any(isinstance(node, ast.Attribute) and node.attr in DECODES for node in walk(function.node)):
            match = match_of(generates, plan, evidence)
            if match is not None:
                yield match
