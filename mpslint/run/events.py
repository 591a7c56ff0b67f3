"""What the probe of a watched process writes, read back: one growing record of the run."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any


@dataclass(frozen=True, slots=True)
class Step:
    """One optimizer step: its number, seconds since the process started, memory in bytes (None where nothing measures), shapes so far."""

    number: int
    seconds: float
    live: int | None
    driver: int | None
    shapes: int


@dataclass(slots=True)
class Observed:
    """Everything that one process told so far."""

    device: str = ""
    has_mps: bool = False
    recommended: int | None = None
    """Bytes that Metal recommends on MPS, the memory of the GPU on CUDA, None elsewhere."""
    torch: str = ""
    dtypes: tuple[str, ...] = ()
    """Of the parameters that are trained."""
    steps: list[Step] = field(default_factory=list)
    fallbacks: list[tuple[str, str, int]] = field(default_factory=list)
    """Operators that ran on the CPU, each with the file and line that called it first."""
    not_finite: list[int] = field(default_factory=list)
    """Steps at which a gradient was found NaN or infinite; not every step is looked at."""
    error: str = ""
    """The traceback of the exception that ended the process."""
    blind: str = ""
    """Why nothing, or nothing more, is watched."""

    def take(self, event: list[Any]) -> None:
        """Add one event."""
        kind, *rest = event
        if kind == "step":
            self.steps.append(Step(*rest))
        elif kind == "begin":
            self.device, self.has_mps, self.recommended, self.torch = rest[:4]
            self.dtypes = tuple(rest[4])
        elif kind == "fallback":
            self.fallbacks.append((rest[0], rest[1], rest[2]))
        elif kind == "not finite":
            self.not_finite.append(rest[0])
        elif kind == "error":
            self.error = rest[0]
        elif kind == "blind":
            self.blind = rest[0]


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
                one = self.observed.setdefault(path.name, Observed())
                for line in lines.splitlines():
                    one.take(json.loads(line))
        return max(self.observed.values(), key=lambda one: (len(one.steps), bool(one.error), bool(one.blind)), default=Observed())
