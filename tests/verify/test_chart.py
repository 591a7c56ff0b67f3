"""The curves of a page: drawn to scale, and what is written on them can be read."""

from __future__ import annotations

import itertools
import re

import pytest

from mpslint.verify.chart import LEFT, RIGHT, WIDTH, Line, chart, figure, ticks, unit_for

GB = 2.0**30


def line_to(*values: float) -> Line:
    """Return a curve with these values, one a step."""
    return Line("as written", tuple(enumerate(values, start=1)))


def names_in(text: str) -> dict[str, tuple[float, float, float, float]]:
    """Return the boxes of the names on a chart, by name: left, top, right, bottom, as wide as a browser draws them at most."""
    found = {}
    for kind, x, y, anchor, name in re.findall(r'<text class="(mark)" x="([\d.]+)" y="([\d.]+)"(?: text-anchor="(\w+)")?>([^<]*)', text):
        width = 7.6 * len(name)
        left = float(x) - width if anchor == "end" else float(x)
        found[f"{kind} {name} {x}"] = (left, float(y) - 11, left + width, float(y) + 3)
    return found


def points_in(text: str) -> list[tuple[float, float]]:
    """Return places on the curve of a chart, close together."""
    drawn = [tuple(map(float, pair.split(","))) for pair in re.findall(r'points="([^"]*)"', text)[0].split()]
    between = [
        (x1 + (x2 - x1) * part / 50, y1 + (y2 - y1) * part / 50) for (x1, y1), (x2, y2) in itertools.pairwise(drawn) for part in range(51)
    ]
    return [(x, y) for x, y in between]


CURVES = [
    (1, 2, 3, 9.9),
    (9.9, 3, 2, 1),
    (5, 5, 5, 5),
    (9.5, 9.6, 9.5, 9.6),
    (1, 12, 1, 12),
    (8, 9, 10, 11),
    (2, 9.7, 9.7, 2),
    (10, 10, 10, 10),
]


@pytest.mark.parametrize("values", CURVES)
def test_no_name_is_on_a_curve_or_on_another_name(values: tuple[float, ...]) -> None:
    """Those of what was done between the steps; limits are named in the legend."""
    marks = [(2, "evaluation"), (2, "checkpoint"), (4, "generation")]
    limits = [("recommended on a 16 GB Mac", 10 * GB), ("PyTorch raises", 12 * GB)]
    text = chart([line_to(*(value * GB for value in values))], "memory", unit_for(GB), limits, marks)
    boxes = names_in(text)

    for name, (left, top, right, bottom) in boxes.items():
        assert not [(x, y) for x, y in points_in(text) if left < x < right and top < y < bottom], name
        assert left >= LEFT - 1
        assert right <= WIDTH - RIGHT + 1
    for one, other in itertools.combinations(boxes.values(), 2):
        assert not (one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3])
    assert any(name.startswith("mark evaluation") for name in boxes)


def test_a_limit_is_in_the_legend() -> None:
    """With its value, as every limit."""
    assert "recommended: 10.0 GiB" in figure("memory", [line_to(GB, 2 * GB)], unit_for(GB), [("recommended", 10 * GB)])


def test_the_numbers_of_a_figure_hold_the_highest_point_and_what_was_done() -> None:
    """So that a headline that names it is found again."""
    values = [GB] * 40 + [7 * GB] + [2 * GB] * 59
    text = figure("memory", [line_to(*values)], unit_for(GB), marks=[(43, "evaluation")])

    assert '<tr><th>41</th><td class="number">7.0 GiB</td><td></td></tr>' in text
    assert '<tr><th>43</th><td class="number">2.0 GiB</td><td>evaluation</td></tr>' in text


def test_a_limit_far_above_the_curve_is_left_out() -> None:
    """Else the curve would be a line at the bottom."""
    assert "recommended" not in chart([line_to(GB, 2 * GB)], "memory", unit_for(GB), [("recommended", 10 * GB)])


def test_ticks_are_round_numbers() -> None:
    """They begin and end inside the range."""
    assert ticks(0, 9.5) == [0, 5]
    assert ticks(0, 20) == [0, 5, 10, 15, 20]
