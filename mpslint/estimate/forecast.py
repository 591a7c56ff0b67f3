"""How long a run takes on each Mac, in numbers and in words: does it fit, a step, samples and tokens a second, what bounds it, and what to
change (`rules/platform/levers.yaml`)."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from mpslint.core.grouped import grouped
from mpslint.core.knowledge import platform_data
from mpslint.core.versions import Version, VersionRange
from mpslint.estimate.step import Fallback, StepWork
from mpslint.estimate.timing import LAUNCHES, ChipAndMemory, StepTime, compiling, constants, not_known, operator_seconds, step_time
from mpslint.target.macs import limits

Fits = Literal["yes", "tight", "no"]
NOT_KNOWN = "not known"
_PARTS = 3


@dataclass(frozen=True, slots=True)
class MacTime:
    """One Mac's row. Times are None where nothing is known: a run that does not fit swaps, and no model says how slowly."""

    mac: str
    memory_gb: int
    fits: Fits
    step: StepTime | None = None
    basis: str = ""
    """Where the time comes from when it isn't the model alone: measured on this machine, scaled from it."""


@dataclass(frozen=True, slots=True)
class Forecast:
    """What a step is made of, and how long it takes on each Mac."""

    rows: tuple[MacTime, ...]
    work: StepWork
    advice: tuple[str, ...] = ()
    unknown: tuple[str, ...] = field(default=())
    compiling: StepTime | None = None
    """What compiling one graph takes."""


def forecast(work: StepWork, peak: int, macs: Sequence[ChipAndMemory], versions: Mapping[str, Version]) -> Forecast:
    """Return the forecast of a run whose memory peaks at `peak` bytes."""
    rows = tuple(_row(work, peak, mac, versions) for mac in macs)
    taken = [mac for mac, row in zip(macs, rows, strict=True) if row.step is not None]
    unknown = tuple(dict.fromkeys(said for mac in macs if (said := not_known(work, mac.chip))))
    return Forecast(rows, work, tuple(advice(work, taken, versions)), unknown, compiling(versions))


def _row(work: StepWork, peak: int, mac: ChipAndMemory, versions: Mapping[str, Version]) -> MacTime:
    bounds = limits(mac.memory, versions.get("macos"))
    fits: Fits = "yes" if peak <= bounds.recommended - bounds.reserve else "tight" if peak <= bounds.recommended else "no"
    if fits == "no" or not_known(work, mac.chip):
        return MacTime(mac.title, mac.memory, fits)
    return MacTime(mac.title, mac.memory, fits, step_time(work, mac.chip, versions.get("torch")))


def advice(work: StepWork, macs: Sequence[ChipAndMemory], versions: Mapping[str, Version]) -> Iterator[str]:
    """Yield what to change, one line each; `macs` are those that the run fits. Nothing where no Mac takes it."""
    if not macs:
        return
    mac, torch, table = macs[0], versions.get("torch"), platform_data("levers")
    time = step_time(work, mac.chip, torch)
    shares = {part: seconds / time.seconds for part, seconds in time.parts.items()}
    if work.graphs_padded and work.graphs_planned >= table["padding"]["times"] * work.graphs_padded:
        each = compiling(versions)
        saved = (work.graphs_planned - work.graphs_padded) * each.seconds if each is not None else 0.0
        yield table["padding"]["say"].format(
            pad_to=work.padded_to, before=work.graphs_planned, after=work.graphs_padded, minutes=saved / 60
        )
    for one in work.fallbacks[: table["fallback"]["most"]]:
        yield _fallback(one, mac, table["fallback"]["say"])
    if shares[LAUNCHES] >= table["launches"]["share"]:
        gain = 2 * time.seconds / step_time(doubled(work), mac.chip, torch).seconds
        yield table["launches"]["say"].format(count=work.launches, share=shares[LAUNCHES], mac=mac.title, gain=gain)
    if work.waits >= 0.5 and time.seconds < table["waits"]["seconds"]:
        yield table["waits"]["say"].format(count=work.waits, milliseconds=1e3 * hidden(work, mac, time), mac=mac.title)
    attention = shares.get("attention", 0.0)
    if work.tokens and attention >= table["attention"]["share"]:
        rest = 1 - attention - shares.get("optimizer", 0.0) - shares[LAUNCHES]
        gain = 1 / (attention / 4 + rest / 2 + shares.get("optimizer", 0.0) + shares[LAUNCHES])
        yield table["attention"]["say"].format(share=attention, mac=mac.title, gain=gain)
    yield from _fused(work, mac, shares, table["optimizer"], versions)
    yield from _half(work, macs, torch, table["half"])


def _fused(
    work: StepWork, mac: ChipAndMemory, shares: Mapping[str, float], entry: Mapping[str, Any], versions: Mapping[str, Version]
) -> Iterator[str]:
    """Yield the advice of a fused optimizer, where the update is written out as many operators."""
    share = shares.get("optimizer", 0.0)
    count = sum(one.count for one in work.operators if one.part == "optimizer")
    is_adam = any(one.kind == "special" for one in work.operators if one.part == "optimizer")
    if is_adam and share >= entry["share"] and count >= entry["operators"] and VersionRange.parse(entry["versions"]).matches(versions):
        yield entry["say"].format(share=share, mac=mac.title, gain=1 / (1 - share * (1 - entry["fused"])))


def _half(work: StepWork, macs: Sequence[ChipAndMemory], torch: Version | None, entry: Mapping[str, Any]) -> Iterator[str]:
    """Yield what half precision gains, where some Mac of the list gains from it."""
    operators = tuple(
        dataclasses.replace(one, dtype="float16", moved=one.moved / 2) if one.kind in entry["kinds"] and one.dtype == "float32" else one
        for one in work.operators
    )
    if operators == work.operators:
        return
    changed = dataclasses.replace(work, operators=operators)
    gains = {mac.chip.title: step_time(work, mac.chip, torch).seconds / step_time(changed, mac.chip, torch).seconds for mac in macs}
    best, worst = max(gains, key=lambda name: gains[name]), min(gains, key=lambda name: gains[name])
    if gains[best] >= entry["gain"] and gains[worst] < entry["gain"]:
        yield entry["say"].format(most=gains[best], best=best, least=gains[worst], worst=worst)


def _fallback(one: Fallback, mac: ChipAndMemory, say: str) -> str:
    """Return the advice on an operator of the CPU: what is copied, and what that and the waits take at least."""
    model = constants()
    seconds = one.count * (2 * model.wait + one.moved / (mac.chip.bandwidth * model.share))
    return say.format(name=one.name, count=one.count, megabytes=one.count * one.moved / 1e6, milliseconds=1e3 * seconds, mac=mac.title)


def doubled(work: StepWork) -> StepWork:
    """Return the step with a batch twice as large: its operators do twice as much, the optimizer's the same."""
    operators = tuple(
        one if one.part == "optimizer" else dataclasses.replace(one, flop=2 * one.flop, moved=2 * one.moved) for one in work.operators
    )
    return dataclasses.replace(work, operators=operators)


def hidden(work: StepWork, mac: ChipAndMemory, time: StepTime) -> float:
    """Return the seconds by which launches and the GPU's work overlap when nothing waits."""
    model = constants()
    launching = work.launches * mac.chip.launch * model.launch
    busy = sum(one.count * operator_seconds(one, mac.chip, model) for one in work.operators)
    return min((1 - model.overlap) * min(busy, launching), time.seconds)


def forecast_cells(forecast: Forecast) -> list[list[str]]:
    """Return the table's head and then its rows, as text."""
    counted = {"samples/s": float(forecast.work.samples)}
    if forecast.work.tokens and any(row.step is not None for row in forecast.rows):
        counted["tokens/s"] = forecast.work.tokens
    cells = [["Mac", "fits", "a step (range)", *counted, "bound by"]]
    for row in forecast.rows:
        cells.append([row.mac, row.fits, ranged(row.step), *(rates_of(row.step, count) for count in counted.values()), bound_by(row)])
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
    each, first, whole = forecast.compiling, forecast.work.graphs_first, forecast.work.graphs_planned
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


def rates_of(step: StepTime | None, count: float) -> str:
    """Return how many of `count` a step come in a second, `7.1 to 19`, with digits that mean something; nothing where no time is known."""
    return f"{_digits(count / step.high)} to {_digits(count / step.low)}" if step is not None and count else ""


def bound_by(row: MacTime) -> str:
    """Return the largest parts of a step: `matmul 61 %, attention 22 %, memory 12 %`."""
    if row.step is None:
        return ""
    whole = sum(row.step.parts.values()) or 1.0
    parts = sorted(row.step.parts.items(), key=lambda part: -part[1])[:_PARTS]
    return ", ".join(f"{name} {value / whole:.0%}".replace("%", " %") for name, value in parts if value / whole >= 0.05)


def made_of(forecast: Forecast) -> str:
    """Return what a step is made of: samples, work, and graphs compiled."""
    work = forecast.work
    compiled = f", {work.graphs_first} graphs compiled in the first step" if work.graphs_first else ""
    planned = f", {work.graphs_planned} in the whole run" if work.graphs_planned > work.graphs_first else ""
    samples = "1 sample" if work.samples == 1 else f"{work.samples} samples"
    return (
        f"{samples}: {_digits(work.flop / 1e9)} GFLOP, {_digits(work.moved / 1e9)} GB moved, "
        f"{work.launches:.0f} operators{compiled}{planned}"
    )


def _digits(value: float) -> str:
    if value >= 99.5:
        return f"{value:,.0f}"
    return f"{value:.0f}" if value >= 9.95 else f"{value:#.2g}"
