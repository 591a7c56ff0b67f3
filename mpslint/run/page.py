"""A watched run as one self-contained page, as verify's: the summary, the warnings, the real curves and the diagnosis."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from mpslint import __version__
from mpslint.core.inert import html_text
from mpslint.run.events import Observed, step_times
from mpslint.run.watcher import limit_of
from mpslint.verify.chart import AxisUnit, Line, figure, scrolled, unit_for
from mpslint.verify.page import badge, page

MOST_POINTS = 1_000
"""Points of a curve; of a longer run the highest of each stretch is drawn."""


def write_page(path: Path, observed: Observed, command: str, summary: str, warnings: Sequence[str], diagnosis: str) -> None:
    """Write the page of a run to a file; `diagnosis` is that of the error that ended it, as text, '' where none did."""
    basis = f"Measured while it ran, by mpslint {__version__}, with torch {observed.torch or 'not seen'}."
    body = [f"<h1>{html_text(command)}</h1>", f'<p class="dim">{html_text(basis)}</p>']
    body.append(f"<p>{html_text(summary)}</p>")
    if warnings:
        items = "".join(f"<li>{badge('warning')} {html_text(line.removeprefix('warning: '))}</li>" for line in warnings)
        body.append(f'<h2>Warnings</h2><ul class="checks">{items}</ul>')
    charts = "".join(_charts(observed))
    if charts:
        body.append(f'<h2>Over the steps</h2><div class="charts">{charts}</div>')
    if observed.fallbacks:
        body.append(_fallbacks(observed))
    if diagnosis:
        body.append(f'<h2>What ended it</h2><pre class="wrapped" tabindex="0">{html_text(diagnosis)}</pre>')
    path.write_text(page(f"mpslint run: {command}", f"<article>{''.join(body)}</article>"), encoding="utf-8")


def _charts(observed: Observed) -> Iterator[str]:
    steps = observed.steps
    measured = [step for step in steps if step.driver is not None and step.live is not None]
    marks = [(step + 1, what) for step, what in observed.marks.items()]
    if len(measured) > 1:
        driver = Line(f"driver ({observed.device})", _highest([(step.number, float(step.driver or 0)) for step in measured]))
        live = Line("live", _highest([(step.number, float(step.live or 0)) for step in measured]), 1)
        bounds = [("recommended by Metal", float(observed.recommended))] if observed.recommended and observed.device == "mps" else []
        limit = limit_of(observed)
        if limit is not None:
            bounds.append((f"limit of {'the allocator' if observed.device == 'mps' else 'the device'}", float(limit)))
        yield figure("Memory after each step", [driver, live], unit_for(max(value for _, value in driver.points)), bounds, marks)
    times = _highest([(step.number, seconds) for step, seconds in zip(steps[1:], step_times(steps), strict=True)])
    if len(times) > 1:
        yield figure("Time of a step", [Line("seconds", times)], AxisUnit("s"))
    shapes = _highest([(step.number, float(step.shapes)) for step in steps if step.shapes is not None])
    if len(shapes) > 1:
        yield figure("Batch shapes so far", [Line("shapes", shapes)], AxisUnit())
    losses = tuple((float(one.step), one.loss) for one in observed.values if one.loss is not None)
    if len(losses) > 1:
        yield figure("Loss, where it was looked at", [Line("loss", losses)], AxisUnit())


def _highest(points: list[tuple[int, float]]) -> tuple[tuple[float, float], ...]:
    """Return the points of a curve, of a long one the highest of each stretch."""
    width = -(-len(points) // MOST_POINTS)
    stretches = [points[start : start + width] for start in range(0, len(points), width)] if width else []
    return tuple(max(stretch, key=lambda point: point[1]) for stretch in stretches)


def _fallbacks(observed: Observed) -> str:
    rows = "".join(
        f"<tr><th>{html_text(one.operator)}</th><td>{html_text(f'{Path(one.file).name}:{one.line}') if one.file else ''}</td>"
        f'<td class="number">{f"{one.seconds * 1000:.1f} ms" if one.calls else ""}</td></tr>'
        for one in observed.fallbacks.values()
    )
    head = "<tr><th>operator</th><th>first called</th><th>a step</th></tr>"
    return f"<h2>Operators on the CPU</h2>{scrolled(head + rows, 'operators on the CPU')}"
