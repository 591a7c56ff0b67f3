"""A model on the Mac's GPU that is given to a function which prints its layers, and runs it on the CPU for that.

A check because it follows where a model lies from call to call, past a function that moves it without saying so.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from mpslint.core.finding import Related
from mpslint.facts.values import Argument, Call, Instance, Known, alternatives_of
from mpslint.rule.guards import is_caught
from mpslint.rule.judge import Match
from mpslint.settings.evidence import Evidence

OF_EVERY_MODULE = frozenset(
    {"parameters", "named_parameters", "modules", "named_modules", "children", "state_dict", "eval", "train", "to", "cuda", "cpu", "size",
     "item", "items", "keys", "values", "append", "get", "zero_grad", "register_buffer", "requires_grad_", "numel", "dim"}
)  # fmt: skip
"""Methods that compute nothing with a module's weights."""


def find(evidence: Evidence, options: Mapping[str, Any]) -> Iterator[Match]:
    """Yield each such call of a model that was put on the Mac's GPU before.

    Options: `raises`, the functions that run the model on an input of their own, on the CPU or on CUDA; `moves`, those that move it to
    the CPU for an input of which they are given the size (the second argument, or one of `sizes`), and leave it there: these count where
    the model is run again before it is moved back.
    """
    matched = {id(m.call): m for m in evidence.file_plans.matched}
    placed: dict[int, Call] = {}
    moved: dict[int, Match] = {}
    for call in evidence.facts.calls:
        placing = matched.get(id(call))
        devices = placing.devices if placing is not None and placing.pattern.role == "placement" else frozenset()
        device = "cpu" if call.method == "cpu" else "".join(devices) if len(devices) == 1 else ""
        if device and isinstance(call.receiver, Instance):
            moved.pop(id(call.receiver), None)
            placed.pop(id(call.receiver), None)
            if device == "mps":
                placed[id(call.receiver)] = call
            continue
        if isinstance(call.receiver, Instance) and id(call.receiver) in moved and call.method not in OF_EVERY_MODULE:
            yield moved.pop(id(call.receiver))
        first = call.arguments[0] if call.arguments else call.keywords.get("model")
        for model in [one for one in alternatives_of(first.value) if id(one) in placed] if first is not None else ():
            related = (Related(evidence.span_of(placed[id(model)].node), "it goes to the Mac's GPU here"),)
            match = Match(evidence.span_of(call.node), {}, call=call, context=call.context, related=related, node=call.node)
            if is_caught(call.context):
                continue
            if call.name in options.get("raises", ()):
                yield match
            elif call.name in options.get("moves", ()) and _moves(call, options):
                moved[id(model)] = match


def _moves(call: Call, options: Mapping[str, Any]) -> bool:
    """Return whether a call runs the model on an input of its own and on the device that it chooses, which is the CPU on a Mac."""
    device: Argument | None = call.keywords.get("device")
    is_cpu = device is None or (isinstance(device.value, Known) and device.value.value in (None, "cpu"))
    is_sized = len(call.arguments) > 1 or any(name in call.keywords for name in options["sizes"])
    return is_sized and is_cpu
