"""Curves as SVG, drawn so that they read in light and dark, on a phone and in print."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from mpslint.core.inert import html_text

WIDTH, HEIGHT = 480, 240
LEFT, RIGHT, TOP, BOTTOM = 62, 12, 12, 34


@dataclass(frozen=True, slots=True)
class Line:
    """One curve: its name, its points, and which of the page's colours it has."""

    name: str
    points: tuple[tuple[float, float], ...]
    colour: int = 0


@dataclass(frozen=True, slots=True)
class Unit:
    """How values are written on the axis: divided by `scale`, followed by `name`."""

    name: str = ""
    scale: float = 1.0


def unit_for(highest: float) -> Unit:
    """Return the unit in which bytes up to `highest` read well."""
    for name, scale in (("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10)):
        if highest >= scale:
            return Unit(name, scale)
    return Unit("B", 1)


def ticks(low: float, high: float, count: int = 4) -> list[float]:
    """Return round numbers from `low` to `high`."""
    span = (high - low) or 1.0
    rough = span / count
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * factor for factor in (1, 2, 5, 10) if power * factor >= rough)
    first = math.ceil(low / step) * step
    return [first + place * step for place in range(int((high - first) / step + 1e-9) + 1)]


def chart(lines: Sequence[Line], label: str, unit: Unit, limit: tuple[str, float] | None = None) -> str:
    """Return an SVG of some curves over the steps, with a dashed line where there is a limit."""
    values = [value for line in lines for _, value in line.points]
    steps = [step for line in lines for step, _ in line.points]
    top = max(values, default=1.0)
    if limit is not None and limit[1] < 2.5 * top:
        top = max(top, limit[1])
    else:
        limit = None
    low, high = min(0.0, *values) if values else 0.0, top * 1.05 or 1.0
    last = max(steps, default=1.0)

    def x(step: float) -> float:
        return LEFT + (WIDTH - LEFT - RIGHT) * (step - 1) / max(last - 1, 1)

    def y(value: float) -> float:
        return TOP + (HEIGHT - TOP - BOTTOM) * (1 - (value - low) / (high - low))

    parts = [f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{html_text(label)}"><title>{html_text(label)}</title>']
    for tick in ticks(low / unit.scale, high / unit.scale):
        at = y(tick * unit.scale)
        parts.append(f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{at:.1f}" y2="{at:.1f}"/>')
        parts.append(f'<text x="{LEFT - 6}" y="{at + 4:.1f}" text-anchor="end">{tick:g}{" " + unit.name if unit.name else ""}</text>')
    for tick in ticks(1, last):
        parts.append(f'<text x="{x(tick):.1f}" y="{HEIGHT - 16}" text-anchor="middle">{tick:g}</text>')
    parts.append(f'<text x="{WIDTH - RIGHT}" y="{HEIGHT - 2}" text-anchor="end">optimizer step</text>')
    if limit is not None:
        at = y(limit[1])
        parts.append(f'<line class="limit" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{at:.1f}" y2="{at:.1f}"/>')
    for line in lines:
        points = " ".join(f"{x(step):.1f},{y(value):.1f}" for step, value in line.points)
        parts.append(f'<polyline class="curve c{line.colour}" points="{points}"><title>{html_text(line.name)}</title></polyline>')
    if limit is not None:
        parts.append(_limit_name(limit[0], at, [(x(step), y(value)) for line in lines for step, value in line.points]))
    return "".join(parts) + "</svg>"


def _limit_name(name: str, at: float, points: Sequence[tuple[float, float]]) -> str:
    """Return the name of the limit that is drawn at a height, over the end of the line that the curves are farther away from."""
    middle = (LEFT + WIDTH - RIGHT) / 2
    room = {is_right: min((abs(y - at) for x, y in points if (x > middle) is is_right), default=HEIGHT) for is_right in (True, False)}
    place, anchor = (WIDTH - RIGHT, "end") if room[True] >= room[False] else (LEFT + 4, "start")
    return f'<text class="limit" x="{place}" y="{at - 5:.1f}" text-anchor="{anchor}">{html_text(name)}</text>'


def legend(lines: Sequence[Line]) -> str:
    """Return the names of the curves beside their colours."""
    items = "".join(f'<li><span class="swatch c{line.colour}"></span>{html_text(line.name)}</li>' for line in lines)
    return f'<ul class="legend">{items}</ul>'
