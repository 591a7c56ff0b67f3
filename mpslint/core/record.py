"""Dataclasses that cost little to define: starting defines a hundred.

`@record(frozen=True, slots=True)` is `@dataclass(frozen=True, slots=True)` to whoever checks types, and so it must be written. When it
runs, nothing guards against writing, only the constructor is compiled, and all records are compared and shown by the same functions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dataclasses import dataclass as record
else:
    import dataclasses
    from operator import attrgetter

    def record(*, frozen=False, slots=False, eq=True):
        """Return a decorator that makes a class a record; `frozen` only says that it can be a key, where it compares by its fields."""

        def made(cls):
            found = dataclasses.dataclass(eq=False, repr=False, slots=slots)(cls)
            if "__repr__" not in cls.__dict__:
                found.__repr__ = _shown
            if eq:
                found.__eq__, found.__hash__ = _comparing(found.__match_args__, frozen)
            return found

        return made

    def _comparing(names, frozen):
        """Return what compares two records of a class by their fields, and what makes one a key if it is frozen."""
        values = attrgetter(*names)

        def __eq__(self, other):
            return values(self) == values(other) if other.__class__ is self.__class__ else NotImplemented

        def __hash__(self):
            return hash(values(self))

        return __eq__, __hash__ if frozen else None

    def _shown(self):
        parts = (f"{field.name}={getattr(self, field.name)!r}" for field in dataclasses.fields(self) if field.repr)
        return f"{type(self).__qualname__}({', '.join(parts)})"


__all__ = ["record"]
