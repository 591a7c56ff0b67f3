"""What the operating system says of a running process: its resident memory, and how much of the machine's memory is in swap."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

_UNITS = {"K": 2**10, "M": 2**20, "G": 2**30}


def resident_bytes(pid: int) -> int | None:
    """Return the resident memory of a process in bytes, or None where the system doesn't say."""
    if sys.platform == "darwin":
        said = _output(["/bin/ps", "-o", "rss=", "-p", str(pid)]).strip()
        return int(said) * 1024 if said.isdigit() else None
    match = re.search(r"VmRSS:\s+(\d+) kB", _text(Path(f"/proc/{pid}/status")))
    return int(match[1]) * 1024 if match else None


def swap_bytes() -> int | None:
    """Return how many bytes of memory are in swap, or None where the system doesn't say."""
    if sys.platform == "darwin":
        match = re.search(r"used = ([\d.]+)([KMG])", _output(["/usr/sbin/sysctl", "-n", "vm.swapusage"]))
        return int(float(match[1]) * _UNITS[match[2]]) if match else None
    found = dict(re.findall(r"(SwapTotal|SwapFree):\s+(\d+) kB", _text(Path("/proc/meminfo"))))
    return (int(found["SwapTotal"]) - int(found["SwapFree"])) * 1024 if len(found) == 2 else None


def _output(command: list[str]) -> str:
    try:
        return subprocess.run(command, capture_output=True, text=True, timeout=2, check=False).stdout
    except (OSError, subprocess.SubprocessError):
        return ""


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
