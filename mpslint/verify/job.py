"""What the parent asks of the child process, and what comes back, line by line of JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from mpslint.core.finding import ReadError
from mpslint.verify.spec import VerifiedMac

Device = Literal["emulated", "cpu", "real"]
Backend = Literal["emulated", "cpu", "mps", "cuda"]
Aim = Literal["run", "fit", "work"]
"""What a script is run for: how its training goes, which micro-batches fit, or the work of a step."""


STANDING = 4
"""Steps whose work is counted where that is asked for; one comes before them."""
HORIZON = 200
"""Steps up to which a run is played."""


@dataclass(frozen=True, slots=True)
class Lack:
    """What code of a project needs and doesn't find from where it was started."""

    kind: Literal["file", "module", "package", "arguments", "rows"]
    """A path, the dotted name of a module, the package of the script itself, which its relative imports need, its arguments, or batches
    with as many rows as it means."""
    name: str = ""


class LackError(ReadError):
    """The code can't be run for want of something, which may lie elsewhere in its project."""

    def __init__(self, message: str, lack: Lack) -> None:
        super().__init__(message)
        self.lack = lack


@dataclass(frozen=True, slots=True, kw_only=True)
class HowRun:
    """With what the user's own code is run, and how short."""

    arguments: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    """Variables that what starts the script sets."""
    steps: int = 20
    horizon: int = HORIZON
    """Steps up to which an emulated run is played."""
    plays: bool = True
    """Whether steps of an emulated run that follow from others are played instead of run."""
    aim: Aim = "run"
    values: float = 8.0
    """Seconds of the processor after which the CPU takes no further step for the values, once it took a few."""
    evaluation_batches: int = 4
    lacks_rows: str = ""
    """Why no batches of other sizes are tried, where that was tried before."""
    lengths: float = 1.0
    """What the lengths of drawn texts are multiplied by, where they are only assumed."""


@dataclass(frozen=True, slots=True)
class ScriptRun(HowRun):
    """The user's own code: which file, and under which device."""

    file: str
    """The copy that runs."""
    shown: str
    """How reports name it."""
    device: Device = "emulated"
    sandbox: str = ""
    """The only folder that may be written to."""
    root: str = ""
    """The copy of the project's folder; empty for the script's own."""
    folder: str = ""
    """Where relative paths begin; empty for the script's own folder."""
    imports: tuple[str, ...] = ()
    """Folders that modules are imported from beside the script's own."""
    package: str = ""
    """The package that the script is a module of."""
    start: str = ""
    """What to say of where it starts, where that isn't its own folder."""


@dataclass(frozen=True, slots=True)
class Job:
    """One piece of work for a child process: a script, or without one the calibration of this machine."""

    machine: VerifiedMac = field(default_factory=VerifiedMac)
    backend: Backend = "emulated"
    script: ScriptRun | None = None
    memory_sizes: tuple[int, ...] = ()
    """The Macs, by GB of memory, for which the largest micro-batch is looked for."""
