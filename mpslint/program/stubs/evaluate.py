"""Carry out a stub, exactly: it branches on plain values only, and those of the program go through it untouched.

Nothing but the few statements, functions and methods that are named here can be in a stub, and each takes a bounded time.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NoReturn

from mpslint.core.record import record
from mpslint.facts.values import Argument
from mpslint.program.stubs.host import Host, HostFunction, plain
from mpslint.program.stubs.language import NO_DEFAULT, Return, Scope, StubClass, StubError, StubFunction, StubObject, bound

MOST_STEPS = 200_000
"""Expressions and statements that reading a stub takes."""
MOST_IN_CALL = 10 * MOST_STEPS
"""Those that a call of a library takes, such as one that parses thousands of options."""
MOST_IN_PROGRAM = 3 * MOST_IN_CALL
"""Those that all calls of a program take."""
DEEPEST_CALL = 40


MOST_LENGTH = 1 << 16
"""Characters of a text, items of a list."""
MISTAKES = (TypeError, ValueError, LookupError, AttributeError, ArithmeticError, AssertionError, ImportError, RuntimeError)
"""What is raised by something that is wrong in a stub."""
SIZED = (str, list, dict, tuple, set, range)


def unsupported(e: Evaluator, node: Any, scope: Scope) -> NoReturn:
    raise StubError(f"{scope.path}:{node.lineno}: {node.__class__.__name__} can't be in a stub")


def _placed(error: Exception, node: ast.stmt | ast.expr, scope: Scope) -> Exception:
    """Return what went wrong as a mistake at its place in a stub; nesting too deeply may be the program's."""
    return error if isinstance(error, RecursionError) else StubError(f"{scope.path}:{node.lineno}: {error.__class__.__name__}: {error}")


@record()
class Evaluator:
    """Carries out stubs."""

    statements: Mapping[type[ast.AST], Callable[[Evaluator, Any, Scope], None]]
    expressions: Mapping[type[ast.AST], Callable[[Evaluator, Any, Scope], Any]]
    unweighed: Sequence[Any]
    """Functions that don't look at what is in a value."""
    import_name: Callable[[str, str], Any]
    host: Host
    most_steps: int
    steps: int = 0
    depth: int = 0
    place: tuple[Any, Scope] = (None, Scope(""))
    """What is carried out."""

    def call(self, callee: Any, given: Sequence[Any], named: dict[str, Any]) -> Any:
        """Return what calling a function, class or method of a stub gives. Raises StubError for a mistake in it."""
        if isinstance(callee, StubFunction):
            return self._call_function(callee, given, named)
        if isinstance(callee, StubClass):
            made = StubObject(callee)
            if (maker := callee.lookup("__init__")) is not None:
                self.call(bound(maker, made), given, named)
            return made
        if isinstance(callee, HostFunction):
            return callee.function(self.host, *given, **named)
        if callee not in self.unweighed:
            self.weigh((given, named))
        return callee(*given, **named)

    def execute(self, body: Sequence[ast.stmt], scope: Scope) -> None:
        """Carry out the statements of a stub."""
        for statement in body:
            self._step(statement, scope)
            try:
                self.statements.get(statement.__class__, unsupported)(self, statement, scope)
            except MISTAKES as error:
                raise _placed(error, statement, scope) from None

    def value(self, node: ast.expr, scope: Scope) -> Any:
        """Return what an expression is."""
        self._step(node, scope)
        try:
            value = self.expressions.get(node.__class__, unsupported)(self, node, scope)
        except MISTAKES as error:
            raise _placed(error, node, scope) from None
        if isinstance(value, SIZED) and len(value) > MOST_LENGTH:
            raise StubError(f"{scope.path}:{node.lineno}: a value of more than {MOST_LENGTH:,} items")
        return value

    def truth(self, node: ast.expr, scope: Scope) -> bool:
        """Return whether an expression counts as true, which no value of the program does by itself."""
        return self.is_true(self.value(node, scope), node, scope)

    def is_true(self, value: Any, node: ast.expr, scope: Scope) -> bool:
        """Return whether what an expression is counts as true."""
        if isinstance(value, (Argument, StubObject)):
            raise StubError(f"{scope.path}:{node.lineno}: a value of the program decides nothing: ask for `plain` of it")
        return bool(value)

    def weigh(self, value: Any) -> None:
        """Count what is in a value as steps: Python takes as many to compare, hash or copy it, however often a part is in it."""
        waiting = [value]
        while waiting:
            one = waiting.pop()
            if isinstance(one, (list, tuple, set, dict)):
                self._step(*self.place, len(one))
                waiting += [*one, *one.values()] if isinstance(one, dict) else one

    def _step(self, node: Any, scope: Scope, number: int = 1) -> None:
        self.steps, self.place = self.steps + number, (node, scope)
        if self.steps > self.most_steps:
            raise StubError(f"{scope.path}:{node.lineno}: takes more than {self.most_steps:,} steps")

    def _call_function(self, function: StubFunction, given: Sequence[Any], named: dict[str, Any]) -> Any:
        self.place = function.node, function.scope
        given = [function.receiver, *given] if function.receiver is not None else given
        scope = Scope(function.scope.path, self._bound(function, given, named), function.scope)
        if self.depth == DEEPEST_CALL:
            raise StubError(f"{scope.path}:{function.node.lineno}: calls nest more than {DEEPEST_CALL} deep")
        self.depth += 1
        try:
            if isinstance(function.node, ast.Lambda):
                return self.value(function.node.body, scope)
            self.execute(function.node.body, scope)
        except Return as left:
            return left.value
        finally:
            self.depth -= 1
        return None

    def _bound(self, function: StubFunction, given: Sequence[Any], named: dict[str, Any]) -> dict[str, Any]:
        """Return what a call gives the parameters of a function; what it lacks or has too many of is a mistake of the stub's."""
        parameters = function.node.args
        names = [one.arg for one in (*parameters.posonlyargs, *parameters.args)]
        every = {*names[len(parameters.posonlyargs) :], *(one.arg for one in parameters.kwonlyargs)}
        found = dict(zip(names[:1], given[:1], strict=False))  # the object comes first, which `super()` asks for
        found.update(zip(names[len(names) - len(function.defaults) :], function.defaults, strict=True))
        found.update(
            {one.arg: value for one, value in zip(parameters.kwonlyargs, function.keyword_defaults, strict=True) if value is not NO_DEFAULT}
        )
        found.update(zip(names, given, strict=False))
        twice = set(names[: len(given)]) if parameters.kwarg is not None else set()  # a name of the program's that is the stub's own, too
        found.update({name: value for name, value in named.items() if name in every - twice})
        rest, more = tuple(given[len(names) :]), {name: value for name, value in named.items() if name not in every - twice}
        if parameters.vararg is not None:
            self.weigh(rest)
            found[parameters.vararg.arg], rest = rest, ()
        if parameters.kwarg is not None:
            found[parameters.kwarg.arg], more = more, {}
        if missing := [name for name in (*names, *every) if name not in found]:
            raise TypeError(f"nothing gives {missing[0]} a value")
        if rest or more:
            raise TypeError(f"no parameter takes {next(iter(more), 'a value')}")
        for name in function.plain:
            one = found[name]
            found[name] = tuple(plain(self.host, each) for each in one) if isinstance(one, tuple) else plain(self.host, one)
        return found
