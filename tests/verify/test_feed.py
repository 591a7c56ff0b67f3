"""Which batches foreign code gets, and which come after them."""

from __future__ import annotations

import weakref
from collections.abc import Iterator
from itertools import islice

import pytest

pytest.importorskip("torch")

import torch

from mpslint.verify.child.feed import Feed, key_of, shapes_text, with_rows


def batches(*lengths: int) -> Iterator[object]:
    """Yield a batch of each length."""
    yield from ({"x": torch.ones(2, length)} for length in lengths)


def lengths(given: Iterator[object]) -> list[int]:
    """Return the lengths of some batches."""
    return [key_of(batch)[0][1] for batch in given]


def test_batches_come_in_the_order_that_is_planned_and_then_in_their_own() -> None:
    """A pass has as many batches as the loader's; its order is what is known of the steps."""
    feed, loader = Feed(), object()
    first = feed.give(loader, lambda: batches(1, 2, 3, 4, 5, 6, 7), is_plain=False)
    assert lengths(islice(first, 2)) == [1, 2]
    feed.look_ahead(10)
    feed.plan.extend([6, 4])
    assert lengths(first) == [7, 5, 3, 4, 6]
    assert [key[0][1] for key in feed.order] == [1, 2, 3, 4, 5, 6, 7, 1, 2, 3]
    assert lengths(feed.give(loader, lambda: batches(), is_plain=False)) == [1, 2, 3]
    assert [place for place, _ in feed.steps(2)] == [0, 2, 4, 7]


def test_a_step_has_the_batches_that_it_was_given() -> None:
    """A loader that fetches one ahead holds one back, except at the end of a pass."""
    feed = Feed()
    given = feed.give(object(), lambda: batches(1, 2, 3), is_plain=False)
    list(islice(given, 2))
    assert feed.take(1) == (((2, 1),),)
    next(given)
    assert feed.take(1) == (((2, 2),),)
    list(given)
    assert feed.take(1) == (((2, 3),),)


def test_a_second_loader_in_between_is_not_regular() -> None:
    """Batches of two loaders can't be put into another order."""
    feed = Feed()
    first = feed.give(1, lambda: batches(1, 2), is_plain=False)
    next(first)
    next(feed.give(2, lambda: batches(3), is_plain=False))
    assert not feed.is_regular


def test_no_batch_is_kept_once_it_was_given() -> None:
    """What code moves to the device in place would stay there."""
    feed = Feed()
    given = feed.give(object(), lambda: batches(*range(1, 9)), is_plain=False)
    next(given)
    for _ in range(2):
        batch = next(given)
        tensor = weakref.ref(batch["x"])
        del batch
        assert tensor() is None
        feed.look_ahead(8)


def test_shapes_of_a_batch() -> None:
    """By name or in order, at any depth; a text names each once."""
    one, two = torch.ones(2, 3), torch.ones(2)
    assert key_of({"a": one, "b": [two, {"c": one}], "d": "text"}) == ((2, 3), (2,), (2, 3))
    assert key_of(3) == ()
    assert shapes_text([key_of([one, two, one]), key_of([one, two]), key_of(one)]) == "2x3 2, 2x3"


def test_a_loader_that_fails_or_ends_ends_the_look() -> None:
    """What it gave is known."""
    feed = Feed()

    def failing() -> Iterator[object]:
        yield from batches(1, 2)
        raise ValueError

    next(feed.give(object(), failing, is_plain=False))
    feed.look_ahead(9)
    assert len(feed.order) == 2


def test_the_longest_batch_comes_next_with_other_numbers_of_rows() -> None:
    """Cut or repeated, each number for all batches of a step; a step that has a batch already is filled up. Then all others come."""
    feed = Feed()
    given = feed.give(object(), lambda: batches(3, 1, 9, 2), is_plain=False)
    next(given)
    feed.look_ahead(9)
    assert len(feed.resize((1, 5), 2, 1)) == 3
    shapes = [key_of(batch)[0] for batch in islice(given, 8)]
    assert shapes == [(1, 9), (1, 9), (1, 9), (5, 9), (5, 9), (2, 9), (2, 9), (2, 1)]
    assert feed.rows == 2


def test_rows_are_found_by_their_number_wherever_they_lie() -> None:
    """In front, behind, in a list or in a dict; a mask that all rows share stays."""
    one, other, shared = torch.arange(4).reshape(2, 2, 1), torch.ones(3, 2), torch.ones(3, 3)
    made = with_rows({"a": [one, (other,)], "mask": shared, "name": "x"}, 2, 3)
    assert made["a"][0].flatten().tolist() == [0, 1, 2, 3, 0, 1]
    assert (made["a"][1][0].shape, made["mask"] is shared, made["name"]) == ((3, 3), True, "x")
    assert one.shape == (2, 2, 1)


def test_a_batch_that_cannot_be_cut_gives_nothing() -> None:
    """An object of the code's own, whose tensors would stay as many as they are."""
    feed = Feed()
    given = feed.give(object(), lambda: iter([{"x": {torch.ones(2)}}] * 9), is_plain=False)
    next(given)
    assert feed.resize((1, 3), 1, 0) == set()
