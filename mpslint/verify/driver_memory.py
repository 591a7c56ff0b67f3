"""What a run's driver memory comes to, why, and what the Mac makes of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from mpslint.core.knowledge import platform_data
from mpslint.target.macs import MemoryLimits
from mpslint.verify.outcome import Backing, Check, Retained, RunResult, StepRecord, size
from mpslint.verify.platform import is_at_least
from mpslint.verify.spec import VerifiedMac
from mpslint.verify.trend import FLOOR, SHARE, TELLS, judge

GROWN = 1.5
"""Driver memory over live peak past which the allocator's cache is the larger part."""
FULL = 0.95
"""Share of the low watermark past which torch collects its cache at every turn: about where the Mac's memory ends."""
WEIGHS = 0.05
"""Share of driver memory from which what compiled graphs keep is named as its cause."""


def check_driver(
    trained: Sequence[StepRecord], result: RunResult, bounds: MemoryLimits, machine: VerifiedMac, horizon: int
) -> Iterator[Check]:
    predicted = "predicted " if result.backend == "emulated" else ""
    driver = [record.driver for record in trained]
    live = max(record.peak for record in trained)
    top = max(max(driver), result.driver_peak)
    growth = max(driver) - driver[min(1, len(driver) - 1)]
    on_a_mac = range_on_a_mac(result)
    numbers = (("after step 1", driver[0]), ("highest after a step", max(driver)), ("highest within a step", top))
    known = [Backing(f"{predicted}driver memory, {when}", size(count)) for when, count in numbers]
    evidence = (
        *([Backing("driver memory on a Mac", on_a_mac)] if on_a_mac else known),
        Backing("highest live memory", size(live)),
        Backing(f"recommended on a {machine.memory_gb} GB Mac", size(bounds.recommended)),
        *_by_graphs(result),
    )
    churned = growth > max(FLOOR, SHARE * live) and max(driver) > GROWN * live
    cause = (
        " because buffers of ever new sizes are cached and not joined (torch up to 2.13)" if not is_at_least(machine.torch, "2.14") else ""
    )
    first = next((record.step for record in trained if record.driver > FULL * bounds.low), None)
    within = f" (within a step {size(top)})" if size(top) != size(max(driver)) else ""  # the curve and the tables are of ends of steps
    grows = f"grows from {size(driver[0])} to" if churned else "reaches"
    grown = f"{predicted}driver memory {grows} {size(max(driver))}{within}"
    if on_a_mac:
        grown = f"{predicted}driver memory is {on_a_mac} on a Mac"
    because = (_graphs_keep(result.retained, top) or cause) if churned and not result.kept else ""
    of = f" of {horizon}" if result.settings_steps else ""
    if result.out_of_memory > 1:
        keeps = _graphs_keep(result.retained, top)
        holder = result.kept[0] if result.kept and result.kept[0].holder and not keeps else None
        keeps = f" because `{holder.holder}` keeps what `{holder.source}` at {holder.line} makes" if holder is not None else keeps
        said = f"memory runs out at step {result.out_of_memory}{of}{keeps}: {result.failure}"
        yield Check("driver memory", "fail", said, evidence, result.out_of_memory, holder.held_at if holder else result.failure_line)
    elif top > FULL * bounds.low:
        yield Check("driver memory", "fail", f"{grown}{because}: {_too_much(top, bounds, machine)}", evidence, first)
    elif top > bounds.recommended:
        said = (
            f"{grown}: more than the {size(bounds.recommended)} that Metal recommends on a {machine.memory_gb} "
            "GB Mac, so other programs may make it swap"
        )
        yield Check("driver memory", "pass", said, evidence, first)
    elif (full := _full_at(trained, FULL * bounds.low, horizon)) <= horizon:
        pace = f"at that pace a {machine.memory_gb} GB Mac is full at about step {full:,}{of}, unless no new shapes come"
        said = f"{grown}{because} in {len(driver)} steps and goes on growing: {pace}"
        yield Check("driver memory", "inconclusive", said, evidence, full)
    else:
        yield Check("driver memory", "pass", f"{grown}{because}", evidence)


def _full_at(trained: Sequence[StepRecord], limit: float, horizon: int) -> int:
    """Return the step at which driver memory comes to a limit if what it holds beside live tensors goes on growing; one past the run where
    that doesn't grow."""
    trend = judge([float(record.driver - record.live) for record in trained], horizon)
    grows = trend.kind == "growth" and len(trained) >= TELLS
    return len(trained) + int((limit - trained[-1].driver) / trend.slope) if grows else horizon + 1


def _by_graphs(result: RunResult) -> Iterator[Backing]:
    """Yield what compiled graphs keep, by operator."""
    table = platform_data("retained")["operators"]
    for one in result.retained:
        if one.size >= 2**20:
            each = f"{one.graphs} graphs keep {size(one.size)}, at most {size(one.largest)} each"
            yield Backing(f"kept: {table[one.operator]['what']}", each)


def range_on_a_mac(result: RunResult) -> str:
    """Return between what the driver memory of a small run lies on a Mac; '' for larger ones.

    One heap more or less decides there, and the driver needs some memory itself.
    """
    top = max([record.driver for record in result.trained] + [result.driver_peak])
    low, high = driver_range(top, max([record.blocks for record in result.steps], default=-1), result.backend)
    return f"between {size(low)} and {size(high)}" if low < high else ""


def driver_range(driver: int, blocks: int, backend: str) -> tuple[int, int]:
    """Return the least and the most that a Mac's driver holds where a run's holds `driver` and its live tensors lie in `blocks`."""
    table = platform_data("retained")
    if backend != "emulated" or not 0 <= driver < table["small_run"]:
        return driver, driver
    heap, beyond = platform_data("allocator")["extra_large_heap"], table["beyond"]
    return max(driver - heap, blocks, 0) + beyond, driver + heap + beyond


def driver_ranges(result: RunResult) -> list[tuple[int, int]]:
    """Return the range of each step of a run; where the whole run isn't a small one, both ends are what the model says."""
    backend = result.backend if range_on_a_mac(result) else ""
    return [driver_range(record.driver, record.blocks, backend) for record in result.steps]


def _graphs_keep(retained: Sequence[Retained], whole: int) -> str:
    """Return what the graphs of varying shapes keep, as the reason why driver memory comes to `whole`; '' where they keep little of it."""
    total = sum(other.size for other in retained)
    if not retained or total < WEIGHS * whole:
        return ""
    one = retained[0]
    what = platform_data("retained")["operators"][one.operator]["what"]
    return f" because compiled graphs keep {size(total)} ({what} for each new shape, {size(one.largest)} at most)"


def _too_much(top: int, bounds: MemoryLimits, machine: VerifiedMac) -> str:
    """Return what a Mac does when the driver holds that much."""
    if top > bounds.high:
        return f"on a {machine.memory_gb} GB Mac PyTorch raises at {size(bounds.high)}, and the Mac swaps long before"
    return f"a {machine.memory_gb} GB Mac swaps: PyTorch gives its cache back from {size(bounds.low)} on, and raises at {size(bounds.high)}"
