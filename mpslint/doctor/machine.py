"""The machine: macOS, chip, memory, Rosetta, and whether it is a virtual Mac."""

from __future__ import annotations

import os
import platform
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from mpslint.core.system import SYSCTL, printed_by
from mpslint.core.versions import Version, parse_version

Run = Callable[[Sequence[str]], str]
"""Runs a command and returns what it printed, or nothing when it failed."""


@dataclass(frozen=True, slots=True)
class ThisMachine:
    """What is known about the machine; None where this system cannot say.

    `architecture` is that of the running Python: under Rosetta it is x86_64 on an arm64 chip. `wired_limit` is the
    GPU's share of memory in MB when somebody has set it.
    """

    system: str
    macos: Version | None
    chip: str
    architecture: str
    memory: int | None
    rosetta: bool | None
    virtual: bool | None
    wired_limit: int | None

    @property
    def is_mac(self) -> bool:
        """Return whether this is macOS."""
        return self.system == "Darwin"


def examine_machine(run: Run | None = None, system: str | None = None, architecture: str | None = None) -> ThisMachine:
    """Return the machine; the arguments stand in for this one in tests."""
    run = run or printed_by
    system = system or platform.system()
    architecture = architecture or platform.machine()
    if system != "Darwin":
        return ThisMachine(system, None, architecture, architecture, _memory(), None, None, None)
    return ThisMachine(
        system=system,
        macos=parse_version(run(["/usr/bin/sw_vers", "-productVersion"])),
        chip=_sysctl(run, "machdep.cpu.brand_string") or architecture,
        architecture=architecture,
        memory=_number(_sysctl(run, "hw.memsize")),
        rosetta=_sysctl(run, "sysctl.proc_translated") == "1",
        virtual=_sysctl(run, "kern.hv_vmm_present") == "1",
        wired_limit=_number(_sysctl(run, "iogpu.wired_limit_mb")) or None,
    )


def gpu_cores(run: Run | None = None) -> int | None:
    """Return how many cores the GPU of this Mac has, as its driver says; None where it doesn't."""
    printed = (run or printed_by)(["/usr/sbin/ioreg", "-rd1", "-c", "AGXAccelerator"])
    found = re.search(r'"gpu-core-count"\s*=\s*(\d{1,4})', printed)
    return int(found.group(1)) if found is not None else None


def _sysctl(run: Run, name: str) -> str:
    return run([*SYSCTL, name]).strip()


def _number(text: str) -> int | None:
    return int(text) if text.isdigit() else None


def _memory() -> int | None:
    """Return the memory of a system with POSIX sysconf, in bytes."""
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return None
