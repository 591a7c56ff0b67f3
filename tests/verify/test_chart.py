"""The curves of a page: drawn to scale, and what is written on them can be read."""

from __future__ import annotations

import re

import pytest

from mpslint.verify.chart import LEFT, RIGHT, WIDTH, Line, chart, ticks, unit_for

GB = 2.0**30


def line_to(*values: float) -> Line:
    """Return a curve with these values, one a step."""
    return Line("as written", tuple(enumerate(values, start=1)))


@pytest.mark.parametrize(
    ("values", "place"),
    [((1, 2, 3, 9.9), LEFT + 4), ((9.9, 3, 2, 1), WIDTH - RIGHT), ((5, 5, 5, 5), WIDTH - RIGHT)],
)
def test_the_name_of_the_limit_is_where_the_curve_is_not(values: tuple[float, ...], place: int) -> None:
    """A curve that comes up to the limit does not run through its name, which is written over everything else."""
    text = chart([line_to(*(value * GB for value in values))], "memory", unit_for(GB), ("recommended", 10 * GB))
    label = re.search(r'<text class="limit" x="(\d+)"[^>]*>recommended</text></svg>', text)

    assert label is not None
    assert int(label.group(1)) == place


def test_a_limit_far_above_the_curve_is_left_out() -> None:
    """Else the curve would be a line at the bottom."""
    assert "recommended" not in chart([line_to(GB, 2 * GB)], "memory", unit_for(GB), ("recommended", 10 * GB))


def test_ticks_are_round_numbers() -> None:
    """They begin and end inside the range."""
    assert ticks(0, 9.5) == [0, 5]
    assert ticks(0, 20) == [0, 5, 10, 15, 20]
