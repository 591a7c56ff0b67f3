"""The time of a run on each Mac in words and cells, for a terminal and for a page."""

from __future__ import annotations

from mpslint.core.grouped import grouped
from mpslint.estimate.forecast import Forecast, MacTime
from mpslint.estimate.timing import StepTime

NOT_KNOWN = "not known"
_PARTS = 3


def forecast_cells(forecast: Forecast) -> list[list[str]]:
    """Return the table's head and then its rows, as text."""
    has_tokens = any(row.tokens_per_second for row in forecast.rows)
    cells = [["Mac", "fits", "a step (range)", "samples/s", *(["tokens/s"] if has_tokens else []), "bound by"]]
    for row in forecast.rows:
        rates = [rates_of(row, one) for one in (row.samples_per_second, *([row.tokens_per_second] if has_tokens else []))]
        cells.append([row.mac, row.fits, ranged(row.step), *rates, bound_by(row)])
    return cells


def forecast_notes(forecast: Forecast) -> list[str]:
    """Return what limits the estimate, one line each."""
    notes = ["estimated from published measurements, not run on a Mac; data loading, evaluation and saving are not in it"]
    notes += [f"{row.mac}: {row.basis}" for row in forecast.rows[:1] if row.basis]
    if any(row.basis for row in forecast.rows[1:]):
        notes.append("the other Macs are scaled from it")
    wide = grouped((", ".join(row.step.wide), row.mac) for row in forecast.rows if row.step is not None and row.step.wide)
    for why, names in wide.items():
        notes.append(f"wide range on {', '.join(names) if len(names) <= 3 else f'{len(names)} Macs'}: {why}")
    if any(row.fits == "no" for row in forecast.rows):
        notes.append("where the run does not fit, its time is not known: a Mac that swaps is many times slower")
    return [*notes, *_compiled(forecast), *forecast.unknown]


def _compiled(forecast: Forecast) -> list[str]:
    """Return what compiling graphs takes besides the steps, about."""
    each, first, whole = forecast.compiling, forecast.graphs_first, forecast.graphs_planned
    if each is None or not first:
        return []
    said = f"compiling the {first} graphs of the first step takes about {duration(first * each.low)} to {duration(first * each.high)}"
    rest = f", all {whole:,} of the run {duration(whole * each.low)} to {duration(whole * each.high)}" if whole > first else ""
    return [f"{said}{rest}: from two measured first steps"]


def ranged(time: StepTime | None) -> str:
    """Return `1.4 s (0.9 to 2.4 s)`."""
    return f"{duration(time.seconds)} ({duration(time.low)} to {duration(time.high)})" if time is not None else NOT_KNOWN


def duration(seconds: float) -> str:
    """Return seconds as `45 ms`, `1.4 s`, `12 min` or `3.1 h`, with two digits that mean something."""
    for limit, unit, size in ((0.0995, "ms", 1e-3), (99.5, "s", 1.0), (5970.0, "min", 60.0), (172800.0, "h", 3600.0)):
        if seconds < limit:
            return f"{_digits(seconds / size)} {unit}"
    return f"{_digits(seconds / 86400)} days"


def rates_of(row: MacTime, rate: float) -> str:
    """Return from where to where a rate a second lies, `7.1 to 19`, with digits that mean something; nothing where there is none."""
    slow, fast = (rate * row.step.seconds / one for one in (row.step.high, row.step.low)) if row.step is not None else (0.0, 0.0)
    return f"{_digits(slow)} to {_digits(fast)}" if slow else ""


def bound_by(row: MacTime) -> str:
    """Return the largest parts of a step: `matmul 61 %, attention 22 %, memory 12 %`."""
    if row.step is None:
        return ""
    whole = sum(row.step.parts.values()) or 1.0
    parts = sorted(row.step.parts.items(), key=lambda part: -part[1])[:_PARTS]
    return ", ".join(f"{name} {value / whole:.0%}".replace("%", " %") for name, value in parts if value / whole >= 0.05)


def made_of(forecast: Forecast) -> str:
    """Return what a step is made of: samples, work, and graphs compiled."""
    compiled = f", {forecast.graphs_first} graphs compiled in the first step" if forecast.graphs_first else ""
    planned = f", {forecast.graphs_planned} in the whole run" if forecast.graphs_planned > forecast.graphs_first else ""
    samples = "1 sample" if forecast.samples == 1 else f"{forecast.samples} samples"
    return (
        f"{samples}: {_digits(forecast.flop / 1e9)} GFLOP, {_digits(forecast.moved / 1e9)} GB moved, "
        f"{forecast.launches:.0f} operators{compiled}{planned}"
    )


def _digits(value: float) -> str:
    if value >= 99.5:
        return f"{value:,.0f}"
    return f"{value:.0f}" if value >= 9.95 else f"{value:#.2g}"
