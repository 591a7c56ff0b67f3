"""The length of the longest sample of a batch, as collate functions find it, and what they fill up to it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping, Sequence

from mpslint.program.walk import called_name

MAKERS = frozenset(
    "zeros ones full empty zeros_like full_like new_zeros new_ones new_full new_empty "
    "Tensor FloatTensor LongTensor IntTensor ByteTensor BoolTensor".split()
)
"""Functions and methods that make a given shape."""
IS_PAD = re.compile(r"^_*pad(?:_|$)")
"""Functions, also of the program, that fill up to a given length."""
MEASURES = re.compile(r"\blen\(|\.size\(|\.shape\b|len(gth)?s?\b|\blen(gth)?s?_")
"""What a longest length is the maximum of."""
MAXIMA = frozenset(["max", "amax"])
SORTS = frozenset(["sort", "sorted"])
DOWNWARDS = frozenset(["reverse", "descending"])
FEW = 16
"""Rounding up to a multiple below this leaves nearly as many lengths as there were."""


def filled_to_longest(nodes: Sequence[ast.AST], given: frozenset[str], constants: Mapping[str, object]) -> list[ast.Call]:
    """Return each call that finds the length up to which a function fills: `[pad] * (longest - len(row))`, `torch.zeros(n, longest)`.

    A length that the function is `given` is not the longest: `if max_len is None: max_len = max(lengths)` doesn't run then. `constants`
    are what it knows of itself (`self.multiple`).
    """
    assigned = [node for node in nodes if isinstance(node, ast.Assign) and len(node.targets) == 1]
    ordered = dict(_ordered(nodes))
    samples = dict(_longest_samples(assigned, ordered))
    longest: dict[str, ast.Call] = {}
    for node in assigned:
        target, found = node.targets[0], _longest(node.value, ordered, samples)
        is_kept = isinstance(target, ast.Name) and target.id not in given and _is_kept(target.id, nodes, constants)
        if isinstance(target, ast.Name) and found is not None and is_kept:
            longest[target.id] = found
    longest.update((name, value) for name, value in _running_longest(nodes, longest) if name not in given)
    filled = [part for node in nodes for part in _fills(node)]
    names = {ast.unparse(part) for part in filled if isinstance(part, (ast.Name, ast.Subscript))}
    direct = [found for part in filled if (found := _longest(part, ordered, samples)) is not None]
    return [value for name, value in longest.items() if name in names] + direct


def _longest(node: ast.expr, ordered: Mapping[str, ast.Call], samples: Mapping[str, ast.Call]) -> ast.Call | None:
    """Return the call that makes an expression the longest of some lengths: `max(lengths)`, `lengths.max().item()`, `lengths[0]`
    of what is sorted, `len(rows[0])` of rows that are, or the length of the longest row."""
    node = _bare(node)
    if called_name(node) in MAXIMA and isinstance(node, ast.Call) and not any(keyword.arg == "key" for keyword in node.keywords):
        is_bounded = any(isinstance(argument, ast.Constant) for argument in node.args)
        return node if not is_bounded and any(MEASURES.search(ast.unparse(one)) for one in (*node.args, node.func)) else None
    first = _first_of(node, ordered)
    if first is not None and isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name):
        return first if any(MEASURES.search(ast.unparse(one)) for one in (*first.args, first.func)) else None
    return next((found for one in _measured(node) if (found := _sample(one, ordered, samples)) is not None), None)


def _bare(node: ast.expr) -> ast.expr:
    """Return an expression without `int(...)`, `.item()` and the room for a start or end token."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add) and isinstance(node.right, ast.Constant):
        return _bare(node.left)
    if isinstance(node, ast.Call) and called_name(node) == "int" and len(node.args) == 1:
        return _bare(node.args[0])
    if (
        isinstance(node, ast.Call)
        and called_name(node) in ("item", "tolist", "int")
        and isinstance(node.func, ast.Attribute)
        and not node.args
    ):
        return _bare(node.func.value)
    return node


def _measured(node: ast.expr) -> Iterator[ast.expr]:
    """Yield what an expression is the length of: `len(row)`, `row.size(1)`, `row.shape[0]`."""
    if isinstance(node, ast.Call) and called_name(node) == "len" and len(node.args) == 1:
        yield node.args[0]
    elif isinstance(node, ast.Call) and called_name(node) == "size" and isinstance(node.func, ast.Attribute):
        yield node.func.value
    elif isinstance(node, ast.Subscript) and isinstance(node.value, ast.Attribute) and node.value.attr == "shape":
        yield node.value.value


def _sample(node: ast.expr, ordered: Mapping[str, ast.Call], samples: Mapping[str, ast.Call]) -> ast.Call | None:
    """Return the call that makes an expression the longest sample, or a part of it."""
    if isinstance(node, ast.Name):
        return samples.get(node.id)
    if isinstance(node, ast.Call) and called_name(node) in MAXIMA and any(keyword.arg == "key" for keyword in node.keywords):
        return node
    first = _first_of(node, ordered)
    if first is not None:
        return first if any(MEASURES.search(ast.unparse(one)) for one in (*first.args, *first.keywords)) else None
    return _sample(node.value, ordered, samples) if isinstance(node, (ast.Subscript, ast.Attribute)) else None


def _first_of(node: ast.expr, ordered: Mapping[str, ast.Call]) -> ast.Call | None:
    """Return the call that has sorted a list downwards of which an expression is the first, or a part of the first."""
    while isinstance(node, (ast.Subscript, ast.Attribute)):
        if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name) and node.value.id in ordered:
            return ordered[node.value.id] if isinstance(node.slice, ast.Constant) and node.slice.value == 0 else None
        node = node.value
    return None


def _ordered(nodes: Sequence[ast.AST]) -> Iterator[tuple[str, ast.Call]]:
    """Yield each name of a list that is sorted downwards, and the call that does it; of `lengths, order = torch.sort(...)`, the first."""
    for node in nodes:
        if isinstance(node, ast.Call) and _sorts_downwards(node) and isinstance(node.func, ast.Attribute) and not node.args:
            if isinstance(node.func.value, ast.Name):
                yield node.func.value.id, node
        elif isinstance(node, ast.Assign) and isinstance(node.value, ast.Call) and _sorts_downwards(node.value):
            target = node.targets[0]
            target = target.elts[0] if isinstance(target, (ast.Tuple, ast.List)) and target.elts else target
            if isinstance(target, ast.Name):
                yield target.id, node.value


def _sorts_downwards(node: ast.Call) -> bool:
    given = {keyword.arg: keyword.value for keyword in node.keywords if keyword.arg in DOWNWARDS}
    is_down = any(isinstance(value, ast.Constant) and value.value is True for value in given.values())
    return called_name(node) in SORTS and is_down


def _longest_samples(assigned: Sequence[ast.Assign], ordered: Mapping[str, ast.Call]) -> Iterator[tuple[str, ast.Call]]:
    for node in assigned:
        if isinstance(node.targets[0], ast.Name) and (found := _sample(node.value, ordered, {})) is not None:
            yield node.targets[0].id, found


def _running_longest(nodes: Sequence[ast.AST], longest: Mapping[str, ast.Call]) -> Iterator[tuple[str, ast.Call]]:
    """Yield each name or entry that grows with the lengths, and the maximum that it is given: `longest = max(longest, len(row))`.

    A name begins as a number, and one that is given anything else, such as the next multiple, is none.
    """
    given: dict[str, list[ast.expr | None]] = {}
    for node in nodes:
        if isinstance(node, ast.Assign) and len(node.targets) == 1:
            given.setdefault(ast.unparse(node.targets[0]), []).append(node.value)
        elif isinstance(node, (ast.AugAssign, ast.AnnAssign)):
            given.setdefault(ast.unparse(node.target), []).append(node.value if isinstance(node, ast.AnnAssign) else None)
    for name, (first, *more) in given.items():
        is_begun = len(more) == 1 and isinstance(first, ast.Constant)
        for grown in (first, *more) if name.endswith("]") else more if is_begun else ():
            if not isinstance(grown, ast.Call) or called_name(grown) != "max" or len(grown.args) != 2:
                continue
            lengths = [text for one in grown.args if (text := ast.unparse(one)) != name]
            if len(lengths) == 1 and (MEASURES.search(lengths[0]) or lengths[0] in longest):
                yield name, grown


def _is_kept(name: str, nodes: Sequence[ast.AST], constants: Mapping[str, object]) -> bool:
    """Return whether a name keeps what it was given first: it is not rounded up later, or to a small multiple only."""
    times = sum(isinstance(node, ast.Name) and node.id == name and not isinstance(node.ctx, ast.Load) for node in nodes)
    added = [node for node in nodes if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name) and node.target.id == name]
    return times == 1 + len(added) and all(isinstance(one.op, ast.Add) and _is_small_rest(one.value, constants) for one in added)


def _is_small_rest(node: ast.expr, constants: Mapping[str, object]) -> bool:
    """Return whether `n - longest % n`, which fills up to the next multiple, is of a small one, or a small number itself."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Sub):
        node = node.left
    value = node.value if isinstance(node, ast.Constant) else constants.get(ast.unparse(node))
    return isinstance(value, int) and value < FEW


def _fills(node: ast.AST) -> Iterator[ast.expr]:
    """Yield the lengths up to which an expression fills something."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Sub):
        yield node.left
    elif isinstance(node, ast.While) and isinstance(node.test, ast.Compare) and isinstance(node.test.ops[0], ast.Lt):
        yield node.test.comparators[0]
    elif isinstance(node, ast.Call) and (called_name(node) in MAKERS or IS_PAD.match(called_name(node))):
        for argument in (*node.args, *(keyword.value for keyword in node.keywords)):
            yield from argument.elts if isinstance(argument, (ast.Tuple, ast.List)) else (argument,)
