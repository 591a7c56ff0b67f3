"""Configuration objects that a program makes and gives to nothing: what they say happens nowhere."""

from __future__ import annotations

from collections.abc import Sequence

from mpslint.facts.facts import Facts
from mpslint.settings.plan import Matched
from mpslint.settings.roles import roles_that


def without_unread(matched: Sequence[Matched], facts: Facts) -> tuple[Matched, ...]:
    """Return the matched calls without those that only say what a model is given, where nothing reads the name of what they made.

    A file without a model may make them for others.
    """
    given = roles_that("given")
    if facts.uses.is_vague or not any(m.pattern.role == "model" for m in matched):
        return tuple(matched)
    named = {id(value) for frame in facts.frames for value in frame.slots.values()}
    return tuple(m for m in matched if m.pattern.role not in given or id(m.call.result) not in named or facts.uses.of_made(m.call))
