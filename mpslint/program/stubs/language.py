"""What a stub is made of: its functions, classes and objects, and what goes wrong in one."""

from __future__ import annotations

import ast
from dataclasses import field, replace
from typing import Any, TypeAlias

from mpslint.core.finding import UsageError
from mpslint.core.record import record
from mpslint.facts.values import Instance


class NotKnown:
    """What stands for a value that isn't known: it decides nothing."""

    def __bool__(self) -> bool:
        raise TypeError("a value that isn't known decides nothing: ask whether it `is_known`")

    def __eq__(self, other: object) -> bool:
        return bool(self)

    __hash__ = object.__hash__


UNKNOWN = NotKnown()
"""What `plain` gives of a value of the program that isn't known."""
DECLINED = object()
"""What a stub gives that leaves a call to what mpslint does of any call of a library."""
NO_DEFAULT = object()
"""What stands for the default of a parameter that has none."""
Definition: TypeAlias = ast.FunctionDef | ast.Lambda


class StubError(UsageError):
    """A mistake in a stub: one line that begins with its file and line."""


@record(eq=False)
class Scope:
    """The names of a module, or of a call of a function."""

    path: str
    names: dict[str, Any] = field(default_factory=dict)
    outer: Scope | None = None


@record(eq=False)
class StubFunction:
    """A function of a stub; with the object that it is a method of, if it is one."""

    node: Definition
    scope: Scope
    defaults: tuple[Any, ...] = ()
    keyword_defaults: tuple[Any, ...] = ()
    plain: frozenset[str] = frozenset()
    """The parameters that are taken as plain constants of Python (`flags: plain`)."""
    owner: StubClass | None = None
    receiver: Any = None


@record(eq=False)
class StubClass:
    """A class of a stub."""

    name: str
    names: dict[str, Any]
    bases: tuple[StubClass, ...] = ()

    def lookup(self, name: str) -> Any:
        """Return an attribute of the class or of its bases, None where there is none."""
        return next((cls.names[name] for cls in self.lineage() if name in cls.names), None)

    def lineage(self) -> tuple[StubClass, ...]:
        """The class and those above it, nearest first."""
        return (self, *(one for base in self.bases for one in base.lineage()))


@record(eq=False)
class StubObject:
    """An object of a class of a stub: what it keeps of an object of the program, where it stands behind one."""

    cls: StubClass
    slots: dict[str, Any] = field(default_factory=dict)
    instance: Instance | None = None


def bound(function: Any, receiver: Any) -> Any:
    """Return a function of a class as a method of an object."""
    return replace(function, receiver=receiver) if isinstance(function, StubFunction) else function


class Left(Exception):
    """A statement that leaves a loop or a function was carried out."""


class Break(Left):
    pass


class Continue(Left):
    pass


class Return(Left):
    def __init__(self, value: Any) -> None:
        self.value = value
