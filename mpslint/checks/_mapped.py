"""The functions that `Dataset.map` is given."""

from __future__ import annotations

from mpslint.facts.values import Bound, Call, Function


def mapped_function(call: Call) -> Function | None:
    """Return the function of the program that a call of `map` applies, or None."""
    argument = call.arguments[0] if call.arguments else call.keywords.get("function")
    value = argument.value if argument is not None else None
    function = value.function if isinstance(value, Bound) else value
    return function if isinstance(function, Function) else None
