"""Transformer encoders that are given a padding mask and evaluated: PyTorch looks at the mask with an operator that MPS lacks.

A check because PyTorch's fast path hangs on a dozen arguments of two modules together.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from mpslint.facts.values import Argument, Call, Instance, Known, Symbol, Value, alternatives_of
from mpslint.rule.judge import Match
from mpslint.settings.evidence import Evidence

MASK = "src_key_padding_mask"


def find(evidence: Evidence, options: Mapping[str, Any]) -> Iterator[Match]:
    """Yield the calls that hand a padding mask to an encoder which takes the fast path where the program evaluates.

    Options: `encoders`, what makes an encoder of a layer; `layers` and `models`, what makes a layer or a whole model, with the position of
    its number of heads; `activations`, those of the fast path; `evaluations`, the methods that end training mode.
    """
    if not any(call.method in options["evaluations"] and not call.arguments for call in evidence.facts.calls):
        return
    for call in evidence.facts.calls:
        mask = call.keywords.get(MASK)
        if mask is None or _is(mask.value, None) or not call.name.endswith(".__call__"):
            continue
        made = [other for other in evidence.facts.calls if call.name == f"{other.name}.__call__"]
        if made and all(_takes_fast_path(other, options) for other in made):
            yield Match(evidence.span_of(call.node.func), {}, None, call, None, call.context, (), call.node)


def _takes_fast_path(made: Call, options: Mapping[str, Any]) -> bool:
    """Return whether a call makes an encoder, or a model with one, whose evaluation takes the fast path."""
    if made.name in options["models"]:
        return _is_fast_layer(made, options, options["models"][made.name])
    if made.name not in options["encoders"] or _is(_value(made.keywords.get("enable_nested_tensor")), False) or len(made.arguments) > 3:
        return False
    given = made.arguments[0] if made.arguments else made.keywords.get("encoder_layer")
    layers = list(alternatives_of(given.value)) if given is not None else []
    return bool(layers) and all(
        isinstance(layer, Instance) and layer.name in options["layers"] and layer.call is not None
        and _is_fast_layer(layer.call, options, options["layers"][layer.name])
        for layer in layers
    )  # fmt: skip


def _is_fast_layer(made: Call, options: Mapping[str, Any], heads: int) -> bool:
    """Return whether a layer is batch-first, norms last, and has an even number of heads and a usual activation."""
    given = made.keywords
    number = _value(made.arguments[heads] if len(made.arguments) > heads else given.get("nhead"))
    return (
        _is(_value(given.get("batch_first")), True)
        and ("norm_first" not in given or _is(_value(given["norm_first"]), False))
        and ("bias" not in given or _is(_value(given["bias"]), True))
        and ("activation" not in given or _name_of(given["activation"].value) in options["activations"])
        and not (isinstance(number, Known) and isinstance(number.value, int) and number.value % 2)
    )


def _value(argument: Argument | None) -> Value | None:
    return argument.value if argument is not None else None


def _is(value: Value | None, constant: object) -> bool:
    """Return whether a value certainly is a constant."""
    return isinstance(value, Known) and value.value is constant


def _name_of(value: Value) -> str:
    return value.name if isinstance(value, Symbol) else str(value.value) if isinstance(value, Known) else ""
