"""Which names are bound where: what Python would raise NameError or UnboundLocalError for, in the order in which statements run."""

from __future__ import annotations

import ast
import bisect
import builtins
import contextlib
import operator
from collections.abc import Collection, Iterable, Sequence
from typing import Any, TypeAlias

from mpslint.program.flow import ENDS
from mpslint.program.walk import bound_by, children, first_line, walk

Bound: TypeAlias = frozenset[str]
"""The names that are bound on every path to a place; all of them where no path leads to it."""
Place: TypeAlias = tuple[int, int]
MOST_INSIDE = 1_000
"""Statements before a place among which the one around it is looked for."""
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_ENDS = frozenset(name.removeprefix("builtins.") for name in ENDS)
_BUILTINS = frozenset(vars(builtins)) | {"__file__", "__name__", "__doc__", "__spec__", "__package__", "__loader__", "__path__"}


def unbound(body: Sequence[ast.stmt], names: Collection[str]) -> frozenset[str]:
    """Return which of some names a program reads where nothing has bound them.

    At the top level, in class bodies and for the local names of a function, a name has to be bound on every path to the place; for what a
    function reads of the scopes around it, it's enough that something binds it there and nothing deletes it in the end.
    """
    reader = _Names(frozenset(names) - _BUILTINS)
    reader.read(body)
    return frozenset(reader.missing)


class Bindings:
    """Which of some names are surely bound where each statement of a program is reached: worked out once, for all places.

    A function reads those of the scopes around it that are bound both where it's defined and at the end: it may be called in between.
    """

    def __init__(self, body: Sequence[ast.stmt], names: Collection[str]) -> None:
        """Walk the statements of a module."""
        reader = _Names(frozenset(names), notes=True)
        self._end = reader.read(body)
        self._noted = sorted(reader.noted, key=operator.itemgetter(0))

    def at(self, place: Place) -> Bound:
        """Return the names that are bound where the innermost statement around a place (line, column in bytes) begins."""
        index = bisect.bisect_right(self._noted, place, key=operator.itemgetter(0))
        around = (bound for _, end, bound in reversed(self._noted[max(0, index - MOST_INSIDE) : index]) if place <= end)
        return next(around, self._end)


class _Names:
    """One walk over a program, for some names only."""

    def __init__(self, names: Bound, notes: bool = False) -> None:
        self.names, self._notes = names, notes
        self.noted: list[tuple[Place, Place, Bound]] = []
        """Where each statement begins and ends, and what is bound there."""
        self.missing: set[str] = set()
        self._beside: set[ast.AST] = set()
        """The nodes in which one of the names is mentioned: of all others, only how they end a path counts."""
        self._loops: list[list[Bound]] = []
        self._later: list[tuple[ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda, Bound]] = []

    def read(self, body: Sequence[ast.stmt]) -> Bound:
        """Walk the statements of a module, then the functions defined in it; return the names that are bound in the end."""
        end: Bound = frozenset()
        self._mark(body)
        with contextlib.suppress(RecursionError):  # then nothing is known of what comes after
            end = self._block(body, end) if self.names else end
            declared = self._declared(body, (ast.Global,))
            self._functions(self._stored(body, ()) | declared, end, body)
        return end

    def _mark(self, body: Sequence[ast.stmt]) -> None:
        above: dict[ast.AST, ast.AST] = {}
        for node in (found := list(body)) if self.names else ():
            below = children(node)
            above.update(dict.fromkeys(below, node))
            found += below  # type: ignore[arg-type]
            if self._mentions(node):
                marked: ast.AST | None = node
                while marked is not None and marked not in self._beside:
                    self._beside.add(marked)
                    marked = above.get(marked)

    def _mentions(self, node: ast.AST) -> bool:
        if isinstance(node, ast.Name):
            return node.id in self.names
        if isinstance(node, ast.arg):
            return node.arg in self.names
        if isinstance(node, (ast.Global, ast.Nonlocal)):
            return not self.names.isdisjoint(node.names)
        return not self.names.isdisjoint(bound_by(node))

    def _functions(self, outer: Bound, end: Bound, body: Sequence[ast.AST]) -> None:
        """Walk the functions that a scope defines; `outer` are the names that it and those around it bind somewhere."""
        deleted = self._stored(body, (), ast.Del) - end
        waiting, self._later = self._later, []
        for function, there in waiting:
            seen = there & end if self._notes else outer - deleted
            inner = function.body if isinstance(function.body, list) else [function.body]
            declared = self._declared(inner, (ast.Global, ast.Nonlocal))
            given = {argument.arg for argument in walk(function.args) if isinstance(argument, ast.arg)} & self.names
            local = (self._stored(inner, declared) | given) - declared
            start = (seen - local) | given
            after = self._block(inner, start) if isinstance(function.body, list) else self._expression(function.body, start)
            self._functions(outer | local, after, inner)

    def _declared(self, nodes: Iterable[ast.AST], kinds: tuple[type[ast.Global] | type[ast.Nonlocal], ...]) -> Bound:
        """Return the names that `global` or `nonlocal` declares somewhere below some nodes."""
        found: set[str] = set()
        stack = [node for node in nodes if node in self._beside]
        while stack:
            node = stack.pop()
            stack += [one for one in children(node) if one in self._beside]
            found.update(node.names if isinstance(node, kinds) else ())
        return self.names & found

    def _stored(self, nodes: Iterable[ast.AST], declared: Collection[str], context: type[ast.expr_context] = ast.Store) -> Bound:
        """Return the names that a scope binds, or deletes, somewhere; what is only imported for type checkers isn't bound."""
        found: set[str] = set()
        stack = list(nodes)
        while stack:
            node = stack.pop()
            if node not in self._beside:
                continue
            if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
                stack += node.orelse
                continue
            if context is ast.Store:
                found.update(bound_by(node))
            elif isinstance(node, ast.Name) and isinstance(node.ctx, context):
                found.add(node.id)
            if not isinstance(node, (*_FUNCTIONS, ast.ClassDef, *_COMPREHENSIONS)):
                stack += children(node)
            elif isinstance(node, _COMPREHENSIONS):
                stack += [one for one in walk(node) if isinstance(one, ast.NamedExpr)]
        return self.names & found - set(declared)

    def _block(self, body: Sequence[ast.AST], bound: Bound) -> Bound:
        for statement in body:
            bound = self._statement(statement, bound)
        return bound

    def _statement(self, node: ast.AST, bound: Bound) -> Bound:
        """Return what is bound after a statement; all names where the path ends in it."""
        if self._notes:
            self._note(node, bound)
        elif node not in self._beside and isinstance(node, (*_FUNCTIONS, ast.ClassDef)):
            return bound
        own = getattr(self, f"_of_{node.__class__.__name__.lower()}", None)
        if own is not None:
            after: Bound = own(node, bound)
            return after
        if isinstance(node, _FUNCTIONS):
            defaults = [default for default in (*node.args.defaults, *node.args.kw_defaults) if default is not None]
            bound = self._expressions([*getattr(node, "decorator_list", ()), *defaults], bound)
            self._later.append((node, bound | self.names.intersection(bound_by(node))))
            return bound | self.names.intersection(bound_by(node))
        bound = self._expressions(children(node), bound)
        if isinstance(node, (ast.Return, ast.Raise)) or _is_exit(node):
            return self.names
        deleted = self._stored([node], (), ast.Del) if isinstance(node, ast.Delete) else frozenset()
        return (bound | self.names.intersection(bound_by(node))) - deleted

    def _note(self, node: Any, bound: Bound) -> None:
        end = node.end_lineno, node.end_col_offset
        self.noted.append(((first_line(node) or 0, node.col_offset), end, bound))
        if isinstance(node, (ast.Import, ast.ImportFrom)):  # what is written behind it
            self.noted.append((end, end, bound | self.names.intersection(bound_by(node))))

    def _of_if(self, node: ast.If, bound: Bound) -> Bound:
        ends = []
        while True:  # an `elif` is an If in the other's `else`: chains of them are long
            bound = self._expression(node.test, bound)
            ends.append(self._block(node.body, bound))
            if len(node.orelse) != 1 or not isinstance(node.orelse[0], ast.If):
                return self.names.intersection(*ends, self._block(node.orelse, bound))
            node = node.orelse[0]
            if self._notes:
                self._note(node, bound)

    def _of_for(self, node: ast.For | ast.AsyncFor, bound: Bound) -> Bound:
        bound = self._expression(node.iter, bound)
        left = self._loop(node.body, bound | self._stored([node.target], ()))
        after = self._block(node.orelse, bound)
        return after & left

    _of_asyncfor = _of_for

    def _of_while(self, node: ast.While, bound: Bound) -> Bound:
        bound = self._expression(node.test, bound)
        left = self._loop(node.body, bound)
        is_endless = isinstance(node.test, ast.Constant) and bool(node.test.value)
        return left if is_endless else self._block(node.orelse, bound) & left

    def _loop(self, body: Sequence[ast.stmt], bound: Bound) -> Bound:
        """Return what is bound wherever a `break` leaves a loop."""
        self._loops.append([])
        self._block(body, bound)
        return self.names.intersection(*self._loops.pop())

    def _of_break(self, _: ast.Break, bound: Bound) -> Bound:
        if self._loops:
            self._loops[-1].append(bound)
        return self.names

    def _of_continue(self, _: ast.Continue, __: Bound) -> Bound:
        return self.names

    def _of_try(self, node: Any, bound: Bound) -> Bound:
        ends = [self._block(node.orelse, self._block(node.body, bound))]
        for handler in node.handlers:
            own = self.names.intersection(bound_by(handler))
            start = self._expression(handler.type, bound) if handler.type is not None else bound
            ends.append(self._block(handler.body, start | own) - own)
        after = self.names.intersection(*ends)
        return after | self._block(node.finalbody, bound & after)

    _of_trystar = _of_try

    def _of_augassign(self, node: ast.AugAssign, bound: Bound) -> Bound:
        if isinstance(node.target, ast.Name):
            self.missing |= {node.target.id} & self.names - bound
        return self._expressions([node.value, node.target], bound)

    def _of_annassign(self, node: ast.AnnAssign, bound: Bound) -> Bound:
        return self._expressions([node.value, node.target], bound) if node.value is not None else bound

    def _of_with(self, node: ast.With | ast.AsyncWith, bound: Bound) -> Bound:
        start = bound
        for item in node.items:
            start = self._expressions([one for one in (item.context_expr, item.optional_vars) if one is not None], start)
        after = self._block(node.body, start)
        may_fail = any("suppress" in ast.unparse(item.context_expr) for item in node.items)
        return after & start if may_fail else after

    _of_asyncwith = _of_with

    def _of_match(self, node: ast.Match, bound: Bound) -> Bound:
        bound = self._expression(node.subject, bound)
        ends = []
        for case in node.cases:
            start = bound | self._stored([case.pattern], ())
            ends.append(self._block(case.body, self._expression(case.guard, start) if case.guard is not None else start))
        last = node.cases[-1]
        is_whole = last.guard is None and isinstance(last.pattern, ast.MatchAs) and last.pattern.pattern is None
        return self.names.intersection(*ends, *([] if is_whole else [bound]))

    def _of_classdef(self, node: ast.ClassDef, bound: Bound) -> Bound:
        bound = self._expressions([*node.decorator_list, *node.bases, *node.keywords], bound)
        waiting, self._later = self._later, []
        self._block(node.body, bound)
        # What a class body binds, its methods don't see.
        waiting += [(function, there & bound) for function, there in self._later]
        self._later = waiting
        return bound | ({node.name} & self.names)

    def _expressions(self, nodes: Sequence[ast.AST], bound: Bound) -> Bound:
        """Return what is bound after expressions, and the targets beside them: values are read before targets are written."""
        for node in sorted(nodes, key=lambda one: isinstance(getattr(one, "ctx", None), (ast.Store, ast.Del))):
            bound = self._expression(node, bound)
        return bound

    def _expression(self, node: ast.AST, bound: Bound) -> Bound:
        if node not in self._beside and not isinstance(node, ast.Lambda):
            return bound
        if isinstance(node, ast.Lambda):
            return self._statement(node, bound)
        if isinstance(node, _COMPREHENSIONS):
            return bound | (self._comprehension(node, bound) & self._stored([node], ()))
        inner = list(walk(node))
        if any(isinstance(one, (ast.Lambda, ast.NamedExpr, *_COMPREHENSIONS)) for one in inner[1:]):
            return self._expressions(children(node), bound)
        named = [one for one in inner if isinstance(one, ast.Name) and one.id in self.names]
        self.missing |= {one.id for one in named if isinstance(one.ctx, ast.Load)} - bound
        return bound | {one.id for one in named if isinstance(one.ctx, ast.Store)}

    def _comprehension(self, node: ast.AST, bound: Bound) -> Bound:
        for generator in node.generators:  # type: ignore[attr-defined]
            bound = self._expressions([generator.iter, generator.target], bound)
            bound = self._expressions(generator.ifs, bound)
        return self._expressions([one for one in children(node) if not isinstance(one, ast.comprehension)], bound)


def _is_exit(node: ast.AST) -> bool:
    """Return whether a statement ends the program: `sys.exit(1)`."""
    called = node.value.func if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call) else None
    return isinstance(called, (ast.Name, ast.Attribute)) and ast.unparse(called) in _ENDS
