"""What runs the run: the versions that are installed here, and the memory that this process holds."""

from __future__ import annotations

import ctypes
import os
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

PACKAGES = ("torch", "transformers", "accelerate", "lightning")
STATM = Path("/proc/self/statm")
TASK_INFO = 4
"""PROC_PIDTASKINFO of macOS's libproc: virtual size, then resident size, then more."""


def versions() -> dict[str, str]:
    """Return the installed versions of the packages that a run rests on."""
    found = {}
    for name in PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def resident() -> int:
    """Return the bytes of memory that this process holds; -1 where the system does not say."""
    if STATM.is_file():
        return int(STATM.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    return _resident_on_macos() if sys.platform == "darwin" else -1


def _resident_on_macos() -> int:
    buffer = (ctypes.c_uint64 * 32)()
    try:
        done = ctypes.CDLL("/usr/lib/libproc.dylib").proc_pidinfo(os.getpid(), TASK_INFO, ctypes.c_uint64(0), buffer, ctypes.sizeof(buffer))
    except OSError:
        return -1
    return int(buffer[1]) if done > 0 else -1
