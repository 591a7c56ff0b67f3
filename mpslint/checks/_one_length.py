"""Data sets of the program whose samples all have one length, so that a collate function has nothing to fill up."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping, Sequence

from mpslint.core.grouped import grouped
from mpslint.facts.values import Class, Instance, Value
from mpslint.program.longest import IS_PAD, MAKERS, MEASURES
from mpslint.program.walk import called_name, walk
from mpslint.rule.crosses import carried_by

JOINS = frozenset(["cat", "concat", "concatenate"])
CUTS_AND_FILLS = frozenset(["fix_length", "pad_or_trim"])
"""Functions that do both to a given length: librosa.util.fix_length, whisper.pad_or_trim."""


def has_one_length(dataset: Value, padded: Sequence[ast.AST], times: int) -> bool:
    """Return whether the samples of a data set have one length in every part that a collate function pads.

    The keys in `padded`, the calls and what they are given (`row["audio"]`), say which parts; without a key there are to be as many that
    the data set cuts and fills as the function pads (`times`).
    """
    keys = {node.value for call in padded for node in walk(call) if isinstance(node, ast.Constant) and isinstance(node.value, str)}
    classes = [one.value.cls for one in carried_by([dataset]) if isinstance(one.value, Instance) and one.value.cls is not None]
    found = [_lengths_of(cls) for cls in classes if cls.lookup("__getitem__") is not None]
    return bool(found) and all(_covers(lengths, parts, keys, times) for lengths, parts in found)


def _covers(lengths: Sequence[frozenset[str]], parts: Mapping[str, frozenset[str]], keys: set[str], times: int) -> bool:
    asked = [parts[key] for key in keys if key in parts]
    if asked:
        return all(any(names & part for names in lengths) for part in asked)
    return len(lengths) >= times


def _lengths_of(cls: Class) -> tuple[list[frozenset[str]], dict[str, frozenset[str]]]:
    """Return the names behind each thing that a data set brings to one length, and those behind each part of its samples."""
    nodes = list(walk(cls.node))
    behind = _behind(nodes)
    parts: dict[str, frozenset[str]] = {}
    for node in nodes:
        if isinstance(node, ast.Dict):
            for key, value in zip(node.keys, node.values, strict=True):
                if isinstance(key, ast.Constant) and isinstance(key.value, str):
                    parts[key.value] = _names(value, behind)
    return [frozenset(names) for names in _brought_to_one(nodes, behind)], parts


def _brought_to_one(nodes: Sequence[ast.AST], behind: Mapping[str, Sequence[ast.expr]]) -> Iterator[set[str]]:
    """Yield the names of each thing that is cut and filled: by a call, or as `x[:n]` and `n - len(x)` in code that fills."""
    cuts = {ast.unparse(node.upper) for node in nodes if isinstance(node, ast.Slice) and node.upper is not None}
    fills = any(isinstance(node, ast.Call) and _is_filling(called_name(node)) for node in nodes) or any(
        isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult) and isinstance(node.left, ast.List) for node in nodes
    )
    seen: set[str] = set()
    for node in nodes:
        if isinstance(node, ast.Call) and (called_name(node) in CUTS_AND_FILLS or _pads_to_most(node)):
            targets = (one for one in nodes if isinstance(one, ast.Assign) and any(inner is node for inner in walk(one.value)))
            assigned = {name.id for one in targets for target in one.targets for name in walk(target) if isinstance(name, ast.Name)}
            yield assigned | {name.id for name in walk(node) if isinstance(name, ast.Name)}
        elif fills and isinstance(node, ast.BinOp) and isinstance(node.op, ast.Sub) and _is_length(node.right, behind):
            is_cut = any(re.search(rf"(?<![\w.]){re.escape(ast.unparse(node.left))}(?!\w)", cut) for cut in cuts)
            measured = ast.unparse(node.right)
            if is_cut and measured not in seen:
                seen.add(measured)
                yield {name for part in _measures(node.right, behind) for name in _own_names(part)}


def _is_filling(name: str) -> bool:
    return bool(IS_PAD.match(name)) or name in MAKERS or name in JOINS


def _pads_to_most(node: ast.Call) -> bool:
    """Return whether a tokenizer or processor is told to pad to `max_length`, and to cut there."""
    given = {keyword.arg: keyword.value for keyword in node.keywords}
    padding, truncation = given.get("padding"), given.get("truncation")
    is_cut = isinstance(truncation, ast.Constant) and truncation.value not in (False, None)
    return isinstance(padding, ast.Constant) and padding.value == "max_length" and is_cut


def _is_length(node: ast.expr, behind: Mapping[str, Sequence[ast.expr]]) -> bool:
    return any(MEASURES.search(ast.unparse(one)) for one in _measures(node, behind))


def _measures(node: ast.expr, behind: Mapping[str, Sequence[ast.expr]]) -> Sequence[ast.expr]:
    """Return an expression, or what the name that it is was given."""
    return behind.get(node.id, [node]) if isinstance(node, ast.Name) else [node]


def _behind(nodes: Sequence[ast.AST]) -> dict[str, list[ast.expr]]:
    """Return what each name is given."""
    assigned = [(name, one.value) for one in nodes if isinstance(one, ast.Assign) for name in walk(*one.targets)]
    return grouped((name.id, value) for name, value in assigned if isinstance(name, ast.Name))


def _own_names(node: ast.expr) -> set[str]:
    return {one.id for one in walk(node) if isinstance(one, ast.Name)} - {"self", "len", "torch", "np"}


def _names(node: ast.expr, behind: Mapping[str, Sequence[ast.expr]]) -> frozenset[str]:
    """Return the names that an expression is made of, those that these are made of included."""
    found: set[str] = set()
    waiting = list(_own_names(node))
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting += [inner for value in behind.get(name, ()) for inner in _own_names(value)]
    return frozenset(found)
