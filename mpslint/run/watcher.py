"""Judges a run while it goes on: status lines at a calm pace, and each warning once."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from statistics import median

from mpslint.core.knowledge import platform_data
from mpslint.estimate.forecast import duration
from mpslint.run.events import Observed, Step, Values, step_times
from mpslint.verify.trend import Trend, judge

LEAST_STEPS = 40
"""Steps before a trend is judged."""
HORIZON = 10_000
"""Growth that reaches the limit within so many steps is warned of."""
RECENT = 20
MANY_SHAPES = 100
SWAPPED = 2**30


@dataclass(slots=True)
class Watcher:
    """The state of one watched run. `say` prints one line."""

    say: Callable[[str], None]
    explain: Callable[[Observed, str], str]
    """Returns a sentence on what check finds in the script about a verdict of a memory log, or ''."""
    missed: Callable[[Observed], Iterable[str]] = lambda _: ()
    """Returns a sentence on each precision that the script asks for and the run doesn't have."""
    pause: float = 60.0
    """Seconds between status lines; the first comes after a sixth of that."""
    told: set[str] = field(default_factory=set)
    swap_at_start: int | None = None
    swap: int | None = None
    resident: int | None = None
    is_swapping: bool = False
    _next_status: float = 0.0
    _told_step: int = 0
    _judged: int = 0

    def look(self, observed: Observed, seconds: float) -> None:
        """Say what is new: `seconds` is the time since the command was started."""
        self.warn(observed)
        if self._next_status == 0.0:
            self._next_status = self.pause / 6
        if seconds >= self._next_status and observed.last_number != self._told_step:
            self._next_status, self._told_step = seconds + self.pause, observed.last_number
            self.say(self.status(observed))

    def once(self, key: str, text: str) -> None:
        """Say something that is said at most once a run."""
        if key not in self.told:
            self.told.add(key)
            self.say(text)

    def warn(self, observed: Observed) -> None:
        """Say what is to be warned of and hasn't been said."""
        if observed.blind:
            self.once("blind", f"steps aren't watched: {observed.blind}")
        if observed.device == "cpu" and observed.has_mps:
            self.once("cpu", "warning: the model is trained on the CPU although MPS is available (see mpslint check, MPS503)")
        for one in observed.fallbacks.values():
            where = f", called at {shown_path(one.file)}:{one.line}" if one.file else ""
            self.once(f"fallback {one.operator}", f"warning: {one.operator} runs on the CPU because MPS doesn't support it{where}")
            if one.calls:
                calls = f"{one.calls} calls" if one.calls > 1 else "1 call"
                self.once(f"cost {one.operator}", f"warning: {one.operator} takes {one.seconds * 1000:.1f} ms a step on the CPU ({calls})")
        if observed.not_finite is not None:
            fine = max((one.step for one in observed.values if one.step < observed.not_finite.step), default=0)
            self.once("values", f"warning: {_not_finite(observed, observed.not_finite, fine)}")
        if observed.computed and "dtypes" not in self.told:
            self.told.add("dtypes")
            for sentence in self.missed(observed):
                self.say(f"warning: {sentence}")
            if "float16" in observed.dtypes and observed.device == "mps":
                self.say("warning: the trained weights are float16 (mpslint explain MPS110)")
        last = observed.steps[-1] if observed.steps else None
        if last is not None and last.number >= 2 * MANY_SHAPES and (last.shapes or 0) >= MANY_SHAPES:
            many = f"{last.shapes} different batch shapes in {last.number} steps; MPS keeps buffers and graphs for each"
            self.once("shapes", f"warning: {many}{self.explain(observed, 'memory-driver-grows')}")
        if self.swap is not None and self.swap_at_start is not None and self.swap - self.swap_at_start > SWAPPED:
            self.is_swapping = True
            self.once("swap", f"warning: {gib(self.swap - self.swap_at_start)} went into swap since the run began")
        if observed.device == "mps" and observed.recommended and last is not None and (last.driver or 0) > observed.recommended:
            self.is_swapping = True
            more = f"{gib(last.driver or 0)} is more than the {gib(observed.recommended)} that Metal recommends"
            self.once("recommended", f"warning: driver memory of {more} (step {last.number:,}): the Mac may swap from here on")
        self._warn_of_growth(observed)

    def _warn_of_growth(self, observed: Observed) -> None:
        limit = limit_of(observed)
        if limit is None or len(observed.steps) < max(LEAST_STEPS, self._judged * 5 // 4):
            return
        self._judged = len(observed.steps)
        for name, verdict in (("live", "memory-live-grows"), ("driver", "memory-driver-grows")):
            trend = trend_of(observed, name)
            if trend is not None and trend.kind == "step":
                at, height = max(trend.jumps, key=lambda jump: jump[1])
                step = observed.steps[at].number
                what = f" ({observed.marks[step - 1]})" if step - 1 in observed.marks else ""
                self.once(f"jump {step}", f"{name} memory rose by {gib(int(height))} at step {step:,}{what} and stays there")
            if trend is None or trend.kind != "growth":
                continue
            last = observed.steps[-1]
            steps_left = max(0.0, (limit - (last.driver or 0)) / trend.slope)  # live memory is part of the driver's
            if steps_left <= (observed.planned - last.number if observed.planned else HORIZON):
                left = duration(steps_left * seconds_a_step(observed.steps))
                self.once(
                    "growth",
                    f"warning: {name} memory grows {trend.slope / 2**20:.1f} MiB a step and reaches the limit of {gib(limit)} "
                    f"at about step {last.number + steps_left:,.0f} (in {left}){self.explain(observed, verdict)}",
                )
                return

    def status(self, observed: Observed) -> str:
        """Return the state of the run in one line."""
        last = observed.steps[-1]
        pace = seconds_a_step(observed.steps)
        parts = [f"step {last.number:,}{f' of {observed.planned:,}' if observed.planned else ''}"]
        if pace:
            parts.append(f"{1 / pace:.2f} steps/s" if pace < 1 else f"{pace:.2f} s a step")
        if pace and observed.planned > last.number:
            parts.append(f"{duration((observed.planned - last.number) * pace)} left")
        if last.driver is not None and last.live is not None:
            limit = limit_of(observed)
            parts.append(f"{observed.device} {gib(last.driver)}{f' of {gib(limit)}' if limit else ''} ({gib(last.live)} live)")
            trend = trend_of(observed, "driver")
            if trend is not None and len(observed.steps) >= LEAST_STEPS:
                parts.append(f"grows {trend.slope / 2**20:.1f} MiB a step" if trend.kind == "growth" else "flat")
        if self.resident is not None:
            parts.append(f"process {gib(self.resident)}")
        if self.swap:
            parts.append(f"swap {gib(self.swap)}")
        return ", ".join(parts)

    def summary(self, observed: Observed) -> str:
        """Return what the run came to, when it has ended, in one line."""
        steps = observed.steps
        count = f"{steps[-1].number:,} steps in {steps[-1].seconds - steps[0].seconds:.0f} s" if len(steps) > 1 else "1 step"
        parts = [count, *([f"{seconds_a_step(steps):.3g} s a step"] if len(steps) > 1 else [])]
        drivers = [step.driver for step in steps if step.driver is not None]
        if drivers:
            peak = max(steps, key=lambda step: step.driver or 0)
            live = max(step.live or 0 for step in steps)
            parts.append(f"most {observed.device} memory after a step {gib(max(drivers))} (step {peak.number}), live {gib(live)}")
        else:
            parts.append(f"trained on {observed.device}; {observed.device} memory isn't measured")
        if steps[-1].shapes is not None:
            parts.append(f"{steps[-1].shapes} batch shape{'s' if steps[-1].shapes != 1 else ''}")
        if observed.fallbacks:
            parts.append(f"{len(observed.fallbacks)} operator{'s' if len(observed.fallbacks) != 1 else ''} on the CPU")
        return ", ".join(parts)


def seconds_a_step(steps: list[Step]) -> float:
    """Return the median time of the last steps; 0 for fewer than two."""
    times = step_times(steps[-RECENT - 1 :])
    return median(times) if times else 0.0


def limit_of(observed: Observed) -> int | None:
    """Return the bytes at which the allocator raises: on MPS the recommended memory times the high watermark ratio in the environment."""
    if observed.recommended is None or observed.device != "mps":
        return observed.recommended
    try:
        ratio = float(os.environ.get("PYTORCH_MPS_HIGH_WATERMARK_RATIO", ""))
    except ValueError:
        ratio = platform_data("allocator")["watermarks"]["high"]
    return int(observed.recommended * ratio) or None


def trend_of(observed: Observed, name: str) -> Trend | None:
    """Return what live or driver memory does over the steps; None where it isn't measured."""
    values = [getattr(step, name) for step in observed.steps]
    if not values or None in values:
        return None
    trend = judge([float(value) for value in values], max(1, HORIZON // observed.keeps_each))
    return replace(trend, slope=trend.slope / observed.keeps_each)


def _not_finite(observed: Observed, found: Values, fine: int) -> str:
    """Return what is NaN or infinite, and since when; `fine` is the step of the look before, 0 where there was none."""
    both = [name for name, is_fine in (("the loss", found.has_finite_loss), ("gradients", found.has_finite_gradients)) if not is_fine]
    verb = "is" if both == ["the loss"] else "are"
    since = f", and {'was' if verb == 'is' else 'were'}n't at step {fine}" if fine else ""
    halves = ", ".join(f"{count} layers" for dtype, count in observed.computed.items() if dtype == "float16")
    cause = " the trained weights are float16," if "float16" in observed.dtypes else f" {halves} compute in float16," if halves else ""
    first = f"; first in {found.wrong}, by the backward pass at {shown_path(found.file)}:{found.line}" if found.wrong and found.file else ""
    likely = f"; likely because{cause} which overflows above 65,504" if cause else ""
    return f"{' and '.join(both)} {verb} NaN or infinite at step {found.step}{since} (looked at: step 10, every 50th){first}{likely}"


def shown_path(path: str) -> str:
    """Return a path as seen from here where it lies below, else as it is."""
    relative = os.path.relpath(path) if os.path.isabs(path) else path
    return path if relative.startswith(os.pardir) else relative


def gib(size: int) -> str:
    """Return bytes as PyTorch prints them: in GiB, or in MiB when it is less than one."""
    return f"{size / 2**30:.2f} GiB" if size >= 2**30 else f"{size / 2**20:.0f} MiB"
