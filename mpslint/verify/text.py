"""A report as text in the terminal: what was found, the numbers before and after, and small curves."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from statistics import median

from rich.console import Console
from rich.table import Table
from rich.text import Text

from mpslint.core.grouped import grouped
from mpslint.estimate.forecast import duration, forecast
from mpslint.estimate.timing import macs_of
from mpslint.verify.driver_memory import range_on_a_mac
from mpslint.verify.outcome import Check, Estimate, Fit, RunResult, StepRecord, Verdict, peak_of, size
from mpslint.verify.reading import PREDICTED
from mpslint.verify.report import VerifyReport
from mpslint.verify.spec import VerifiedMac

INDENT = 16
BARS = "▁▂▃▄▅▆▇█"
COLOURS = {"pass": "green", "fail": "red", "inconclusive": "yellow", "not run": "dim"}


def sparkline(values: Sequence[float], width: int = 40) -> str:
    """Return a curve as one line of bars, the highest of each stretch."""
    if not values:
        return ""
    count = min(width, len(values))
    edges = [round(place * len(values) / count) for place in range(count + 1)]
    tops = [max(values[start:end]) for start, end in itertools.pairwise(edges)]
    low, high = min(0.0, *tops), max(tops)
    span = (high - low) or 1.0
    return "".join(BARS[min(len(BARS) - 1, int((top - low) / span * len(BARS)))] for top in tops)


def print_report(report: VerifyReport, console: Console) -> None:
    """Print a whole report."""
    said = answer(report) if report.runs else ""
    console.print(Text(f"{report.subject}: {said}" if said else report.subject, style="bold"), soft_wrap=True)
    if report.runs:
        _print_entry(console, "basis", "dim", Text(report.basis, style="dim"))
    _print_reading(report, console)
    if report.problem:
        console.print(Text(f"not run: {report.problem}", style="yellow"))
        for verdict in report.verdicts:
            _print_verdict(verdict, console, told=report.problem)
        return
    for verdict in report.verdicts:
        _print_verdict(verdict, console)
    if report.comparison:
        console.print(Text("rewrite", style="bold"))
        for check in report.comparison:
            _print_check(check, console)
    for one in report.reading.rewrites if report.reading is not None else ():
        _print_entry(console, "rewritten", "cyan", Text(one))
    if any(run.steps for run in report.runs):
        console.print(numbers(report))
    _print_notes(report.runs, console)
    console.print(_last_line(report))
    if report.is_planned and any(check.is_doubted for verdict in report.verdicts for check in verdict.checks):
        console.print(Text(f"To settle it, run the file's own code: mpslint verify {report.subject} --yes"))


def _last_line(report: VerifyReport) -> Text:
    """Return the verdicts in one line, and how long they took."""
    told = [(verdict.status, verdict.name) for verdict in report.verdicts]
    line = Text(", ").join(Text.assemble((status.upper(), f"bold {COLOURS[status]}"), f" {name}" if name else "") for status, name in told)
    if report.reading is not None and report.reading.rewrites:
        line.append(f"; the rewrite: mpslint fix {report.subject}{' --fit' if report.reading.fits else ''}")
    return line.append(f"  ({report.seconds:.0f} s)", style="dim")


def _print_reading(report: VerifyReport, console: Console) -> None:
    """Print which run of the file is meant, for what it is verified, and what was assumed."""
    assumed = report.reading.assumptions if report.reading is not None else ()
    rows = [("run", report.reading.run), ("for", report.reading.target)] if report.reading is not None else []
    rows += [("fits", fits)] if (fits := (report.reading.fits if report.reading is not None else "") or report.fits) else []
    rows += [("" if number else "words", line) for number, line in enumerate(report.words)]
    labels = [*rows, *(("assumed" if number == 0 else "", line) for number, line in enumerate(assumed))]
    for label, line in labels:
        _print_entry(console, label, "dim", Text(line, style="dim"))


def _print_verdict(verdict: Verdict, console: Console, told: str = "") -> None:
    head = Text(f"{verdict.name}: ", style="bold")
    head.append(verdict.status.upper(), style=f"bold {COLOURS[verdict.status]}")
    if not verdict.checks and verdict.reason not in ("", told):
        head.append(f": {verdict.reason}", style="default")
    console.print(head)
    for check in verdict.checks:
        _print_check(check, console)


def _print_check(check: Check, console: Console) -> None:
    line = Text.assemble((f"{check.name}: ", "bold"), check.reason)
    if check.line:
        line.append(f"  ({check.line})", style="cyan")
    _print_entry(console, check.status, COLOURS[check.status], line)
    for item in check.evidence:
        if item.label == "predicted by":
            _print_entry(console, "", "", Text(f"predicted by {item.value}", style="dim"))


def _print_entry(console: Console, label: str, style: str, text: Text) -> None:
    """Print a text beside its label, its lines under one another where a person reads them and as one line elsewhere."""
    lines = text.wrap(console, max(40, console.width - INDENT)) if console.is_terminal else [text]
    for number, line in enumerate(lines):
        console.print(Text.assemble((f"  {label if number == 0 else '':<{INDENT - 2}}", style), line), soft_wrap=True)


def numbers(report: VerifyReport) -> Table:
    """Return the numbers of all runs side by side."""
    runs = [run for run in report.runs if run.steps and run.backend != "cpu"] or [run for run in report.runs if run.steps]
    table = Table("", *(run.name for run in runs), show_edge=False, pad_edge=False, header_style="bold")
    computed = {run.name: run for run in report.runs if run.backend == "cpu"}
    rows = [[*_row(run, computed.get(run.name, run)), *_times(run, report.machine)] for run in runs]
    for place, name in enumerate(label for label, _ in rows[0]):
        table.add_row(name, *(row[place][1] for row in rows))
    return table


def _row(run: RunResult, computed: RunResult) -> list[tuple[str, str]]:
    """Return the numbers of one run, each with its name; its losses where they were computed."""
    trained, losses = run.trained, [record.loss for record in computed.trained if record.loss is not None]
    predicted = " (predicted)" if run.backend == "emulated" else ""
    return [
        ("optimizer steps", str(len(trained))),
        ("batch shapes", str(run.shapes or len({record.shapes for record in trained}))),
        ("peak of a step", _curve(trained, "peak")),
        ("peak, longest samples", peak_of(run)),
        (f"driver memory{predicted}", _driver(run, trained)),
        ("new compiled graphs", _curve(trained, "new_graph_keys")),
        ("loss", f"{losses[0]:.4f} → {losses[-1]:.4f}" if losses else "no values"),
        *_measured(trained),
    ]


def _measured(trained: Sequence[StepRecord]) -> list[tuple[str, str]]:
    """Return what only a run that really computes can show: the time of a step, and the memory of its process."""
    seconds = [record.seconds for record in trained if record.seconds >= 0 and record.resident >= 0]
    if not seconds:
        return []
    held = max(record.resident for record in trained)
    return [("time of a step", f"{median(seconds):.3f} s"), ("memory of the process", f"at most {size(held)}")]


def _times(run: RunResult, machine: VerifiedMac) -> list[tuple[str, str]]:
    """Return how long a step takes on the fastest and the slowest of the Macs that reports list, where the run is emulated."""
    if run.backend != "emulated":
        return []
    rows = forecast(run.work, run.largest_peak, macs_of(()), machine.versions()).rows if run.work is not None else ()
    known = sorted(((row.step, row.mac) for row in rows if row.step is not None), key=lambda one: one[0].seconds)
    ends = (f"{duration(step.low)} to {duration(step.high)} ({mac})" for step, mac in known[:1] + known[1:][-1:])
    return [("time of a step (estimated)", ", ".join(ends) or "not known")]


def _driver(run: RunResult, trained: Sequence[StepRecord]) -> str:
    """Return the curve of driver memory; of a small run, where a Mac's may lie instead of numbers that promise more."""
    on_a_mac = range_on_a_mac(run)
    return f"{on_a_mac}  {sparkline([record.driver for record in trained], 24)}" if on_a_mac else _curve(trained, "driver")


def _curve(trained: Sequence[StepRecord], name: str) -> str:
    values = [getattr(record, name) for record in trained]
    if not values or values[0] < 0:
        return "not known"
    if name == "new_graph_keys":
        return f"{values[0]} → {values[-1]}  {sparkline(values, 24)}"
    return f"{size(values[0])} → {size(values[-1])}, at most {size(max(values))}  {sparkline(values, 24)}"


def _print_notes(runs: Sequence[RunResult], console: Console) -> None:
    """Print what is to be known of how the runs were done, each thing once, before it those that it is true of."""
    told = ((run, label, lines) for run in runs for label, lines in (("note", run.notes), ("shortened", run.changes)))
    said = grouped(((label, line), f"{run.name}, {run.backend}") for run, label, lines in told for line in lines)
    for (label, line), names in said.items():
        whose = f"{' and '.join(names)}: " if len(names) < len(runs) or len(runs) == 1 else ""
        _print_entry(console, label, "dim", Text(f"{whose}{line}", style="dim"))


def print_estimate(subject: str, estimate: Estimate, fits: str, assumptions: Sequence[str], console: Console) -> None:
    """Print what a run needs at its peak and which Macs take it, and what was assumed for that."""
    console.print(Text(subject, style="bold"))
    notes = "".join(f", {note}" for note in estimate.notes)
    _print_entry(console, "peak", "dim", Text(f"{size(estimate.composition.peak)} with micro-batches of {estimate.batch}{notes}"))
    _print_entry(console, "fits", "dim", Text(fits))
    parts = sorted(estimate.composition.parts.items(), key=lambda part: -part[1])
    made_of = ", ".join(f"{name} {size(value)}" for name, value in parts)
    _print_entry(console, "made of", "dim", Text(f"{made_of} (in {estimate.composition.happens_in})"))
    for number, line in enumerate(assumptions):
        _print_entry(console, "assumed" if number == 0 else "", "dim", Text(line, style="dim"))
    table = Table("Mac", "recommended", "this run", "largest micro-batch", show_edge=False, pad_edge=False, header_style="bold")
    for fit in estimate.fits:
        status = "its tensors fit" if fit.bound in ("at most ", "not known") and fit.status != "too big" else fit.status
        table.add_row(f"{fit.memory_gb} GB", size(fit.recommended), status, fit.batches)
    console.print(table)


def fit_on(estimate: Estimate, memory_gb: int) -> Fit:
    """Return how the Mac that an estimate was made for takes it."""
    return next(fit for fit in estimate.fits if fit.memory_gb == memory_gb)


def what_fits(estimates: Sequence[Estimate], machine: VerifiedMac) -> str:
    """Return which micro-batches fit a Mac, as `plan --estimate`, `fix --fit`, `check` and `verify` say it."""
    first = estimates[0]
    largest = ", ".join(f"{fit_on(one, machine.memory_gb).batches} {one.name}" for one in estimates)
    need = f"the tensors of {first.batch} need {size(first.composition.peak)}"
    limit = f"Metal recommends at most {size(fit_on(first, machine.memory_gb).recommended)}"
    is_kept = any(fit.bound in ("at most ", "not known") for fit in first.fits)
    kept = f", buffers included that torch {machine.torch} keeps" if is_kept else ""
    return f"largest micro-batch on a {machine.memory_gb} GB Mac{kept}: {largest} ({need}, {limit})"


LONGEST = 160
"""Letters of a reason that still read as a part of a sentence."""


def answer(report: VerifyReport) -> str:
    """Return the sentence; '' for a report without verdicts."""
    runs = {run.name: run for run in reversed(report.runs)}
    parts = [f"{verdict.name} it {_became(verdict, runs, report.machine.memory_gb)}" for verdict in report.verdicts]
    return "; ".join(parts) + "." if parts else ""


def _became(verdict: Verdict, runs: Mapping[str, RunResult], memory_gb: int) -> str:
    """Return what became of one run."""
    run = runs.get(verdict.name)
    if verdict.status == "not run" or run is None:
        return f"was not run: {_short(verdict.reason)}"
    if verdict.status == "pass":
        peak = f" and needs {size(run.largest_peak)} at its peak, which fits a {memory_gb} GB Mac" if run.largest_peak > 0 else ""
        return f"trains{peak}"
    if verdict.status == "inconclusive":
        return f"can't be judged: {_named(next(check for check in verdict.checks if check.status == verdict.status))}"
    check = next(check for check in verdict.checks if check.status == "fail")
    told = next((item.value for item in check.evidence if item.label == PREDICTED), "")
    if run.out_of_memory and (check.step == run.out_of_memory or check.name == "starts"):
        where = f"runs out of memory at step {run.out_of_memory} on a {memory_gb} GB Mac"
    elif check.name == "starts":
        where = f"stops with {_short(check.reason)}"
    else:
        where = f"fails: {_named(check)}"
    place = told or check.line
    return f"{where} ({place})" if place and place not in where else where


def _named(check: Check) -> str:
    """Return the reason of a check; of live memory with what it is about."""
    return f"{'live memory ' if check.name == 'live memory' else ''}{_short(check.reason)}"


def _short(reason: str) -> str:
    """Return a reason without what explains it further, where it is long: its first sentence, or as many words as are read at once."""
    reason = reason.strip()
    for end in (". ", "; ", ": "):
        first = reason.partition(end)[0]
        if len(reason) > LONGEST >= len(first) > LONGEST // 3 and first.count("`") % 2 == 0:
            reason = first
    return reason.removesuffix(".") if len(reason) <= LONGEST else f"{reason[:LONGEST].rpartition(' ')[0].rstrip(':;,')} ..."
