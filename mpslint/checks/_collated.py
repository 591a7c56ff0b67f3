"""What the parts of a batch are collated from, where a loop goes over a DataLoader of the program's own data set."""

from __future__ import annotations

import ast
from collections.abc import Mapping

from mpslint.checks._given import Asked, GivenNames
from mpslint.core.record import record
from mpslint.facts.values import Call
from mpslint.rule.loops import called_name

DEEPEST = 8
EACH = None
"""The key that stands for each element in turn."""


@record(frozen=True, eq=False)
class Collated:
    """Answers for one program. `calls` are its calls by the id of their node; the names of loaders and data sets are data."""

    given: GivenNames
    calls: Mapping[int, Call]
    names: Mapping[str, str]
    """What a function does (`loads`, `pairs`, `shows`, `holds`, `splits`), by its qualified name."""

    def is_every_part(self, base: ast.expr, keys: tuple[object, ...], asked: Asked, depth: int = DEEPEST) -> bool:
        """Return whether something is true of all that one part of a batch is collated from, `base[keys[0]][keys[1]]...`, EACH for each
        element of a loop; False for what is no part of a batch, or of one whose data set isn't known."""
        if depth <= 0:
            return False
        if isinstance(base, ast.Name):
            return self.given.is_any(base, lambda one: self.is_every_part(*opened(one, keys), asked, depth - 1))
        if isinstance(base, ast.Attribute):
            return self.given.is_every_attribute(base, lambda one: self.is_every_part(*opened(one, keys), asked, depth - 1))
        if not isinstance(base, ast.Call) or not base.args or not keys:
            return False
        does = self._does(base)
        if does == "pairs" and keys[:2] == (EACH, 1):
            return self.is_every_part(base.args[0], (EACH, *keys[2:]), asked, depth - 1)
        if does == "shows":
            return self.is_every_part(base.args[0], keys, asked, depth - 1)
        collates = any(keyword.arg in ("collate_fn", None) for keyword in base.keywords)
        if does != "loads" or collates or keys[0] is not EACH or len(keys) > 2:
            return False
        return self._is_item(base.args[0], keys[1] if len(keys) > 1 else EACH, asked, depth - 1)

    def _is_item(self, node: ast.expr, key: object, asked: Asked, depth: int) -> bool:
        """Return whether something is true of a part of every item of a data set."""
        if depth <= 0:
            return False
        if isinstance(node, ast.Name):
            return self.given.is_any(node, lambda one: self._is_item(one, key, asked, depth - 1))
        if isinstance(node, ast.Subscript):
            return self._is_item(node.value, key, asked, depth - 1)
        if not isinstance(node, ast.Call):
            return False
        does = self._does(node)
        if does == "splits" and node.args:
            return self._is_item(node.args[0], key, asked, depth - 1)
        if does == "holds":
            return isinstance(key, int) and key < len(node.args) and asked(node.args[key])
        returned = [one for method in self._getters(called_name(node)) for one in _returned(method)]
        return bool(returned) and all(self._is_part(one, key, asked, depth - 1) for one in returned)

    def _is_part(self, node: ast.expr, key: object, asked: Asked, depth: int) -> bool:
        """Return whether something is true of a part of what a data set returns."""
        if depth > 0 and key is not EACH and isinstance(node, ast.Name):
            return self.given.is_any(node, lambda one: self._is_part(one, key, asked, depth - 1))
        if isinstance(node, ast.Tuple):
            return isinstance(key, int) and key < len(node.elts) and asked(node.elts[key])
        if isinstance(node, ast.Dict):
            return any(
                isinstance(one, ast.Constant) and one.value == key and asked(value)
                for one, value in zip(node.keys, node.values, strict=True)
            )
        return key is EACH and asked(node)

    def _getters(self, name: str) -> list[ast.FunctionDef]:
        """Return the method that gives the items of a class of the program."""
        nodes = self.given.evidence.nodes_beside(name) if name else ()
        classes = [node for node in nodes if isinstance(node, ast.ClassDef) and node.name == name]
        return [one for cls in classes for one in cls.body if isinstance(one, ast.FunctionDef) and one.name == "__getitem__"]

    def _does(self, node: ast.Call) -> str:
        call = self.calls.get(id(node))
        if call is not None:
            return next((self.names[name] for name in call.names if name in self.names), "")
        return self.names.get(f"builtins.{called_name(node)}", "")  # what Python itself does is no call of the facts


def opened(value: ast.expr, keys: tuple[object, ...] = ()) -> tuple[ast.expr, tuple[object, ...]]:
    """Return what a value is a part of, with the keys that lead to it before those that are asked for."""
    while isinstance(value, ast.Subscript) and isinstance(value.slice, ast.Constant):
        keys = (value.slice.value, *keys)
        value = value.value
    return value, keys


def _returned(function: ast.FunctionDef) -> list[ast.expr]:
    return [node.value for node in ast.walk(function) if isinstance(node, ast.Return) and node.value is not None]
