"""A `device_map` of the very model that a Trainer is given."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from mpslint.core.checkpoints import parameters_of
from mpslint.rule.judge import Match
from mpslint.rule.trained import is_quantised
from mpslint.settings.evidence import Evidence
from mpslint.settings.gather import behind
from mpslint.settings.setting import Setting
from mpslint.settings.translate import bound_arguments


def find(evidence: Evidence, options: Mapping[str, Any]) -> Iterator[Match]:
    """Yield the device maps of trained models.

    Options: `maps`, those that spread a model; `weights`, the dtype it is loaded in; `fits`, the millions of parameters that any Mac holds.
    """
    for plan in evidence.plans:
        for call in plan.calls.get("trainer", ()):
            trainer = next(m for m in evidence.file_plans.matched if m.call is call)
            model = bound_arguments(call, trainer.pattern).get("model")
            for loaded in behind(model.value, evidence.file_plans.by_result) if model is not None else ():
                said = {setting.name: setting for setting in loaded.settings if setting.is_written}
                found = said.get("model.device_map")
                if found is None or found.span is None or not _is_one_of(found, options["maps"]):
                    continue
                if is_quantised(loaded):
                    continue  # quantised weights have to be placed as they are loaded
                weights = said.get("precision.weights")
                if "weights" in options and (weights is None or not _is_one_of(weights, options["weights"])):
                    continue
                name = said.get("model.name")
                size = parameters_of(str(name.constant)) if name is not None and name.is_known else None
                if size is not None and size <= options.get("fits", 0):
                    continue
                values = {"value": found.constant, "written": evidence.document.text[found.span.start : found.span.end]}
                yield Match(found.span, values, found, loaded.call, plan, found.context, (), found.node)


def _is_one_of(setting: Setting, words: list[str]) -> bool:
    return setting.is_known and setting.constant in words
