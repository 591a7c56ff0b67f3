"""A report as one self-contained page: the verdicts, the curves before and after over each other, the evidence."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from mpslint import __version__
from mpslint.core.finding import Severity
from mpslint.core.inert import html_text
from mpslint.session.view import ShownFinding
from mpslint.verify.chart import AxisUnit, Line, Mark, figure, scrolled, unit_for
from mpslint.verify.driver_memory import driver_ranges, range_on_a_mac
from mpslint.verify.outcome import Check, RunResult, StepRecord, Verdict, peak_of, size
from mpslint.verify.platform import limits_of
from mpslint.verify.reading import FileReading, remedy
from mpslint.verify.report import VerifyReport

DONE = {"evaluate": "evaluation", "generate": "generation"}


def as_page(reports: Sequence[VerifyReport]) -> str:
    """Return reports as one HTML page, with links to each where there are several."""
    title = f"mpslint verify: {reports[0].subject}" + (f" and {len(reports) - 1} more" if len(reports) > 1 else "")
    links = "".join(
        f'<li><a href="#r{number}">{html_text(report.subject)}</a> {badge(report.status)}</li>' for number, report in enumerate(reports)
    )
    index = f'<nav><ul class="checks">{links}</ul></nav>' if len(reports) > 1 else ""
    body = "".join(f'<article id="r{number}">{_article(report)}</article>' for number, report in enumerate(reports))
    return page(title, f'{index}{body}<p class="dim">Written by mpslint {__version__}.</p>')


def page(title: str, body: str) -> str:
    """Return a self-contained page: it asks for nothing that isn't in it."""
    style = (Path(__file__).parent / "page.css").read_text(encoding="utf-8")
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" '
        'content="width=device-width,initial-scale=1">'
        f'<meta name="color-scheme" content="light dark"><title>{html_text(title)}</title><style>{style}</style></head>'
        f"<body><main>{body}</main></body></html>\n"
    )


def _article(report: VerifyReport) -> str:
    """Return what one report says."""
    mac = f"For a Mac with {report.machine.memory_gb} GB, torch {report.machine.torch}."
    body = [
        f"<h1>{html_text(report.subject)} {badge(report.status)}</h1>",
        *(f'<p class="dim">{html_text(line)}</p>' for line in (report.basis, mac, *report.words, *filter(None, [report.fits]))),
    ]
    if report.problem:
        body.append(f"<p><strong>Not run:</strong> {html_text(report.problem)}</p>")
    if report.verdicts:
        body.append(f'<div class="verdicts">{"".join(_verdict(verdict) for verdict in report.verdicts)}</div>')
    if report.comparison:
        body.append(f'<h2>Is the rewrite the same training?</h2><ul class="checks">{"".join(map(_check, report.comparison))}</ul>')
    charts = "".join(_charts(report))
    if charts:
        body.append(f'<h2>Over the steps</h2><div class="charts">{charts}</div>')
    if report.reading is not None:
        body += reading_sections(report.reading)
    return "".join([*body, *_compositions(report), *_notes(report)])


def _verdict(verdict: Verdict) -> str:
    checks = "".join(map(_check, verdict.checks))
    return f'<section class="verdict"><h3>{html_text(verdict.name)} {badge(verdict.status)}</h3><ul class="checks">{checks}</ul></section>'


def _check(check: Check) -> str:
    line = f" <code>{html_text(check.line)}</code>" if check.line else ""
    rows = "".join(f"<tr><th>{html_text(item.label)}</th><td>{html_text(item.value)}</td></tr>" for item in check.evidence)
    more = f"<details><summary>evidence</summary>{scrolled(rows, 'evidence')}</details>" if rows else ""
    return f"<li>{badge(check.status)} <strong>{html_text(check.name)}</strong>: {html_text(check.reason)}{line}{more}</li>"


def _charts(report: VerifyReport) -> Iterator[str]:
    bounds = limits_of(report.machine)
    limits = [(f"recommended on a {bounds.memory_gb} GB Mac", float(bounds.recommended)), ("PyTorch raises", float(bounds.high))]
    runs = [run for run in report.runs if run.backend != "cpu"]
    marks = _marks(runs)
    predicted = ", predicted" if any(run.backend == "emulated" for run in runs) else ""
    pictures = [
        (f"Driver memory{predicted}", _driver(runs)),
        ("Peak of live memory in the step", _lines(runs, lambda record: record.peak)),
        ("Live memory at the end of the step", _lines(runs, lambda record: record.live if record.blocks < 0 else record.blocks)),
    ]
    for label, lines in pictures:
        if lines:
            highest = max(value for line in lines for _, value in line.points)
            yield figure(label, lines, unit_for(highest), limits, marks)
    keys = _lines(runs, lambda record: record.new_graph_keys, adds_up=True)
    if keys:
        yield figure(f"Compiled graphs kept by torch {report.machine.torch}", keys, AxisUnit(), (), marks)
    losses = _lines([run for run in report.runs if any(r.loss is not None for r in run.steps)], lambda r: -1 if r.loss is None else r.loss)
    if losses:
        yield figure("Loss", losses, AxisUnit())


def _lines(runs: Sequence[RunResult], pick: Callable[[StepRecord], float], *, adds_up: bool = False) -> list[Line]:
    """Return a curve for each run that has values; they are added up for counts of what is new."""
    found = []
    for place, run in enumerate(runs):
        points: list[tuple[float, float]] = []
        total = 0.0
        for record in run.steps:
            value = pick(record)
            if value < 0 or value != value:
                continue
            total += value
            points.append((record.step, total if adds_up else value))
        if len(points) > 1:
            found.append(Line(run.name, tuple(points), place % 2))
    return found


def _driver(runs: Sequence[RunResult]) -> list[Line]:
    """Return a curve of driver memory for each run; of a small one two, between which a Mac's lies."""
    found: list[Line] = []
    for place, run in enumerate(runs):
        for end, words in enumerate((", at least", ", at most") if range_on_a_mac(run) else ("",)):
            values = [replace(record, driver=driver[end]) for record, driver in zip(run.steps, driver_ranges(run), strict=True)]
            for line in _lines([replace(run, steps=tuple(values))], lambda record: record.driver):
                found.append(replace(line, name=f"{run.name}{words}", colour=place % 2))
    return found


def _marks(runs: Sequence[RunResult]) -> list[Mark]:
    """Return what the runs do besides training steps, once a step."""
    return sorted({(record.step, DONE[record.what]) for run in runs for record in run.steps if record.what in DONE})


def _compositions(report: VerifyReport) -> Iterator[str]:
    known = [(run, run.composition.parts) for run in report.runs if run.composition is not None]
    if not known:
        return
    names = dict.fromkeys(name for _, parts in known for name in parts)
    head = "".join(f"<th>{html_text(run.name)}</th>" for run, _ in known)
    cells = {name: "".join(f'<td class="number">{size(parts.get(name, 0))}</td>' for _, parts in known) for name in names}
    rows = "".join(f"<tr><th>{html_text(name)}</th>{row}</tr>" for name, row in cells.items())
    total = "".join(f'<td class="number"><strong>{peak_of(run)}</strong></td>' for run, _ in known)
    table = f"<tr><th></th>{head}</tr>{rows}<tr><th>peak</th>{total}</tr>"
    yield f"<h2>What the peak is made of, with the longest samples</h2>{scrolled(table, 'what the peak is made of')}"


def _notes(report: VerifyReport) -> Iterator[str]:
    lines = [(run, note) for run in report.runs for note in run.notes]
    changed = list(dict.fromkeys(change for run in report.runs for change in run.changes))
    if changed:
        yield (f"<h2>Changed to shorten the run</h2><ul>{''.join(f'<li>{html_text(change)}</li>' for change in changed)}</ul>")
    if lines:
        items = "".join(f"<li>{html_text(run.name)}, {html_text(run.backend)}: {html_text(note)}</li>" for run, note in lines)
        yield f"<h2>Notes</h2><ul>{items}</ul>"


DIFF_CLASSES = {"+": "added", "-": "removed", "@": "dim"}


def badge(status: str) -> str:
    """Return a status as a coloured word."""
    return f'<span class="badge {status.replace(" ", "-")}">{html_text(status)}</span>'


def reading_sections(reading: FileReading) -> Iterator[str]:
    """Yield the sections on findings, on the rewrite, and on what the run is taken to be."""
    if reading.findings:
        yield f'<h2>What check finds in the file</h2><ul class="checks">{_findings(reading.findings)}</ul>'
    if reading.diff:
        yield f"<h2>What fix rewrites</h2>{''.join(_diff(name, lines) for name, lines in reading.diff)}"
    if reading.rewrites:
        yield f"<ul>{''.join(f'<li>{html_text(line)}</li>' for line in reading.rewrites)}</ul>"
    if reading.left and reading.diff:
        yield f'<h2>Still found in the rewrite</h2><ul class="checks">{_findings(reading.left)}</ul>'
    rows = [("Run", reading.run), ("For", reading.target), *(("Assumed", line) for line in reading.assumptions)]
    rows += [("Fits", reading.fits)] if reading.fits else []
    cells = "".join(f"<tr><th>{html_text(name)}</th><td>{html_text(text)}</td></tr>" for name, text in rows)
    yield f"<h2>The run</h2>{scrolled(cells, 'the run')}"


def _findings(found: Sequence[ShownFinding]) -> str:
    """Return what was found, by place, and last what is only worth knowing."""
    return "".join(_finding(one) for one in sorted(found, key=lambda one: one.severity == Severity.NOTE.value))


def _finding(one: ShownFinding) -> str:
    fix = f' <span class="dim">{html_text(remedy(one))}</span>' if one.safety else ""
    head = f"<strong>{html_text(one.rule)} {html_text(one.name)}</strong>, {html_text(one.place.shown)}"
    return f"<li>{badge(one.severity)} {head}: {html_text(one.message)}{fix}</li>"


def _diff(name: str, lines: tuple[str, ...]) -> str:
    rows = "".join(f'<span class="{DIFF_CLASSES.get(line[:1], "same")}">{html_text(line)}</span>\n' for line in lines)
    return f'<h3>{html_text(name)}</h3><pre tabindex="0">{rows}</pre>'
