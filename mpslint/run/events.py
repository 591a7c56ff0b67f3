"""What the probe of a watched process writes, read back: one growing record of the run, and its steps as CSV."""

from __future__ import annotations

import itertools
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

MOST_STEPS = 50_000
"""Steps that are kept; of a longer run, every second, fourth, ... one, so that a night's record stays small."""
HEADER = "step,seconds,live_bytes,driver_bytes,recommended_bytes,phase\n"
"""`phase` is what was done between the step before and this one."""


@dataclass(frozen=True, slots=True)
class Step:
    """One optimizer step: its number, seconds since the process started, memory in bytes (None where nothing measures), and how many
    batch shapes there were so far (None where they aren't counted)."""

    number: int
    seconds: float
    live: int | None
    driver: int | None
    shapes: int | None


@dataclass(frozen=True, slots=True)
class Values:
    """What was found where values were looked at: the loss (None where there is none, or it isn't finite), and what is finite."""

    step: int
    loss: float | None
    has_finite_loss: bool
    has_finite_gradients: bool
    wrong: str = ""
    """The first weight whose gradient isn't finite."""
    file: str = ""
    line: int = 0
    """The line of the user's that made the gradients."""


@dataclass(slots=True)
class CpuOperator:
    """An operator that ran on the CPU: the file and line that called it first, and what it took in the one step that was timed."""

    operator: str
    file: str
    line: int
    calls: int = 0
    seconds: float = 0.0


@dataclass(slots=True)
class Observed:
    """Everything that one process told so far."""

    pid: int = 0
    device: str = ""
    has_mps: bool = False
    recommended: int | None = None
    """Bytes that Metal recommends on MPS, the memory of the GPU on CUDA, None elsewhere."""
    torch: str = ""
    script: str = ""
    """The file that the process runs, '' where it doesn't say."""
    planned: int = 0
    """Optimizer steps that a trainer means to take; 0 where none says."""
    dtypes: tuple[str, ...] = ()
    """Of the parameters that are trained."""
    computed: dict[str, int] = field(default_factory=dict)
    """In one step, how many layers computed in which dtype."""
    steps: list[Step] = field(default_factory=list)
    fallbacks: dict[str, CpuOperator] = field(default_factory=dict)
    values: list[Values] = field(default_factory=list)
    """Looked at in an early step and every so many."""
    marks: dict[int, str] = field(default_factory=dict)
    """What else was done after a step: evaluation, generation, checkpoint."""
    error: str = ""
    """The traceback of the exception that ended the process."""
    error_name: str = ""
    error_at: Sequence[Any] = ("", 0)
    """The file and line of the user's that raised it."""
    blind: str = ""
    """Why nothing, or nothing more, is watched."""
    keeps_each: int = 1

    def take(self, event: list[Any]) -> None:
        """Add one event."""
        kind, *rest = event
        if kind == "step":
            self._step(Step(*rest))
        elif kind == "begin":
            self.device, self.has_mps, self.recommended, self.torch = rest[:4]
            self.dtypes, self.script = tuple(rest[4]), rest[5]
        elif kind in ("planned", "computed", "blind"):
            setattr(self, kind, rest[0])
        elif kind == "fallback":
            self.fallbacks.setdefault(rest[0], CpuOperator(*rest))
        elif kind == "cost":
            self.fallbacks[rest[0]].calls, self.fallbacks[rest[0]].seconds = rest[1:]
        elif kind == "values":
            self.values.append(Values(*rest))
        elif kind == "mark":
            self.marks[rest[0]] = " + ".join(filter(None, (self.marks.get(rest[0], ""), rest[1])))
        elif kind == "error":
            self.error, self.error_name, *self.error_at = rest

    def _step(self, step: Step) -> None:
        if self.steps and self.steps[-1].number % self.keeps_each:
            self.steps.pop()  # the last one is always there, whatever its number is
        self.steps.append(step)
        if len(self.steps) > MOST_STEPS:
            self.keeps_each *= 2
            self.steps = [one for one in self.steps if one.number % self.keeps_each == 0 or one is step]

    @property
    def last_number(self) -> int:
        """The number of the last step; 0 where there is none."""
        return self.steps[-1].number if self.steps else 0

    @property
    def not_finite(self) -> Values | None:
        """The first look that found a loss or a gradient NaN or infinite."""
        return next((one for one in self.values if not (one.has_finite_loss and one.has_finite_gradients)), None)


@dataclass(slots=True)
class EventFolder:
    """The events files of a run: one a process, read on as they grow."""

    folder: Path
    observed: dict[str, Observed] = field(default_factory=dict)
    _read: dict[str, int] = field(default_factory=dict)

    def poll(self) -> Observed:
        """Read what is new in every file and return what the training process told: the one with the most steps, else with an error."""
        for path in sorted(self.folder.glob("*.jsonl")):
            with path.open("rb") as stream:
                stream.seek(self._read.get(path.name, 0))
                lines, _, _ = stream.read().rpartition(b"\n")  # a line that is still being written waits
            if lines:
                self._read[path.name] = self._read.get(path.name, 0) + len(lines) + 1
                one = self.observed.setdefault(path.name, Observed(int(path.stem)))
                for line in lines.splitlines():
                    one.take(json.loads(line))
        return max(self.observed.values(), key=lambda one: (one.last_number, bool(one.error), bool(one.blind)), default=Observed())


def step_times(steps: Sequence[Step]) -> list[float]:
    """Return the seconds that each step took from the one before it."""
    return [(later.seconds - earlier.seconds) / (later.number - earlier.number) for earlier, later in itertools.pairwise(steps)]


@dataclass(slots=True)
class StepTable:
    """A CSV file that grows with the run, so that it is whole whenever the run ends. `path` None writes nothing."""

    path: Path | None
    _written: int = field(default=0)
    """The number of the last step that is in the file."""

    def update(self, observed: Observed) -> None:
        """Append the steps that aren't in the file yet. Raises OSError when it can't be written."""
        if self.path is None or observed.last_number <= self._written:
            return
        new = [step for step in observed.steps[self._written - observed.last_number :] if step.number > self._written]
        with self.path.open("a" if self._written else "w", encoding="utf-8") as stream:
            if not self._written:
                stream.write(HEADER)
            stream.writelines(_row(observed, step) for step in new)
        self._written = new[-1].number


def memory_log(observed: Observed) -> str:
    """Return the same table as text, for a diagnosis; '' where no memory was measured."""
    rows = [step for step in observed.steps if step.driver is not None]
    return HEADER + "".join(_row(observed, step) for step in rows) if rows else ""


def _row(observed: Observed, step: Step) -> str:
    cells = (step.number, step.seconds, step.live, step.driver, observed.recommended, observed.marks.get(step.number - 1))
    return ",".join("" if cell is None else str(cell) for cell in cells) + "\n"
