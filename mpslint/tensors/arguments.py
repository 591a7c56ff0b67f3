"""The arguments of a call, as the domain of tensors needs them."""

from __future__ import annotations

from typing import Protocol

from mpslint.facts.values import Argument, Value


class Arguments(Protocol):
    """The arguments of a call, evaluated."""

    @property
    def positional(self) -> tuple[Argument, ...]:
        """Those given by position."""

    @property
    def keywords(self) -> dict[str, Argument]:
        """Those given by name."""

    @property
    def unpacked(self) -> tuple[Value, ...]:
        """Objects given by `**`."""

    @property
    def is_open(self) -> bool:
        """Whether others may be given that aren't known."""
