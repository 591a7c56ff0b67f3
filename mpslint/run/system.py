"""What the operating system says of a running process: its resident memory, and how much of the machine's memory is in swap."""

from __future__ import annotations

import re
import sys
from pathlib import Path

from mpslint.core.system import SYSCTL, printed_by

_UNITS = {"K": 2**10, "M": 2**20, "G": 2**30}


def resident_bytes(pid: int) -> int | None:
    """Return the resident memory of a process in bytes, or None where the system doesn't say."""
    if sys.platform == "darwin":
        said = printed_by(["/bin/ps", "-o", "rss=", "-p", str(pid)], 2)
        return int(said) * 1024 if said.isdigit() else None
    match = re.search(r"VmRSS:\s+(\d+) kB", _text(Path(f"/proc/{pid}/status")))
    return int(match[1]) * 1024 if match else None


def swap_bytes() -> int | None:
    """Return how many bytes of memory are in swap, or None where the system doesn't say."""
    if sys.platform == "darwin":
        match = re.search(r"used = ([\d.]+)([KMG])", printed_by([*SYSCTL, "vm.swapusage"], 2))
        return int(float(match[1]) * _UNITS[match[2]]) if match else None
    found = dict(re.findall(r"(SwapTotal|SwapFree):\s+(\d+) kB", _text(Path("/proc/meminfo"))))
    return (int(found["SwapTotal"]) - int(found["SwapFree"])) * 1024 if len(found) == 2 else None


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
