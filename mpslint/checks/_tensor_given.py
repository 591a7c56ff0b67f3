"""What a tensor that a call is given certainly is: its dimensions, its dtype, and whether it is a view of other memory."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from mpslint.facts.values import Argument, Call, Instance, Known, alternatives_of
from mpslint.rule.comparisons import compare_all
from mpslint.tensors.shapes import shape_of
from mpslint.tensors.traits import PLACE, devices_of, dtype_of, is_tensor, joined_dtype, joined_trait, layout_of

Asked = Mapping[str, Mapping[Any, tuple[tuple[str, Any], ...]]]
"""By argument, comparisons by what is compared: a dimension by its number, `rank`, `dtype`, `place`, `strided`, `part` or `behind`."""


def is_given(call: Call, positional: Sequence[str], asked: Asked) -> bool:
    """Return whether the arguments of a call, of which a method's tensor is the first, and what its module holds are certainly as asked."""
    held = {name: Argument(value, None) for name, value in getattr(call.receiver, "slots", {}).items() if isinstance(name, str)}
    itself = [Argument(call.receiver, getattr(call.node.func, "value", None))] if is_method(call) and call.receiver is not None else []
    given = {**held, **dict(zip(positional, (*itself, *call.arguments), strict=False)), **call.keywords}
    return all(
        name in given and all(compare_all(tuple(_found(given[name], what)), compared) for what, compared in properties.items())
        for name, properties in asked.items()
    )


def is_method(call: Call) -> bool:
    """Return whether a call is that of a tensor's method."""
    return call.receiver is not None and is_tensor(call.receiver)


def _is_behind(node: ast.AST | None) -> bool:
    """Return whether a part of a tensor begins, or may begin, behind the first of its numbers: not `x[0]` and `x[:2]`."""
    index = node.slice if isinstance(node, ast.Subscript) else None
    parts = [one.lower if isinstance(one, ast.Slice) else one for one in (index.elts if isinstance(index, ast.Tuple) else [index])]
    return index is None or any(one is not None and not (isinstance(one, ast.Constant) and one.value in (0, None, ...)) for one in parts)


def _found(argument: Argument, what: Any) -> Iterator[Any]:
    """Yield what an argument is in one respect, for each of its alternatives; nothing where one of them isn't known."""
    values = alternatives_of(argument.value)
    if what == "strided":
        yield bool(layout_of(argument.value))
    elif what in ("part", "behind"):
        is_part = all(isinstance(value, Instance) and is_tensor(value) and value.name.endswith("[]") for value in values)
        yield is_part and (what == "part" or _is_behind(argument.node))
    elif what == "dtype":
        yield dtype_of(argument.value) or dtype_of(joined_dtype(argument.value))
    elif what == "place":
        yield from devices_of(argument.value if isinstance(argument.value, Known) else joined_trait(argument.value, PLACE))
    else:
        sizes = [shape.lengths if (shape := shape_of(value)) is not None else () for value in values]
        if all(sizes) and what == "rank":
            yield from map(len, sizes)
        elif what != "rank" and all(-len(one) <= what < len(one) for one in sizes):
            yield from (one[what] for one in sizes)
