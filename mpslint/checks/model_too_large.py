"""Models whose training state alone, without any activation, is more than the Mac's GPU works well with.

A check because it works out a sum of weights, gradients and optimizer state, and the Mac that holds it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from mpslint.core.knowledge import parameters_of, platform_data
from mpslint.core.versions import Version
from mpslint.rule.judge import Match, match_of
from mpslint.settings.evidence import Evidence
from mpslint.settings.families import is_quantised
from mpslint.settings.gather import behind
from mpslint.settings.plan import TrainingPlan
from mpslint.settings.setting import Setting
from mpslint.target.macs import GIB, limits, smallest_for


def find(evidence: Evidence, options: Mapping[str, Any]) -> Iterator[Match]:
    """Yield the model of each run whose state is too large.

    Options: `partly`, a pattern of texts that speak of training a part only; `unknown`, the memory of a Mac that is taken where none is
    given (then a given one is not asked about), and how to say which Macs hold the model (`some`), or that none does (`none`); `files`, of
    which role the configuration is of a command that trains all weights, and in which dtype, unless its text holds a pattern.
    """
    given, unknown = evidence.target.memory_gib, options.get("unknown")
    memory = given if unknown is None else unknown["memory"]
    if memory is None or (given is not None) is (unknown is not None):
        return
    macos = evidence.target.versions.get("macos")
    limit = limits(memory, macos)
    is_partly = re.search(options["partly"], evidence.text) is not None
    for plan in evidence.plans:
        file = _of_file(plan, options.get("files"), evidence)
        model = file or _model_of(plan, evidence)
        millions = parameters_of(str(model.constant)) if model is not None else None
        match = match_of(model, plan, evidence) if model is not None else None
        if millions is None or match is None or (unknown is not None and match.call is None and file is None):
            continue  # of a command or a file, the script may load the weights in another way; who says the memory wants to know anyway
        weights = options["files"]["weights"] if file is not None else None
        needed = millions * 1e6 * _bytes_of_parameter(plan, is_partly or "lora" in plan.calls, weights)
        if needed > limit.recommended:
            values = {
                **match.values,
                "parameters": f"{millions / 1000:.1f} billion" if millions >= 1000 else f"{millions:.0f} million",
                "needed": f"{needed / GIB:.1f}",
                "recommended": f"{limit.recommended / GIB:.1f}",
                "most": f"{limit.high / GIB:.1f}",
                "memory": memory,
                "macs": _macs_for(needed, macos, unknown) if unknown is not None else "",
            }
            yield Match(match.span, values, model, match.call, plan, match.context, match.related, match.node)


def _macs_for(needed: float, macos: Version | None, said: Mapping[str, str]) -> str:
    """Return which Macs have the memory that is needed, in the words of the rule."""
    smallest = smallest_for(needed, macos)
    return said["some"].format(memory=smallest) if smallest is not None else said["none"]


def _model_of(plan: TrainingPlan, evidence: Evidence) -> Setting | None:
    """Return the setting that names the model which a Trainer, or the one optimizer of a loop, gets.

    None where it is not loaded by name, or quantised.
    """
    optimizers = plan.calls.get("optimizer", ())
    trainer = plan.trainer or (optimizers[0] if plan.kind == "loop" and len(optimizers) == 1 else None)
    if trainer is None or "quantization" in plan.calls or any(setting.is_written for setting in plan.settings.get("model.bits", ())):
        return None
    given = trainer.keywords.get("model") or trainer.keywords.get("params") or next(iter(trainer.arguments), None)
    parts = behind(given.value, evidence.file_plans.by_result) if given is not None else iter(())
    loaded = [part for part in parts if part.pattern.role == "model"]
    named = [setting for setting in loaded[0].settings if setting.name == "model.name"] if len(loaded) == 1 else []
    known = (setting for setting in named if setting.is_known and isinstance(setting.constant, str))
    return next((setting for setting in known if not is_quantised(setting.constant)), None)


def _of_file(plan: TrainingPlan, files: Mapping[str, Any] | None, evidence: Evidence) -> Setting | None:
    """Return the setting that names the model of a configuration file whose command trains all weights of it; None for any other plan."""
    if files is None or plan.kind != "config" or re.search(files["unless"], evidence.document.text):
        return None
    adapters = [one for one in plan.settings.get("model.adapter", ()) if one.is_written and one.role == files["role"]]
    if not adapters or any(not one.is_known or one.constant != "none" for one in adapters):
        return None
    return next((one for one in plan.settings.get("model.name", ()) if one.is_known and isinstance(one.constant, str)), None)


def _bytes_of_parameter(plan: TrainingPlan, is_partly: bool, weights: str | None = None) -> int:
    """Return the bytes that a run keeps for each parameter at least: the weight, and where all are trained gradient and moments.

    The dtype of the weights is that of the plan, where it isn't given. A run that compares with the model before training keeps that, too.
    """
    known = platform_data("model_sizes")
    dtypes = [dtype for setting in plan.settings.get("precision.weights", ()) for dtype in (setting.constants or ("auto",))]
    if weights is not None:
        dtypes = [weights]
    size = min((int(known["bytes"].get(str(dtype), known["bytes"]["auto"])) for dtype in dtypes), default=int(known["bytes"]["auto"]))
    if is_partly:
        return size
    optimizer = str(plan.constant("optimizer.name") or "").rsplit(".", 1)[-1].lower()
    references = plan.constant("preference.precomputed") is False
    return size * (2 + references + int(known["moments"].get(optimizer, 0)))
