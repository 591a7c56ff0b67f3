"""Sixty sound trainings, each with one move to the Mac's GPU taken away: what then raises, by real torch, isn't taken for sound."""

from __future__ import annotations

import re

import pytest

from mpslint.facts.events import Certainty
from tests.tensors.test_events import line_that_raises
from tests.tensors.trainings import TRAININGS
from tests.tensors.walked import events_of

MOVES = re.compile(r"\.to\(\w+(?:\.device)?\)|, device=\w+(?:\.device)?")
FOLLOWED = ("mismatch", "numpy", "host", "float64", "unfollowed")


def mutants_of(code: str) -> list[str]:
    """Return a program without each of its moves to a device."""
    return [code[: found.start()] + code[found.end() :] for found in MOVES.finditer(code)]


@pytest.mark.parametrize("code", TRAININGS.values(), ids=TRAININGS)
def test_a_sound_training_raises_nothing(code: str) -> None:
    """Neither does it with real torch."""
    assert line_that_raises(code) == 0
    assert [event for event in events_of(code) if event.certainty is Certainty.SURE] == []


@pytest.mark.parametrize("code", TRAININGS.values(), ids=TRAININGS)
def test_a_move_that_is_missing_is_seen(code: str) -> None:
    """A program that raises has an event, be it one that isn't sure."""
    for mutant in mutants_of(code):
        if line_that_raises(mutant):
            assert [event for event in events_of(mutant) if event.kind in FOLLOWED], mutant
