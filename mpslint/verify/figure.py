"""A chart with all that belongs to it: its legend with the limits, and its numbers as a table."""

from __future__ import annotations

from collections.abc import Sequence

from mpslint.core.inert import html_text
from mpslint.verify.chart import AxisUnit, Line, Mark, chart, legend, unit_for

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
    done: dict[float, list[str]] = {}
    for mark in marks:
        done.setdefault(mark.step, []).append(mark.name)
        chosen |= {mark.step} & set(steps)
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
