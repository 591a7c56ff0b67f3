"""Steps of other batch shapes are worked out from recorded ones, or not known."""

from __future__ import annotations

import random

import numpy as np
import pytest

pytest.importorskip("torch")

from mpslint.verify.emulator.family import Family, Step, telling
from mpslint.verify.emulator.log import Passage

DRAW = random.Random(0)


def passage(*numbers: int) -> Passage:
    """Return a recording with some integers."""
    return Passage("train", (0,) * len(numbers), np.asarray(numbers, dtype=np.int64), ("",) * len(numbers), ())


def step(*lengths: tuple[int, int]) -> Step:
    """Return a step of batches with a source and a target."""
    return tuple(((4, source), (4, source), (4, target)) for source, target in lengths)


def sizes(one: Step) -> Passage:
    """Return a recording whose integers are polynomials of the lengths of each batch."""
    found = [7]
    for (rows, source), _, (_, target) in one:
        found += [rows * source, 3 * source * source + 5, source * target * 8, target]
    return passage(*found)


def drawn(count: int, batches: int = 1) -> list[Step]:
    """Return steps with lengths from 10 to 500."""
    return [step(*((DRAW.randint(10, 500), DRAW.randint(10, 500)) for _ in range(batches))) for _ in range(count)]


@pytest.mark.parametrize("batches", [1, 3])
def test_other_shapes_follow_exactly(batches: int) -> None:
    """Within the lengths that were recorded; each batch of an accumulated step by itself."""
    family = Family([(one, sizes(one)) for one in [*drawn(12, batches), step(*[(10, 500)] * batches), step(*[(500, 10)] * batches)]])
    for one in drawn(20, batches):
        assert family.covers(one)
        assert family.at(one).tolist() == sizes(one).numbers.tolist()


def test_what_was_not_recorded_is_not_known() -> None:
    """Longer batches, batches of other shapes, and lengths that the recordings don't tell apart."""
    family = Family([(one, sizes(one)) for one in (step((length, 2 * length)) for length in range(10, 100, 9))])
    assert family.covers(step((50, 100)))
    assert not family.covers(step((50, 60)))
    assert not family.covers(step((200, 400)))
    assert not family.covers((((4, 50),),))


def test_integers_that_no_length_explains_are_not_known() -> None:
    """As where each step's values decide; equal shapes with different integers say so, too."""
    steps = drawn(14)
    assert not Family([(one, passage(DRAW.randint(0, 9999))) for one in steps]).covers(drawn(1)[0])
    assert not Family([(steps[0], passage(1)), (steps[0], passage(2))]).covers(steps[0])


def test_one_shape_is_known_once_it_came_twice() -> None:
    """A single recording may be what happens at its step only."""
    one = ((),)
    assert not Family([(one, passage(5)), (drawn(1)[0], passage(6))]).covers(one)
    assert Family([(one, passage(5)), (one, passage(5))]).covers(one)


@pytest.mark.parametrize("batches", [1, 4])
def test_the_chosen_steps_tell_all_others(batches: int) -> None:
    """A rare target length, in whichever batch of a step it stands, is among them: of 195 steps, 8 weren't known after 20 had run."""
    steps = {place: step(*((64 * DRAW.randint(4, 16), DRAW.choice([64] * 9 + [128])) for _ in range(batches))) for place in range(195)}
    chosen = [steps[place] for place in telling(steps, [], 15)]
    family = Family([(one, sizes(one)) for one in chosen])
    assert len(chosen) < 15
    assert all(map(family.covers, steps.values()))
