"""Where the stubs lie, and what the program gets from a library that has one."""

from __future__ import annotations

import ast
import functools
from collections.abc import Mapping, Sequence
from typing import Any

from mpslint.core.knowledge import read_stub, stub_files
from mpslint.core.notices import notice
from mpslint.facts.values import Argument, Instance, Items, Known, Value
from mpslint.program.arguments import CallArguments
from mpslint.program.machine import Walker
from mpslint.program.stubs import classes, configurations, host
from mpslint.program.stubs.evaluate import Evaluator
from mpslint.program.stubs.language import DECLINED, UNKNOWN, Scope, StubClass, StubError, StubFunction, StubObject, bound

PACKAGE = "stubs."
NOTHING = CallArguments((), {}, False)
HOST = "stubs.host"
FUNCTIONS = {**host.FUNCTIONS, **classes.FUNCTIONS, **configurations.FUNCTIONS}


libraries = functools.cache(stub_files)


@functools.cache
def module(name: str) -> Scope:
    """Return the names of a stub. Raises StubError for a mistake in it."""
    path = libraries()[name]
    scope = Scope(str(path))
    try:
        body = ast.parse(read_stub(path)).body
    except SyntaxError as error:
        raise StubError(f"{path}:{error.lineno}: {error.msg}") from None
    Evaluator(imported, host.Host(None, None)).execute([one for one in body if not isinstance(one, ast.Expr)], scope)  # type: ignore[arg-type]
    return scope


def imported(source: str, name: str) -> Any:
    """Return what a stub imports."""
    if source == HOST:
        return host.unknown if name == "unknown" else DECLINED if name == "declined" else FUNCTIONS[name]
    return module(source.removeprefix(PACKAGE)).names[name]


def stub_of(name: str) -> Any:
    """Return what a stub defines under a qualified name, None where none does."""
    library, _, inner = name.rpartition(".")
    if library not in libraries() or library.startswith("_"):  # what several share
        return None
    found = module(library).names.get(inner)
    return found if isinstance(found, (StubFunction, StubClass)) else None


def call(m: Walker, name: str, arguments: CallArguments, node: ast.Call) -> Value | None:
    """Return what a function or class of a library gives by its stub; None where it has none, or the stub leaves it to others."""
    stub = stub_of(name)
    if isinstance(stub, StubClass):
        made = Instance(name)
        begin(m, made, [name], node, arguments)
        return made
    return _given(_called(m, stub, arguments, node, name), node) if stub is not None else None


def call_method(m: Walker, owner: Instance, method: str, arguments: CallArguments, node: ast.Call) -> Value | None:
    """Return what a method of an object gives by the stub of its class; None where it has none, or the stub leaves it to others."""
    state: Any = owner.slots.get(host.STATE)
    if not isinstance(state, StubObject):
        return None
    function = state.cls.lookup(method)
    if not isinstance(function, StubFunction):
        return None
    return _given(_called(m, bound(function, state), arguments, node), node)


def _given(found: Any, node: ast.Call) -> Value | None:
    return None if found is DECLINED else as_value(found, node)


def begin(m: Walker, made: Instance, bases: Sequence[str], node: ast.Call, arguments: CallArguments = NOTHING) -> None:
    """Put what a stub keeps behind an object, where a class of outside that its class derives from has one."""
    stub = next((one for name in bases if isinstance(one := stub_of(name), StubClass)), None)
    if stub is not None:
        state = StubObject(stub, instance=made)
        made.slots[host.STATE] = state  # type: ignore[assignment]
        if (maker := stub.lookup("__init__")) is not None and _called(m, bound(maker, state), arguments, node) is DECLINED:
            del made.slots[host.STATE]


def _called(m: Walker, function: Any, arguments: CallArguments, node: ast.Call, name: str = "") -> Any:
    return run(host.Host(m, node, arguments, name), function, arguments.positional, arguments.keywords)


def run(at: host.Host, function: Any, given: Sequence[Any], named: Mapping[str, Any]) -> Any:
    """Carry out a function of a stub, and return what it gives; a mistake in it is said, and leaves the call to others, as does a call
    with arguments that it doesn't take."""
    try:
        return Evaluator(imported, at).call(function, given, dict(named))
    except StubError as error:
        notice(str(error), str(error))
    except TypeError:
        pass
    return DECLINED


def as_value(found: Any, node: ast.AST) -> Value:
    """Return what a stub gives as a value of the program."""
    if isinstance(found, Argument):
        return found.value
    if isinstance(found, StubObject) and found.instance is not None:
        return found.instance
    if isinstance(found, (list, tuple)):
        return Items(type(found).__name__, {index: as_value(one, node) for index, one in enumerate(found)}, node)
    if found is UNKNOWN or not (found is None or isinstance(found, (bool, int, float, str))):
        return host.unknown.value
    return Known(found, node)
