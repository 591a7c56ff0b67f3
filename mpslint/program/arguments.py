"""The arguments of a call, evaluated."""

from __future__ import annotations

from mpslint.core.record import record
from mpslint.facts.values import UNKNOWN, Argument, Value


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
