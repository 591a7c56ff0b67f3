"""A cache of findings: what a file's content gave under the same rules and the same Target, it gives again.

Keyed by content, so that it works in CI and after `git checkout`; size, time and inode of the file answer first, without reading it.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mpslint import __version__
from mpslint.source.files import STANDARD_INPUT, Found
from mpslint.view import FileView, from_data, to_data

FOLDER = ".mpslint_cache"
MOST_FILES = 50_000
"""Entries kept; the oldest go first."""


@dataclass
class Cache:
    """The findings of earlier runs. `key_of` gives, for a path, a digest of everything but the content that findings depend on."""

    folder: Path
    key_of: Callable[[str], str]
    entries: dict[str, Any] = field(default_factory=dict)
    is_changed: bool = False

    @property
    def _file(self) -> Path:
        return self.folder / f"findings-{__version__}-py{sys.version_info.minor}.json"

    def load(self) -> None:
        """Read the cache; one that cannot be read is an empty one."""
        with contextlib.suppress(OSError, ValueError):
            data = json.loads(self._file.read_bytes())
            if isinstance(data, dict):
                self.entries = data

    def lookup(self, found: Found) -> FileView | None:
        """Return what a file gave before, if neither it nor what it depends on has changed."""
        if found.problem or found.path == STANDARD_INPUT:
            return None
        entry = self.entries.get(os.path.abspath(found.path))
        try:
            stat = os.stat(found.path)
            if entry is None or entry["key"] != self.key_of(found.path):
                return None
            stamp = [stat.st_mtime_ns, stat.st_size, stat.st_ino]
            if entry["stamp"] != stamp:
                if entry["content"] != _digest(Path(found.path).read_bytes()):
                    return None
                entry["stamp"] = stamp
                self.is_changed = True
            data = entry["view"]
            return FileView(found.path) if data is None else from_data({**data, "path": found.path})
        except (OSError, KeyError, TypeError):
            return None

    def store(self, found: Found, view: FileView) -> None:
        """Remember what a file gave; a file that could not be read is not remembered."""
        if view.problem or found.path == STANDARD_INPUT:
            return
        try:
            stat = os.stat(found.path)
            content = _digest(Path(found.path).read_bytes())
        except OSError:
            return
        is_empty = not (view.findings or view.unread or view.silenced)
        self.entries[os.path.abspath(found.path)] = {
            "key": self.key_of(found.path),
            "stamp": [stat.st_mtime_ns, stat.st_size, stat.st_ino],
            "content": content,
            "view": None if is_empty else to_data(view),
        }
        self.is_changed = True

    def save(self) -> None:
        """Write the cache, whole or not at all; a folder that cannot be written to has none."""
        if not self.is_changed:
            return
        kept = dict(list(self.entries.items())[-MOST_FILES:])
        with contextlib.suppress(OSError):
            self.folder.mkdir(parents=True, exist_ok=True)
            (self.folder / ".gitignore").write_text("*\n")
            (self.folder / "CACHEDIR.TAG").write_text("Signature: 8a477f597d28d172789f06886806bc55\n")
            handle, temporary = tempfile.mkstemp(dir=self.folder)
            with os.fdopen(handle, "w", encoding="utf-8") as stream:
                json.dump(kept, stream, separators=(",", ":"))
            os.replace(temporary, self._file)


def _digest(data: bytes) -> str:
    return hashlib.blake2b(data, digest_size=16).hexdigest()


def cache_folder(root: Path) -> Path:
    """Return where the cache of a project lies: MPSLINT_CACHE_DIR, else below the project."""
    given = os.environ.get("MPSLINT_CACHE_DIR")
    return Path(given) if given else root / FOLDER


def clean(root: Path) -> bool:
    """Remove the cache of a project; return whether there was one."""
    folder = cache_folder(root)
    if not (folder / "CACHEDIR.TAG").is_file():
        return False
    shutil.rmtree(folder)
    return True
