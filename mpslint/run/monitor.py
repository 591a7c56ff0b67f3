"""Watch the memory of a real training on a Mac: live, driver and recommended bytes every few steps, as CSV,
with a warning when it grows.

trainer = Trainer(..., callbacks=[MPSMemoryCallback("memory.csv")])      # transformers, at most a few µs a step
with watch("memory.csv") as monitor:                                     # a loop of your own, or Lightning
    for batch in loader:
        ...
        monitor.step()
"""

from __future__ import annotations

import contextlib
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TextIO

HEADER = "step,seconds,live_bytes,driver_bytes,recommended_bytes\n"
WARM_UP = 10
LEAST = 20
"""Readings, after the warm-up, before a slope is judged."""

Reading = tuple[int, float, int, int, int]
Reader = Callable[[], tuple[int, int, int]]


class MemoryGrowth(UserWarning):
    """The memory of a training grows towards the limit of the machine."""


class Monitor:
    """Reads memory every `every` steps, writes it down, and warns once when its slope passes the limit within
    `horizon` steps."""

    def __init__(self, path: str | Path | None = None, every: int = 10, horizon: int = 10_000, read: Reader | None = None) -> None:
        if every < 1:
            raise ValueError(f"every must be at least 1, not {every}")
        self.path, self.every, self.horizon = Path(path) if path is not None else None, every, horizon
        self.read = read if read is not None else mps_reader()
        self.readings: list[Reading] = []
        self.count = 0
        self.has_warned = False
        self._stream: TextIO | None = None
        self._start = time.perf_counter()

    def step(self) -> None:
        """Count a step; read memory when it is due."""
        self.count += 1
        if self.read is not None and (self.count % self.every == 0 or self.count == 1):
            self.take(self.read)

    def take(self, read: Reader) -> Reading:
        """Read memory now, write it down and judge the slope."""
        live, driver, recommended = read()
        reading = (self.count, round(time.perf_counter() - self._start, 3), live, driver, recommended)
        self.readings.append(reading)
        self._write(reading)
        if not self.has_warned and len(self.readings) >= WARM_UP + LEAST and len(self.readings) % LEAST == 0:
            self._judge(recommended)
        return reading

    def close(self) -> None:
        """Take a last reading, and close the CSV."""
        if self.read is not None and self.count and (not self.readings or self.readings[-1][0] != self.count):
            self.take(self.read)
        if self._stream is not None:
            self._stream.close()
            self._stream = None

    def _write(self, reading: Reading) -> None:
        if self.path is None:
            return
        if self._stream is None:
            self._stream = self.path.open("w", encoding="utf-8")
            self._stream.write(HEADER)
        self._stream.write(",".join(map(str, reading)) + "\n")
        self._stream.flush()

    def _judge(self, recommended: int) -> None:
        from mpslint.verify.trend import judge

        for name, place in (("live", 2), ("driver", 3)):
            values = [float(reading[place]) for reading in self.readings[WARM_UP:]]
            trend = judge(values, self.horizon // self.every)
            if trend.kind == "growth" and recommended and values[-1] + trend.projected > recommended:
                left = max(recommended - values[-1], 0) / (trend.slope / self.every)
                self.has_warned = True
                warnings.warn(
                    f"{name} memory grows by {trend.slope / self.every / 2**20:.2f} MiB a step and passes the "
                    f"{recommended / 2**30:.1f} GiB that Metal recommends in about {left:.0f} steps",
                    MemoryGrowth,
                    stacklevel=4,
                )
                return


def mps_reader() -> Reader | None:
    """Return what reads torch.mps; None where there is no MPS, so that the same script runs anywhere and measures nothing there."""
    import torch

    if not torch.backends.mps.is_available():
        warnings.warn("MPS isn't available: no memory is measured, and no file is written", UserWarning, stacklevel=3)
        return None
    mps = torch.mps
    limit = int(mps.recommended_max_memory()) if hasattr(mps, "recommended_max_memory") else 0
    return lambda: (mps.current_allocated_memory(), mps.driver_allocated_memory(), limit)


@contextlib.contextmanager
def watch(path: str | Path | None = None, every: int = 10, horizon: int = 10_000) -> Iterator[Monitor]:
    """Give a monitor whose `step()` is called once a step; optimizers that step inside are counted by themselves."""
    monitor = Monitor(path, every, horizon)
    hook = _count_optimizer_steps(monitor)
    try:
        yield monitor
    finally:
        hook()
        monitor.close()


def _count_optimizer_steps(monitor: Monitor) -> Callable[[], None]:
    """Have every optimizer's step count, until the returned function is called.
    A loop that calls `step()` itself is counted once."""
    from torch.optim.optimizer import register_optimizer_step_post_hook

    original = monitor.step
    by_hand = False

    def step() -> None:
        nonlocal by_hand
        by_hand = True
        original()

    def stepped(*given: object) -> None:
        if not by_hand:
            original()

    monitor.step = step  # type: ignore[method-assign]
    handle = register_optimizer_step_post_hook(stepped)
    return handle.remove


def _callback_class() -> type[Any]:
    from transformers import TrainerCallback

    class MPSMemoryCallback(TrainerCallback):
        """A Trainer callback that writes memory every `every` optimizer steps, and warns when it grows."""

        def __init__(self, path: str | Path | None = "mps_memory.csv", every: int = 10, read: Reader | None = None) -> None:
            self.path, self.every, self.read = path, every, read
            self.monitor: Monitor | None = None

        def on_train_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
            """Start reading; the run's own number of steps is the horizon."""
            self.monitor = Monitor(self.path, self.every, max(state.max_steps, 1), self.read)

        def on_step_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
            """Count an optimizer step."""
            if self.monitor is not None:
                self.monitor.step()

        def on_train_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
            """Close the CSV."""
            if self.monitor is not None:
                self.monitor.close()

    return MPSMemoryCallback


def __getattr__(name: str) -> Any:
    """Make the callback when it is asked for, so that importing this module needs neither torch nor transformers."""
    if name != "MPSMemoryCallback":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    made = globals()[name] = _callback_class()
    return made


__all__ = ["MPSMemoryCallback", "MemoryGrowth", "Monitor", "watch"]  # noqa: F822
