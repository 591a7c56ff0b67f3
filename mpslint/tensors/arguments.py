"""The arguments of a call: as they are given, and by parameter, as the domain of tensors needs them."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence

from mpslint.core.record import record
from mpslint.facts.values import UNKNOWN, Argument, Value
from mpslint.tensors.signatures import Signature
from mpslint.tensors.traits import is_none


@record(frozen=True, slots=True)
class CallArguments:
    """The arguments of a call, evaluated."""

    positional: tuple[Argument, ...]
    keywords: dict[str, Argument]
    is_open: bool
    unpacked: tuple[Value, ...] = ()
    """Objects whose entries are not known, given by `**`."""
    rest: Value = UNKNOWN
    """What `*` unpacks into arguments of which it isn't known how many they are; Unknown where several do."""

    @property
    def given(self) -> list[Value]:
        """The values that are given by position."""
        return [argument.value for argument in self.positional]

    @property
    def named(self) -> dict[str, Value]:
        """The values that are given by name."""
        return {name: argument.value for name, argument in self.keywords.items()}

    @property
    def all(self) -> list[Value]:
        """All of these."""
        return [argument.value for argument in (*self.positional, *self.keywords.values())]

    def first(self) -> Value | None:
        """The first positional argument's value, or None."""
        return self.positional[0].value if self.positional else None

    def get(self, index: int, name: str) -> Value | None:
        """The value of an argument given by position or by name, or None."""
        if index < len(self.positional):
            return self.positional[index].value
        return self.keywords[name].value if name in self.keywords else None


@record(frozen=True, eq=False)
class GivenByName:
    """The arguments of one call by the names of the parameters."""

    values: Mapping[str, Argument]
    is_open: bool
    """Others may be given that aren't known."""
    rest: tuple[Argument, ...] = ()
    """Positional arguments of the parameter that takes all further ones, but for the first."""
    more: str = ""
    """The name of that parameter."""

    def value(self, name: str) -> Value | None:
        """Return an argument's value; None for one that isn't given, or is None."""
        value = self.values[name].value if name in self.values else None
        return None if value is not None and is_none(value) else value

    def all(self, names: Sequence[str]) -> Iterator[Argument]:
        """Yield what some parameters are given."""
        for name in names:
            if name in self.values:
                yield self.values[name]
                yield from self.rest if name == self.more else ()

    @property
    def first(self) -> Argument | None:
        """What the first parameter is given; a method's is its object."""
        return next(iter(self.values.values()), None)


def given_to(
    signature: Signature,
    receiver: Value | None,
    node: ast.Call,
    positional: Sequence[Argument],
    keywords: Mapping[str, Argument],
    is_open: bool,
) -> GivenByName:
    """Return the arguments of a call by parameter; a method's object is its first."""
    own = [Argument(receiver, node.func.value if isinstance(node.func, ast.Attribute) else node)] if receiver is not None else []
    ordered = [*own, *positional]
    named = dict(zip(signature.parameters, ordered, strict=False))
    rest = ordered[len(signature.parameters) :]
    if rest and signature.rest:
        named[signature.rest] = rest[0]
    return GivenByName({**named, **keywords}, is_open, tuple(rest[1:]), signature.rest)
