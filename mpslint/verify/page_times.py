"""How long the run takes on each Mac, for the page: as `plan --estimate` says it, without the Macs whose time is not known."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from mpslint.core.inert import html_text
from mpslint.estimate.forecast import Forecast
from mpslint.estimate.words import forecast_cells, forecast_notes, made_of
from mpslint.verify.figure import scrolled


def time_section(made: Forecast) -> Iterator[str]:
    """Yield the section on the run as written; nothing where no Mac's time is known."""
    known = replace(made, rows=tuple(row for row in made.rows if row.step is not None))
    if not known.rows:
        return
    head, *rows = forecast_cells(known)
    names = "".join(f"<th>{html_text(name)}</th>" for name in head)
    lines = "".join("<tr>" + "".join(f"<td>{html_text(text)}</td>" for text in row) + "</tr>" for row in rows)
    yield f"<h2>How long it takes as written, estimated</h2><p>{html_text(made_of(known))}</p>"
    yield scrolled(f"<tr>{names}</tr>{lines}", "the time on each Mac")
    yield f'<ul class="dim">{"".join(f"<li>{html_text(note)}</li>" for note in forecast_notes(known))}</ul>'
    if known.advice:
        yield f"<h3>To change</h3><ul>{''.join(f'<li>{html_text(line)}</li>' for line in known.advice)}</ul>"
