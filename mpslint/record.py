"""Dataclasses that cost little to define and little to make: for what a check makes tens of thousands of, or what starting must define.

`@record(frozen=True, slots=True, eq=False)` is `@dataclass(...)` to whoever checks types. When it runs, nothing guards against writing:
a frozen dataclass takes three times as long to define, and as long to make.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dataclasses import dataclass as record
else:
    import dataclasses

    def record(*, frozen: bool = False, slots: bool, eq: bool):
        """Return a decorator that makes a class a dataclass; one that compares by its fields has to be a real one."""
        assert not eq

        def made(cls):
            cls = dataclasses.dataclass(slots=slots, eq=False, repr=False)(cls)
            cls.__repr__ = _shown
            return cls

        return made

    def _shown(self) -> str:
        parts = (f"{field.name}={getattr(self, field.name)!r}" for field in dataclasses.fields(self) if field.repr)
        return f"{type(self).__qualname__}({', '.join(parts)})"


__all__ = ["record"]
