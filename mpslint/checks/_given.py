"""What names were last given: by the statements of their function before them, or, for a parameter, by the calls of the function."""

from __future__ import annotations

import ast
import bisect
import functools
from collections.abc import Callable, Iterator, Mapping
from typing import TypeAlias

from mpslint.core.record import record
from mpslint.program.walk import walk
from mpslint.rule.loops import called_name
from mpslint.settings.evidence import Evidence

SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
Asked: TypeAlias = Callable[[ast.expr], bool]
"""A question about an expression."""


@record(frozen=True, eq=False)
class Gift:
    """One expression that a statement gives a name, where that statement ends, and whether it replaces what was there."""

    value: ast.expr
    end: tuple[int, int]
    is_new: bool


@record(frozen=True, eq=False)
class GivenNames:
    """Answers for one program."""

    evidence: Evidence

    def is_any(self, name: ast.Name, asked: Asked) -> bool:
        """Return whether something is true of what a name was last given, or of what was added to it; of a parameter, of what every call
        gives."""
        scope = self.evidence.above(name, SCOPES)
        while True:
            gifts = self._gifts.get((self._key(scope, name), name.id))
            if gifts is not None or scope is None:
                break
            if isinstance(scope, FUNCTIONS) and name.id in parameters(scope):
                return self._every_call(scope, name.id, asked)
            scope = self.evidence.above(scope, SCOPES)
        before = [one for one in gifts or () if one.end <= (name.lineno, name.col_offset)]
        if not before and isinstance(scope, FUNCTIONS) and name.id in parameters(scope):
            return self._every_call(scope, name.id, asked)  # `x = x.to(device)`: what the function is given
        last = next((number for number, one in reversed(list(enumerate(before))) if one.is_new), 0)
        return any(asked(one.value) for one in before[last:])

    def is_every_attribute(self, node: ast.Attribute, asked: Asked) -> bool:
        """Return whether something is true of all that the class of a method gives an attribute of `self`."""
        owner = self.evidence.above(node, (ast.ClassDef,))
        if owner is None or not isinstance(node.value, ast.Name) or node.value.id != "self":
            return False
        gifts = self._of_classes.get((id(owner), node.attr), ())
        return bool(gifts) and all(asked(one) for one in gifts)

    def _every_call(self, function: ast.FunctionDef | ast.AsyncFunctionDef, name: str, asked: Asked) -> bool:
        """Return whether something is true of what every call of a function gives a parameter; False for one that nothing calls."""
        names = parameters(function)
        bound = names[1:] if names[:1] in (["self"], ["cls"]) else names
        found = []
        for node in self._calls_of(function):
            given = dict(zip(bound, node.args, strict=False)) | {keyword.arg: keyword.value for keyword in node.keywords if keyword.arg}
            if name in given:
                found.append(given[name])
        return bool(found) and all(asked(one) for one in found)

    def _calls_of(self, function: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[ast.Call]:
        """Yield the calls of a function by its name; of `forward`, those of the objects that the program makes of its class too."""
        for node in self.evidence.nodes_beside(function.name):
            if isinstance(node, ast.Call) and called_name(node) == function.name:
                yield node
        owner = self.evidence.parents.get(function)
        if function.name != "forward" or not isinstance(owner, ast.ClassDef):
            return
        for text in self.objects.get(owner.name, ()):
            for node in self.evidence.nodes_beside(text):
                if isinstance(node, ast.Call) and ast.unparse(node.func) == text:
                    yield node

    @functools.cached_property
    def objects(self) -> Mapping[str, set[str]]:
        """What stands for an object of each class of the program, as it is written, by the class: `net = Net().to(device)`."""
        found: dict[str, set[str]] = {}
        for node in self.evidence.nodes_beside("="):
            if isinstance(node, ast.Assign):
                value = node.value
                while isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute):
                    value = value.func.value
                if name := called_name(value):
                    found.setdefault(name, set()).update(ast.unparse(target) for target in node.targets)
        return found

    @functools.cached_property
    def _gifts(self) -> Mapping[tuple[int, str], list[Gift]]:
        """What statements give each name of each scope, in order."""
        found: dict[tuple[int, str], list[Gift]] = {}
        for node in (inner for statement in self.evidence.parsed.body for inner in walk(statement)):
            for target, value, is_new in _given_by(node):
                if isinstance(target, ast.Name):
                    end = node.target if isinstance(node, (ast.For, ast.AsyncFor)) else node
                    gift = Gift(value, (end.end_lineno or 0, end.end_col_offset or 0), is_new)  # type: ignore[attr-defined]
                    found.setdefault((self._key(self.evidence.above(node, SCOPES), target), target.id), []).append(gift)
        return {key: sorted(gifts, key=lambda gift: gift.end) for key, gifts in found.items()}

    @functools.cached_property
    def _of_classes(self) -> Mapping[tuple[int, str], list[ast.expr]]:
        """What each class gives each attribute of `self`."""
        found: dict[tuple[int, str], list[ast.expr]] = {}
        for node in self.evidence.nodes_beside("self."):
            for target, value, _ in _given_by(node):
                if isinstance(target, ast.Attribute) and isinstance(target.value, ast.Name) and target.value.id == "self":
                    found.setdefault((id(self.evidence.above(node, (ast.ClassDef,))), target.attr), []).append(value)
        return found

    def _key(self, scope: ast.AST | None, node: ast.expr) -> int:
        """Return what stands for a scope, or for the module scope of the file that a node is in."""
        return id(scope) if scope is not None else -bisect.bisect_right(self._files, node.lineno)

    @functools.cached_property
    def _files(self) -> list[int]:
        """The lines on which the files of a run begin."""
        return sorted(part.first_line for part in self.evidence.document.parts)


def given_in(evidence: Evidence) -> GivenNames:
    """Return the answers for a program."""
    if "given" not in evidence.memo:
        evidence.memo["given"] = GivenNames(evidence)
    given: GivenNames = evidence.memo["given"]
    return given


def parameters(function: ast.FunctionDef | ast.AsyncFunctionDef) -> list[str]:
    """Return the names of what a function is given, in order."""
    given = function.args
    return [one.arg for one in (*given.posonlyargs, *given.args, *given.kwonlyargs)]


def _given_by(node: ast.AST) -> Iterator[tuple[ast.expr, ast.expr, bool]]:
    """Yield the targets of a statement, each with what it is given, and whether that replaces what was there."""
    if isinstance(node, ast.Assign):
        for target in node.targets:
            yield from ((part, value, True) for part, value in _apart(target, node.value))
    elif isinstance(node, (ast.AnnAssign, ast.AugAssign)) and node.value is not None:
        yield node.target, node.value, isinstance(node, ast.AnnAssign)
    elif isinstance(node, (ast.For, ast.AsyncFor)):
        yield from ((part, value, True) for part, value in _apart(node.target, _part_of(node.iter, None)))


def _apart(target: ast.expr, value: ast.expr) -> Iterator[tuple[ast.expr, ast.expr]]:
    """Yield the names among a target, each with the part of a value that it is given."""
    if not isinstance(target, (ast.Tuple, ast.List)):
        yield target, value
        return
    parts = value.elts if isinstance(value, (ast.Tuple, ast.List)) and len(value.elts) == len(target.elts) else None
    for number, inner in enumerate(target.elts):
        yield from _apart(inner, parts[number] if parts is not None else _part_of(value, number))


def _part_of(value: ast.expr, number: int | None) -> ast.expr:
    """Return the expression for a part of a value: by its number, None for each in turn."""
    return ast.copy_location(ast.Subscript(value, ast.copy_location(ast.Constant(number), value), ast.Load()), value)
