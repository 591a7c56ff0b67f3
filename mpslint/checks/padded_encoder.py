"""Transformer encoders that are given a padding mask and evaluated: PyTorch looks at the mask with an operator that MPS lacks.

A check because PyTorch's fast path hangs on a dozen arguments of two modules together.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from mpslint.facts.values import Call, Instance, Known, Symbol, alternatives_of
from mpslint.rule.judge import Match
from mpslint.settings.evidence import Evidence
from mpslint.tensors.traits import is_none

MASK, DEFAULT = "src_key_padding_mask", "default"


def find(evidence: Evidence, options: Mapping[str, Any]) -> Iterator[Match]:
    """Yield the calls that hand a padding mask to an encoder which takes the fast path where the program evaluates.

    Options: `encoders`, what makes an encoder of a layer; `layers` and `models`, what makes a layer or a whole model, with the position of
    its number of heads; `fast`, what their arguments are on the fast path; `evaluations`, the methods that end training mode.
    """
    if not any(call.method in options["evaluations"] and not call.arguments for call in evidence.facts.calls):
        return
    for call in evidence.facts.calls:
        mask = call.keywords.get(MASK)
        if mask is None or is_none(mask.value) or not call.name.endswith(".__call__"):
            continue
        made = [other for other in evidence.facts.calls if call.name == f"{other.name}.__call__"]
        if made and all(_takes_fast_path(other, options) for other in made):
            yield Match(evidence.span_of(call.node.func), {}, None, call, None, call.context, (), call.node)


def _takes_fast_path(made: Call, options: Mapping[str, Any]) -> bool:
    """Return whether a call makes an encoder, or a model with one, whose evaluation takes the fast path."""
    if made.name in options["models"]:
        return _is_fast_layer(made, options, options["models"][made.name])
    if made.name not in options["encoders"] or _said(made, "enable_nested_tensor") is False or len(made.arguments) > 3:
        return False
    given = made.arguments[0] if made.arguments else made.keywords.get("encoder_layer")
    layers = [one.call if isinstance(one, Instance) else None for one in (alternatives_of(given.value) if given is not None else ())]
    known = options["layers"]
    return bool(layers) and all(one is not None and one.name in known and _is_fast_layer(one, options, known[one.name]) for one in layers)


def _is_fast_layer(made: Call, options: Mapping[str, Any], heads: int) -> bool:
    """Return whether a layer is batch-first, norms last, and has an even number of heads and a usual activation."""
    number = made.arguments[heads].value if len(made.arguments) > heads else Known(_said(made, "nhead"))
    is_odd = isinstance(number, Known) and isinstance(number.value, int) and number.value % 2
    return not is_odd and all(_said(made, name) in allowed for name, allowed in options["fast"].items())


def _said(made: Call, name: str) -> Any:
    """Return the constant, or the name, that an argument is; DEFAULT where there is none, and Ellipsis where it isn't known."""
    value = made.keywords[name].value if name in made.keywords else Known(DEFAULT)
    return value.value if isinstance(value, Known) else value.name if isinstance(value, Symbol) else ...
