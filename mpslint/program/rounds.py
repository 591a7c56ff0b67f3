"""What the loops in a loop came to: where its body is walked anew they begin with that, which takes one walk of each instead of several."""

from __future__ import annotations

import ast
from collections.abc import Set
from dataclasses import field
from typing import Any, TypeAlias

from mpslint.core.record import record
from mpslint.facts.facts import Facts
from mpslint.facts.values import Frame, Instance, Items, Mapping, Value
from mpslint.program.places import CONTENT, Place, Writes

Key: TypeAlias = tuple[ast.AST, tuple["ast.AST | None", ...], bool]
"""A loop, the calls that led to it, and whether it was walked for its values only."""


@record(eq=False, slots=True)
class CameTo:
    """What a loop came to: what any of its rounds may write, and what these hand to the next in names."""

    writes: Writes
    carried: dict[str, Value]
    named: list[tuple[str, Any, Any]]
    """What it writes to a list, dict or object that a name stands for: the name, the key and the value."""


@record(eq=False, slots=True)
class Round:
    """One walk of the body of a loop, and what the loops in it came to, in their order."""

    around: Round | None
    known: dict[Key, list[CameTo]] | None = None
    """What they came to when it was walked before; None where it wasn't."""
    left: dict[Key, list[CameTo]] = field(default_factory=dict)
    begun: int = 0
    """When it began, by a count of all that was made."""
    frames: int = 0
    """How many frames, and objects, there were when it began."""
    objects: int = 0
    lost: int = 0
    """How many lists, dicts and objects were lost when it began."""
    own: set[tuple[int, Any]] = field(default_factory=set)
    """The names that it assigns, with the ids of their slots."""
    is_last: bool = False
    """Whether it counts, whatever it finds."""
    is_partial: bool = False
    """Whether a loop in it was left to the next walk of all."""

    @property
    def is_first(self) -> bool:
        """Whether nothing is known of the loops in it by another walk."""
        return self.known is None and (self.around is None or self.around.is_first)

    def new_places(self, facts: Facts) -> set[object]:
        """Return the places that belong to it: ids of the slots that were made since it began, and the names that it assigns."""
        made = {id(one.slots) for one in facts.frames[self.frames :]} | {id(one.slots) for one in facts.objects[self.objects :]}
        return made | self.own

    def taken(self, key: Key) -> CameTo | None:
        """Return what a loop came to when it was walked before, which is given once; None where nothing is known of it."""
        one: Round | None = self
        while one is not None and one.known is None:
            one = one.around
        known = one.known.get(key) if one is not None and one.known is not None else None
        return known.pop(0) if known else None

    def keep(self) -> None:
        """The walk counts: what the loops came to is known around it."""
        for key, several in self.left.items() if self.around is not None else ():
            self.around.left.setdefault(key, []).extend(several)  # type: ignore[union-attr]

    def note(self, key: Key, writes: Writes, carried: dict[str, Value], frame: Frame) -> None:
        """Note what a loop in it, which stands in a frame, came to."""
        names = {id(_place_of(value)): name for name, value in frame.slots.items() if _place_of(value) is not None}
        named = [(names[at[0]], where, value) for at, (_, where, value) in writes.items() if at[0] in names]
        self.left.setdefault(key, []).append(CameTo(writes, carried, named))

    def thrown(self, facts: Facts) -> Round:
        """Return the next walk, which begins with what the loops in this one came to: without the places that belong to it."""
        new = self.new_places(facts)
        for one in (one for several in self.left.values() for one in several):
            one.writes = {at: kept for at, kept in one.writes.items() if not _is_new(kept[0], new, self.begun)}
        return Round(self.around, self.left)


def _is_new(place: Place, new: Set[object], since: int) -> bool:
    return id(place) in new or (not isinstance(place, dict) and place.born >= since)


def _place_of(value: Value | None) -> Place | None:
    """Return where a list or dict has its content, or an object its attributes; None for another value."""
    return value if isinstance(value, (Items, Mapping)) else value.slots if isinstance(value, Instance) else None


def writes_of(left: CameTo, frame: Frame) -> Writes:
    """Return what a loop in a frame came to before, at the places that are meant now."""
    found = dict(left.writes)
    for name, key, value in left.named:
        place = _place_of(frame.slots.get(name))
        if place is not None and isinstance(place, dict) is not (key is CONTENT):
            found[id(place), key] = (place, key, value)
    return found
