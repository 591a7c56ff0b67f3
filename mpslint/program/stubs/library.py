"""Where the stubs lie, and what the program gets from a library that has one."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import field
from pathlib import Path
from typing import Any

from mpslint.core.finding import ReadError
from mpslint.core.folders import remembered
from mpslint.core.knowledge import read_stub, stub_files
from mpslint.core.notices import notice
from mpslint.core.record import record
from mpslint.facts.values import Argument, Class, Instance, Items, Known, Value, method_of
from mpslint.program.machine import Walker
from mpslint.program.stubs import classes, configurations, host
from mpslint.program.stubs.evaluate import MOST_IN_CALL, MOST_IN_PROGRAM
from mpslint.program.stubs.language import DECLINED, UNKNOWN, Scope, StubClass, StubError, StubFunction, StubObject, bound
from mpslint.program.stubs.syntax import evaluator, refuse_others
from mpslint.tensors.arguments import CallArguments

PACKAGE = "stubs."
NOTHING = CallArguments((), {}, False)
HOST = "stubs.host"
FUNCTIONS = {**host.FUNCTIONS, **classes.FUNCTIONS, **configurations.FUNCTIONS}
HOST_NAMES = {**FUNCTIONS, "unknown": host.unknown, "declined": DECLINED}
"""What a stub can import from `stubs.host`."""


@record(eq=False)
class Library:
    """The stubs that a program is walked with."""

    paths: Mapping[str, Path]
    """Where each lies, by the dotted name of what it stands for."""
    read: dict[str, Scope] = field(default_factory=dict)

    def module(self, name: str) -> Scope:
        """Return the names of a stub, of a shipped one as shipped ones read it. Raises StubError for a mistake in it."""
        if (shipped := library_of()) is not self and shipped.paths.get(name) == self.paths[name]:
            return shipped.module(name)
        if name not in self.read:
            path = self.paths[name]
            scope = self.read[name] = Scope(str(path))
            try:
                tree = ast.parse(read_stub(path))
                refuse_others(tree, str(path))
                evaluator(self.imported, host.Host(None, None)).execute(tree.body, scope)  # type: ignore[arg-type]
            except (StubError, SyntaxError, ValueError, RecursionError, MemoryError, ReadError) as error:
                del self.read[name]
                raise as_mistake(error, path) from None
        return self.read[name]

    def imported(self, source: str, name: str) -> Any:
        """Return what a stub imports. Raises ImportError where there is no such thing."""
        own = source.removeprefix(PACKAGE)
        if source == HOST:
            found = HOST_NAMES.get(name)
        else:
            found = self.module(own).names.get(name) if own != source and own in self.paths else None
        if found is None:
            raise ImportError(f"a stub can't import {name} from {source}")
        return found

    def find(self, name: str, cls: Class | None = None) -> Any:
        """Return what a stub defines under a qualified name, None where none does; of a class of a stub, as a method of a class of the
        program that derives from it."""
        library, _, inner = name.rpartition(".")
        if library not in self.paths or library.startswith("_"):  # what several share
            above = self.find(library) if cls is not None else None
            return bound(above.lookup(inner), Argument(cls, None)) if isinstance(above, StubClass) and cls is not None else None
        found = self.module(library).names.get(inner)
        return found if isinstance(found, (StubFunction, StubClass)) else None

    def read_all(self) -> None:
        """Read every stub. Raises StubError for the first mistake."""
        for name in self.paths:
            self.module(name)


def as_mistake(error: Exception, path: Path) -> StubError:
    """Return what went wrong with the text of a stub as a mistake in it."""
    if isinstance(error, StubError):
        return error
    said = error.msg if isinstance(error, SyntaxError) else str(error) if isinstance(error, ValueError) else "it nests too deeply"
    return StubError(str(error) if isinstance(error, ReadError) else f"{path}:{getattr(error, 'lineno', None) or 1}: {said}")


@remembered(maxsize=8)
def library_of(own: tuple[Path, ...] = ()) -> Library:
    """Return the stubs, with those in a user's own folders in the place of shipped ones of the same name."""
    return Library(stub_files(own))


def is_told(m: Walker, name: str) -> bool:
    """Return whether a stub of the user's own stands for a module of the project."""
    path = library_of(m.stubs).paths.get(name)
    return path is not None and any(path.is_relative_to(folder) for folder in m.stubs)


def call(m: Walker, name: str, arguments: CallArguments, node: ast.Call, receiver: Value | None = None) -> Value | None:
    """Return what a function or class of a library gives by its stub; None where it has none, or the stub leaves it to others."""
    stub = library_of(m.stubs).find(name, receiver if isinstance(receiver, Class) else None)
    if isinstance(stub, StubClass) and stub.lookup("is_base_only"):
        return None
    if isinstance(stub, StubClass):
        made = Instance(name)
        begin(m, made, [name], node, arguments)
        return made
    return _given(_called(m, stub, arguments, node, name), node) if stub is not None else None


def call_method(m: Walker, owner: Instance, method: str, arguments: CallArguments, node: ast.Call) -> Value | None:
    """Return what a method of an object gives by the stub of its class; None where it has none, or the stub leaves it to others."""
    state: Any = owner.slots.get(host.STATE)
    if not isinstance(state, StubObject):
        if (cls := _class_of(m, owner)) is None or not cls.lookup("keeps_nothing"):
            return None
        state = StubObject(cls)
    function = state.cls.lookup(method)
    if not isinstance(function, StubFunction):
        return None
    return _given(_called(m, bound(function, StubObject(state.cls, state.slots, owner)), arguments, node), node)


def _given(found: Any, node: ast.Call) -> Value | None:
    return None if found is DECLINED else as_value(found, node)


def begin(m: Walker, made: Instance, bases: Sequence[str], node: ast.Call | None, arguments: CallArguments | None) -> None:
    """Put what a stub keeps behind an object, where a class of outside that its class derives from has one; its own constructor may
    hand on other arguments, and does so where nothing is kept."""
    stub = _named(m, bases)
    keeps_nothing = stub is not None and bool(stub.lookup("keeps_nothing"))
    if stub is not None and (arguments if keeps_nothing else node) is not None:
        state = StubObject(stub, instance=made)
        made.slots[host.STATE] = state  # type: ignore[assignment]
        is_declined = (maker := stub.lookup("__init__")) is not None and _called(
            m, bound(maker, state), arguments or NOTHING, node
        ) is DECLINED
        if is_declined or keeps_nothing:
            del made.slots[host.STATE]
        for name in made.cls.all_fields() if is_declined and keeps_nothing and made.cls is not None else ():
            m.store.write(made.slots, name, host.unknown.value)


def is_kept(owner: Instance) -> bool:
    """Return whether a stub keeps something of an object, and so says what its methods give."""
    return host.STATE in owner.slots


def holds_settings(m: Walker, owner: Instance) -> bool:
    """Return whether an object is of a class that holds entries: a dict, or an object of attributes."""
    return (cls := _class_of(m, owner)) is not None and cls.lookup("keeps_nothing") is True


def lacks(m: Walker, owner: Instance, name: object) -> bool:
    """Return whether an object that holds entries, all of which are known, raises for the name of one."""
    cls = _class_of(m, owner) if not owner.fallback and name not in owner.slots else None
    own = ("__missing__", "__getitem__", "__getattr__", "__getattribute__")
    return cls is not None and cls.lookup("is_closed") is True and not any(method_of(owner, one) for one in own)


def _class_of(m: Walker, owner: Instance) -> StubClass | None:
    return _named(m, [owner.name] if owner.cls is None else owner.cls.makers())


def _named(m: Walker, names: Sequence[str]) -> StubClass | None:
    return next((one for name in names if isinstance(one := library_of(m.stubs).find(name), StubClass)), None)


def _called(m: Walker, function: Any, arguments: CallArguments, node: ast.Call | None, name: str = "") -> Any:
    return run(host.Host(m, node, arguments, name), function, arguments.positional, arguments.keywords)


def run(at: host.Host, function: Any, given: Sequence[Any], named: Mapping[str, Any]) -> Any:
    """Carry out a function of a stub, and return what it gives; a mistake in it is said, and leaves the call to others, as does a call
    with arguments that it doesn't take."""
    carrier = evaluator(library_of(at.m.stubs).imported, at, min(MOST_IN_CALL, MOST_IN_PROGRAM - at.m.stub_steps))
    try:
        found = carrier.call(function, given, dict(named))
        carrier.weigh(found)
        return found
    except StubError as error:
        notice(str(error), str(error))
    except TypeError:
        pass
    finally:
        at.m.stub_steps += carrier.steps
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
