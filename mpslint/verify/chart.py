"""Curves as SVG, drawn so that they read in light and dark, on a phone and in print."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from mpslint.core.grouped import grouped
from mpslint.core.inert import html_text

WIDTH, HEIGHT = 480, 240
LEFT, RIGHT, TOP, BOTTOM = 62, 12, 24, 34
LETTER = 7.6
"""The width of a letter, at most."""


@dataclass(frozen=True, slots=True)
class Line:
    """One curve: its name, its points, and which of the page's colours it has."""

    name: str
    points: tuple[tuple[float, float], ...]
    colour: int = 0


Mark = tuple[float, str]
"""A step, and what was done before it besides training, such as an evaluation."""


@dataclass(frozen=True, slots=True)
class AxisUnit:
    """How values are written on the axis: divided by `scale`, followed by `name`."""

    name: str = ""
    scale: float = 1.0


def unit_for(highest: float) -> AxisUnit:
    """Return the unit in which bytes up to `highest` read well."""
    for name, scale in (("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10)):
        if highest >= scale:
            return AxisUnit(name, scale)
    return AxisUnit("B", 1)


def ticks(low: float, high: float) -> list[float]:
    """Return about four round numbers from `low` to `high`."""
    span = (high - low) or 1.0
    rough = span / 4
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * factor for factor in (1, 2, 5, 10) if power * factor >= rough)
    first = math.ceil(low / step) * step
    return [first + place * step for place in range(int((high - first) / step + 1e-9) + 1)]


def chart(lines: Sequence[Line], label: str, unit: AxisUnit, limits: Sequence[tuple[str, float]] = (), marks: Sequence[Mark] = ()) -> str:
    """Return an SVG of some curves over the steps, a dashed line for each limit in reach, and what was done at which step above the plot.

    The legend names the limits, with their values; the names of marks have a strip of their own.
    """
    values = [value for line in lines for _, value in line.points]
    steps = [step for line in lines for step, _ in line.points]
    top = max(values, default=1.0)
    near = [limit for limit in limits if limit[1] < 2.5 * top]
    top = max([top, *(value for _, value in near)])
    low, high = min(0.0, *values) if values else 0.0, top * 1.08 or 1.0
    first, last = min(steps, default=1.0), max(steps, default=1.0)

    def x(step: float) -> float:
        return LEFT + (WIDTH - LEFT - RIGHT) * (step - first) / max(last - first, 1)

    def y(value: float) -> float:
        return TOP + (HEIGHT - TOP - BOTTOM) * (1 - (value - low) / (high - low))

    parts = [f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{html_text(label)}"><title>{html_text(label)}</title>']
    for tick in ticks(low / unit.scale, high / unit.scale):
        at = y(tick * unit.scale)
        parts.append(f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{at:.1f}" y2="{at:.1f}"/>')
        parts.append(f'<text x="{LEFT - 6}" y="{at + 4:.1f}" text-anchor="end">{tick:g}{" " + unit.name if unit.name else ""}</text>')
    for tick in ticks(first, last):
        parts.append(f'<text x="{x(tick):.1f}" y="{HEIGHT - 16}" text-anchor="middle">{tick:g}</text>')
    parts.append(f'<text x="{WIDTH - RIGHT}" y="{HEIGHT - 2}" text-anchor="end">optimizer step</text>')
    parts += _marks([(x(step), name) for step, name in marks if first <= step <= last])
    for name, value in near:
        ends = f'x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y(value):.1f}" y2="{y(value):.1f}"'
        parts.append(f'<line class="limit" {ends}><title>{html_text(name)}</title></line>')
    for line in lines:
        path = " ".join(f"{x(step):.1f},{y(value):.1f}" for step, value in line.points)
        parts.append(f'<polyline class="curve c{line.colour}" points="{path}"><title>{html_text(line.name)}</title></polyline>')
    return "".join(parts) + "</svg>"


def _marks(places: Sequence[tuple[float, str]]) -> Iterator[str]:
    """Yield a thin line for each place, and its name above the plot where the names before it leave room."""
    taken = 0.0
    for across, name in places:
        at = f'x1="{across:.1f}" x2="{across:.1f}" y1="{TOP}" y2="{HEIGHT - BOTTOM}"'
        yield f'<line class="mark" {at}><title>{html_text(name)}</title></line>'
        width = LETTER * len(name)
        start = min(across, WIDTH - RIGHT - width)
        if start >= taken:
            yield f'<text class="mark" x="{start:.1f}" y="{TOP - 6}">{html_text(name)}</text>'
            taken = start + width + LETTER


def legend(lines: Sequence[Line], limits: Sequence[str] = ()) -> str:
    """Return the names of the curves, and limits with their values, beside their colours."""
    items = "".join(f'<li><span class="swatch c{line.colour}"></span>{html_text(line.name)}</li>' for line in lines)
    items += "".join(f'<li><span class="swatch limit"></span>{html_text(limit)}</li>' for limit in limits)
    return f'<ul class="legend">{items}</ul>'


ROWS = 12
"""Rows of the table, besides the step at which the first curve is highest."""


def figure(label: str, lines: Sequence[Line], unit: AxisUnit, limits: Sequence[tuple[str, float]] = (), marks: Sequence[Mark] = ()) -> str:
    """Return a chart as a figure. A limit that is too far above the curves to be drawn is in the legend all the same."""
    names = [f"{name}: {_shown(value, unit_for(value) if unit.scale > 1 else unit)}" for name, value in limits]
    return (
        f"<figure><h3>{html_text(label)}</h3>{chart(lines, label, unit, limits, marks)}{legend(lines, names)}"
        f"<details><summary>numbers</summary>{_table(label, lines, unit, marks)}</details></figure>"
    )


def scrolled(table: str, label: str) -> str:
    """Return a table that may be wider than the screen, in a box that the keyboard scrolls too."""
    return f'<div class="scroll" tabindex="0" role="region" aria-label="{html_text(label)}"><table>{table}</table></div>'


def _table(label: str, lines: Sequence[Line], unit: AxisUnit, marks: Sequence[Mark]) -> str:
    curves = [dict(line.points) for line in lines]
    steps = sorted({step for curve in curves for step in curve})
    chosen = {steps[round(place * (len(steps) - 1) / (ROWS - 1))] for place in range(ROWS)} if steps else set()
    chosen |= {max(curve, key=lambda step: curve[step]) for curve in curves if curve}  # so that what a headline names is there
    done = grouped(marks)
    chosen |= done.keys() & set(steps)
    head = "".join(f"<th>{html_text(line.name)}</th>" for line in lines) + ("<th></th>" if done else "")
    rows = ""
    for step in sorted(chosen)[: 4 * ROWS]:
        cells = "".join(f'<td class="number">{html_text(_shown(curve[step], unit)) if step in curve else ""}</td>' for curve in curves)
        more = f"<td>{html_text(', '.join(dict.fromkeys(done.get(step, ()))))}</td>" if done else ""
        rows += f"<tr><th>{step:g}</th>{cells}{more}</tr>"
    return scrolled(f"<tr><th>step</th>{head}</tr>{rows}", label)


def _shown(value: float, unit: AxisUnit) -> str:
    number = value / unit.scale
    return f"{number:,.1f} {unit.name}" if unit.scale > 1 else f"{number:.4g}{' ' + unit.name if unit.name else ''}"
