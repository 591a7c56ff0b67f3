"""The rows of a data set that the code itself writes: `Dataset.from_dict({"prompt": ["…"] * 100})`, computed without running it.

Literals, names that are assigned once and never changed, repetition, concatenation, f-strings and comprehensions over them or over
range() are computed. Anything else makes its column unknown.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from typing import Any

from mpslint.facts.values import Call
from mpslint.settings.evidence import Evidence

MOST_ROWS = 20_000
MOST_TEXT = 4_000_000
"""Characters of all rows together; a job holds them."""
DEPTH = 20
CHANGING = ("append", "extend", "insert", "pop", "remove", "clear", "update", "setdefault", "popitem", "__setitem__", "add")
MAKERS = ("Dataset.from_dict", "Dataset.from_list")


class _UnknownError(Exception):
    """An expression that isn't computed."""


def makes_rows(call: Call) -> bool:
    """Return whether a call makes a data set of rows that it is given."""
    return call.name.startswith("datasets.") and call.name.endswith(MAKERS)


def rows_of(call: Call, evidence: Evidence) -> Mapping[str, Sequence[Any]]:
    """Return the columns that a call of from_dict or from_list is given, those that are known; all have the same number of rows."""
    named = next((word.value for word in call.node.keywords if word.arg in ("mapping", "my_dict", "my_list")), None)
    node = call.node.args[0] if call.node.args else named
    if node is None:
        return {}
    reader = _Reader(evidence)
    try:
        columns = reader.columns(node) if call.name.endswith("from_dict") else _turned(reader.value(node, {}, 0))
    except (_UnknownError, TypeError, ValueError, IndexError, KeyError, AttributeError, MemoryError):
        return {}
    counts = {len(values) for values in columns.values()}
    size = sum(len(str(value)) for values in columns.values() for value in values)
    return columns if len(counts) == 1 and counts != {0} and size <= MOST_TEXT else {}


def _turned(rows: Any) -> dict[str, list[Any]]:
    """Return the columns of a list of rows that have the same keys."""
    if not isinstance(rows, list) or not rows or any(not isinstance(row, dict) or row.keys() != rows[0].keys() for row in rows):
        return {}
    return {str(name): [row[name] for row in rows] for name in rows[0]}


class _Reader:
    """Computes expressions of one program."""

    def __init__(self, evidence: Evidence) -> None:
        self.tree = ast.Module(evidence.parsed.body, [])

    def columns(self, node: ast.expr) -> dict[str, list[Any]]:
        """Return those columns of a dict that are known lists."""
        node = self.assigned(node.id) if isinstance(node, ast.Name) else node
        if not isinstance(node, ast.Dict):
            return {}
        found: dict[str, list[Any]] = {}
        for key, value in zip(node.keys, node.values, strict=True):
            if key is None:
                return {}
            try:
                name, column = self.value(key, {}, 0), self.value(value, {}, 0)
            except _UnknownError:
                continue
            if isinstance(name, str) and isinstance(column, (list, tuple)):
                found[name] = list(column)
        return found

    def assigned(self, name: str) -> ast.expr:
        """Return the expression of a name that one statement assigns and none changes. Raises _UnknownError for any other."""
        found: list[ast.expr] = []
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Name) and node.id == name and not isinstance(node.ctx, ast.Load):
                found.append(node)
            elif (isinstance(node, ast.arg) and node.arg == name) or _changes(node, name):
                raise _UnknownError
        statements = [
            node.value
            for node in ast.walk(self.tree)
            if isinstance(node, (ast.Assign, ast.AnnAssign)) and node.value is not None and found and found[0] in _targets(node)
        ]
        if len(found) != 1 or len(statements) != 1:
            raise _UnknownError
        return statements[0]

    def value(self, node: ast.expr, names: Mapping[str, Any], depth: int) -> Any:
        """Return what an expression is; `names` are those of the comprehensions around it. Raises _UnknownError."""
        if depth > DEPTH:
            raise _UnknownError
        if isinstance(node, ast.Constant):
            return node.value
        if isinstance(node, ast.Name):
            return names[node.id] if node.id in names else self.value(self.assigned(node.id), {}, depth + 1)
        if isinstance(node, (ast.List, ast.Tuple)):
            return [self.value(part, names, depth + 1) for part in node.elts]
        if isinstance(node, ast.Dict) and all(node.keys):
            return {
                self.value(key, names, depth + 1): self.value(part, names, depth + 1)
                for key, part in zip(node.keys, node.values, strict=True)
                if key
            }
        if isinstance(node, ast.BinOp):
            return self._joined(node, names, depth)
        if isinstance(node, ast.JoinedStr):
            return "".join(self._part(part, names, depth) for part in node.values)
        if isinstance(node, ast.ListComp) and len(node.generators) == 1:
            return self._comprehended(node, names, depth)
        raise _UnknownError

    def _joined(self, node: ast.BinOp, names: Mapping[str, Any], depth: int) -> Any:
        left, right = self.value(node.left, names, depth + 1), self.value(node.right, names, depth + 1)
        if isinstance(node.op, ast.Add) and type(left) is type(right) and isinstance(left, (str, list, int)):
            return self._bounded(left + right)
        if isinstance(node.op, ast.Mult):
            thing, count = (right, left) if isinstance(left, int) else (left, right)
            if isinstance(count, int) and isinstance(thing, (str, list)) and len(thing) * count <= MOST_TEXT:
                return self._bounded(thing * count)
            if isinstance(thing, int) and isinstance(count, int):
                return thing * count
        raise _UnknownError

    def _bounded(self, made: Any) -> Any:
        if isinstance(made, list) and len(made) > MOST_ROWS:
            raise _UnknownError
        return made

    def _part(self, node: ast.expr, names: Mapping[str, Any], depth: int) -> str:
        """Return one part of an f-string without a format of its own."""
        if isinstance(node, ast.FormattedValue):
            if node.format_spec is not None or node.conversion != -1:
                raise _UnknownError
            node = node.value
        return str(self.value(node, names, depth + 1))

    def _comprehended(self, node: ast.ListComp, names: Mapping[str, Any], depth: int) -> list[Any]:
        made = node.generators[0]
        if made.ifs or made.is_async or not isinstance(made.target, ast.Name):
            raise _UnknownError
        return [self.value(node.elt, {**names, made.target.id: one}, depth + 1) for one in self._iterated(made.iter, names, depth)]

    def _iterated(self, node: ast.expr, names: Mapping[str, Any], depth: int) -> Sequence[Any]:
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "range" and not node.keywords:
            given = [self.value(part, names, depth + 1) for part in node.args]
            if not all(isinstance(number, int) for number in given) or len(range(*given)) > MOST_ROWS:
                raise _UnknownError
            return range(*given)
        found = self.value(node, names, depth + 1)
        if not isinstance(found, list):
            raise _UnknownError
        return found


def _changes(node: ast.AST, name: str) -> bool:
    """Return whether a node changes what a name stands for: `rows.append(...)`, `rows[0] = ...`."""
    if not isinstance(node, (ast.Attribute, ast.Subscript)) or not isinstance(node.value, ast.Name) or node.value.id != name:
        return False
    return not isinstance(node.ctx, ast.Load) or (isinstance(node, ast.Attribute) and node.attr in CHANGING)


def _targets(node: ast.Assign | ast.AnnAssign) -> list[ast.expr]:
    return node.targets if isinstance(node, ast.Assign) else [node.target]
