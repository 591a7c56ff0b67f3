"""What the parent asks of the child process, and what comes back, line by line of JSON."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from mpslint.verify.spec import RunSpec, VerifiedMac

Device = Literal["emulated", "cpu", "real"]
Backend = Literal["emulated", "cpu", "mps", "cuda"]
Kind = Literal["emulate", "values", "estimate", "work", "calibrate", "script", "device"]


@dataclass(frozen=True, slots=True)
class ScriptRun:
    """How the user's own code is run: which file, under which device, and how short."""

    file: str
    """The copy that runs."""
    shown: str
    """How reports name it."""
    arguments: tuple[str, ...] = ()
    device: Device = "emulated"
    steps: int = 20
    evaluation_batches: int = 2
    sandbox: str = ""
    """The only folder that may be written to."""


@dataclass(frozen=True, slots=True)
class Job:
    """One piece of work for a child process."""

    kind: Kind
    machine: VerifiedMac = field(default_factory=VerifiedMac)
    specs: tuple[RunSpec, ...] = ()
    steps: int = 200
    backend: Backend = "emulated"
    script: ScriptRun | None = None
    memory_sizes: tuple[int, ...] = ()
