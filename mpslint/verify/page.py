"""A report as one self-contained page: the verdicts, the curves before and after over each other, the evidence."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from html import escape

from mpslint import __version__
from mpslint.verify.chart import Line, Unit, chart, legend, unit_for
from mpslint.verify.outcome import Check, RunResult, StepRecord, Verdict
from mpslint.verify.platform import limits
from mpslint.verify.report import Report
from mpslint.verify.verdict import size

STYLE = """
:root{--paper:#fff;--ink:#1b1f24;--dim:#5b6570;--rule:#d8dde3;--soft:#f4f6f8;--a:#c2410c;--b:#1d4ed8;--pass:#15803d;--fail:#b91c1c;--warn:#a16207}
@media(prefers-color-scheme:dark){:root{--paper:#14171a;--ink:#e6e9ec;--dim:#9aa4ae;--rule:#343b42;--soft:#1d2226;--a:#fb923c;--b:#7aa2ff;
--pass:#4ade80;--fail:#f87171;--warn:#facc15}}
*{box-sizing:border-box}body{margin:0;background:var(--paper);color:var(--ink);font:16px/1.5 system-ui,-apple-system,"Segoe UI",sans-serif}
main{max-width:1040px;margin:0 auto;padding:20px 16px 48px}h1{font-size:1.5rem;margin:.2em 0;overflow-wrap:anywhere}h2{font-size:1.15rem;margin:2em 0 .5em}
h3{font-size:1rem;margin:0 0 .3em}p{margin:.4em 0}.dim,figcaption{color:var(--dim);font-size:.9rem}.charts{display:grid;gap:16px;grid-template-columns:1fr}
@media(min-width:860px){.charts,.verdicts{grid-template-columns:1fr 1fr}}.verdicts{display:grid;gap:16px}
figure,.verdict{margin:0;padding:12px;border:1px solid var(--rule);border-radius:8px;background:var(--soft);min-width:0}
svg{display:block;width:100%;height:auto}svg text{font-size:13px;fill:var(--dim)}.grid{stroke:var(--rule);stroke-width:1}
.curve{fill:none;stroke-width:2.2;stroke-linejoin:round}polyline.c0{stroke:var(--a)}polyline.c1{stroke:var(--b);stroke-dasharray:7 3}
line.limit{stroke:var(--fail);stroke-width:1.4;stroke-dasharray:3 3}svg text.limit{fill:var(--fail)}
.legend{list-style:none;display:flex;flex-wrap:wrap;gap:4px 16px;margin:.3em 0 0;padding:0;font-size:.9rem}
.swatch{display:inline-block;width:22px;height:0;border-top:3px solid;margin-right:6px;vertical-align:middle}
.swatch.c0{border-color:var(--a)}.swatch.c1{border-color:var(--b);border-top-style:dashed}
.badge{display:inline-block;padding:.05em .55em;border-radius:4px;border:1.5px solid currentColor;font-weight:700;font-size:.82rem;text-transform:uppercase;letter-spacing:.03em}
.pass{color:var(--pass)}.fail{color:var(--fail)}.inconclusive{color:var(--warn)}.not-run{color:var(--dim)}
.scroll{overflow-x:auto}table{border-collapse:collapse;width:100%;font-size:.92rem}th,td{text-align:left;padding:.35em .6em;border-bottom:1px solid var(--rule);vertical-align:top}
td.number{white-space:nowrap}ul.checks{list-style:none;margin:.4em 0 0;padding:0}ul.checks>li{padding:.45em 0;border-top:1px solid var(--rule);overflow-wrap:anywhere}
details summary{cursor:pointer;color:var(--dim);font-size:.9rem}code{font-family:ui-monospace,Menlo,Consolas,monospace;font-size:.9em;overflow-wrap:anywhere}
pre{background:var(--soft);border:1px solid var(--rule);border-radius:8px;padding:12px;overflow-x:auto;font-size:.85rem}
"""


def as_page(report: Report, extra: str = "") -> str:
    """Return a report as HTML; `extra` is HTML for below it, such as findings and a diff."""
    title = f"mpslint verify: {report.subject}"
    body = [
        f"<h1>{escape(report.subject)} {badge(report.status)}</h1>",
        f'<p class="dim">{escape(report.basis)}</p>',
        f'<p class="dim">For a Mac with {report.machine.memory_gb} GB, torch {escape(report.machine.torch)}. Written by mpslint {__version__}.</p>',
    ]
    if report.problem:
        body.append(f"<p><strong>Not run:</strong> {escape(report.problem)}</p>")
    if report.verdicts:
        body.append(f'<div class="verdicts">{"".join(_verdict(verdict) for verdict in report.verdicts)}</div>')
    if report.comparison:
        body.append(f'<h2>Is the rewrite the same training?</h2><ul class="checks">{"".join(map(_check, report.comparison))}</ul>')
    charts = "".join(_charts(report))
    if charts:
        body.append(f'<h2>Over the steps</h2><div class="charts">{charts}</div>')
    body += [*_compositions(report), *_notes(report), extra]
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1">'
        f'<meta name="color-scheme" content="light dark"><title>{escape(title)}</title><style>{STYLE}</style></head>'
        f"<body><main>{''.join(body)}</main></body></html>\n"
    )


def badge(status: str) -> str:
    """Return a status as a coloured word."""
    return f'<span class="badge {status.replace(" ", "-")}">{escape(status)}</span>'


def _verdict(verdict: Verdict) -> str:
    checks = "".join(map(_check, verdict.checks))
    return f'<section class="verdict"><h3>{escape(verdict.name)} {badge(verdict.status)}</h3><ul class="checks">{checks}</ul></section>'


def _check(check: Check) -> str:
    line = f" <code>{escape(check.line)}</code>" if check.line else ""
    rows = "".join(f"<tr><th>{escape(item.label)}</th><td>{escape(item.value)}</td></tr>" for item in check.evidence)
    more = f'<details><summary>evidence</summary><div class="scroll"><table>{rows}</table></div></details>' if rows else ""
    return f"<li>{badge(check.status)} <strong>{escape(check.name)}</strong>: {escape(check.reason)}{line}{more}</li>"


def _charts(report: Report) -> Iterator[str]:
    bounds = limits(report.machine.memory_gb)
    limit = (f"recommended on a {bounds.memory_gb} GB Mac", float(bounds.recommended))
    runs = [run for run in report.runs if run.backend != "cpu"]
    predicted = ", predicted" if any(run.backend == "emulated" for run in runs) else ""
    pictures: list[tuple[str, list[RunResult], Callable[[StepRecord], float], bool]] = [
        (f"Driver memory{predicted}", runs, lambda record: record.driver, True),
        ("Peak of live memory in the step", runs, lambda record: record.peak, True),
        ("Live memory at the end of the step", runs, lambda record: record.live, True),
    ]
    for label, shown, pick, is_bytes in pictures:
        lines = _lines(shown, pick)
        if lines and is_bytes:
            highest = max(value for line in lines for _, value in line.points)
            yield _figure(label, lines, unit_for(highest), limit)
    keys = _lines(runs, lambda record: record.new_graph_keys, adds_up=True)
    if keys:
        yield _figure(f"Compiled graphs kept by torch {report.machine.torch}", keys, Unit(), None)
    losses = _lines([run for run in report.runs if any(r.loss is not None for r in run.steps)], lambda r: -1 if r.loss is None else r.loss)
    if losses:
        yield _figure("Loss", losses, Unit(), None)


def _lines(runs: list[RunResult], pick: Callable[[StepRecord], float], *, adds_up: bool = False) -> list[Line]:
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


def _figure(label: str, lines: list[Line], unit: Unit, limit: tuple[str, float] | None) -> str:
    return f"<figure><h3>{escape(label)}</h3>{chart(lines, label, unit, limit)}{legend(lines)}</figure>"


def _compositions(report: Report) -> Iterator[str]:
    runs = [run for run in report.runs if run.composition is not None]
    if not runs:
        return
    names = list(dict.fromkeys(name for run in runs if run.composition for name in run.composition.parts))
    head = "".join(f"<th>{escape(run.name)}</th>" for run in runs)
    rows = "".join(
        f"<tr><th>{escape(name)}</th>" + "".join(f'<td class="number">{_part(run, name)}</td>' for run in runs) + "</tr>" for name in names
    )
    total = "".join(f'<td class="number"><strong>{size(run.largest_peak)}</strong></td>' for run in runs)
    yield f'<h2>What the peak is made of, with the longest samples</h2><div class="scroll"><table><tr><th></th>{head}</tr>{rows}<tr><th>peak</th>{total}</tr></table></div>'


def _part(run: RunResult, name: str) -> str:
    assert run.composition is not None
    return size(run.composition.parts.get(name, 0))


def _notes(report: Report) -> Iterator[str]:
    lines = [(run, note) for run in report.runs for note in run.notes]
    changed = list(dict.fromkeys(change for run in report.runs for change in run.changes))
    if changed:
        yield f"<h2>Changed to shorten the run</h2><ul>{''.join(f'<li>{escape(change)}</li>' for change in changed)}</ul>"
    if lines:
        items = "".join(f"<li>{escape(run.name)}, {escape(run.backend)}: {escape(note)}</li>" for run, note in lines)
        yield f"<h2>Notes</h2><ul>{items}</ul>"
