"""What a confined script may read of its project: files and folders themselves, never whatever a link in their place leads to.

Whoever wrote the script wrote the links beside it. A hard link is the file itself, and can't be told from it.
"""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from mpslint.core.outside import open_beneath


@dataclass(frozen=True, slots=True)
class Beside:
    """What lies in a script's own folder and may be read."""

    entries: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    """Paths without a link, each with its device and number: what takes its place later is not granted."""
    links: Mapping[str, str] = field(default_factory=dict)
    """Links of the folder that lead to one of them or below it, each with where it leads."""


def look_beside(folder: Path, project: Path) -> Beside:
    """Return what lies in a script's own folder without hidden entries (.git, .env), which may hold secrets.

    The target of a link counts where it lies in the folder or in `project`, hidden entries of these excepted.
    """
    entries: dict[str, tuple[int, int]] = {}
    links: dict[str, str] = {}
    root, around = folder.resolve(), project.resolve()
    with contextlib.suppress(OSError), os.scandir(root) as found:
        for entry in sorted((one for one in found if not one.name.startswith(".")), key=lambda one: one.name):
            target = root / entry.name if not entry.is_symlink() else Path(os.path.realpath(entry.path))
            base = root if target.is_relative_to(root) else around
            identity = _identity(base, target) if not root.is_relative_to(target) else None
            if identity is None:
                continue
            if target.parent == root or base == around:
                entries[str(target)] = identity
            if entry.is_symlink():
                links[str(root / entry.name)] = str(target)
    return Beside(entries, links)


def _identity(base: Path, target: Path) -> tuple[int, int] | None:
    """Return the device and number of a file or folder below another folder; None for what is hidden there, elsewhere, or neither."""
    inner = target.relative_to(base).parts if target.is_relative_to(base) else ()
    if not inner or any(part.startswith(".") for part in inner):
        return None
    try:
        outer = os.open(base, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            holder = open_beneath(outer, inner[:-1])
        finally:
            os.close(outer)
        try:
            about = os.stat(inner[-1], dir_fd=holder, follow_symlinks=False)
        finally:
            os.close(holder)
    except OSError:
        return None
    return (about.st_dev, about.st_ino) if stat.S_ISREG(about.st_mode) or stat.S_ISDIR(about.st_mode) else None
