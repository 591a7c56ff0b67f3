"""A cache of findings: what a file's content gave under the same rules and the same Target, it gives again.

Keyed by content, so that it works in CI and after `git checkout`; size, time and inode of the file answer first, without reading it.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import sys
from collections.abc import Callable
from dataclasses import field
from pathlib import Path
from typing import Any

from mpslint import __version__
from mpslint.folders import absolute, folder_of
from mpslint.record import record
from mpslint.source.files import STANDARD_INPUT, Found
from mpslint.view import FileView, from_data, to_data

FOLDER = ".mpslint_cache"
MOST_FILES = 50_000
"""Entries kept; the oldest go first."""


@record()
class Cache:
    """The findings of earlier runs. `key_of` gives, for a file, a digest of everything but the content that findings depend on."""

    folder: Path
    key_of: Callable[[Found], str]
    what: str = "findings"
    """What is kept of each file, if it is more than the findings: that is another cache."""
    entries: dict[str, Any] = field(default_factory=dict)
    stamps: dict[str, list[int]] = field(default_factory=dict)
    """Of files that were looked up: size, time and inode as they were then."""
    folders: dict[str, str] = field(default_factory=dict)
    """Folders as they are written -> absolute, with a separator at the end."""
    is_changed: bool = False

    @property
    def _file(self) -> Path:
        return self.folder / f"{self.what}-{__version__}-py{sys.version_info.minor}.json"

    def _absolute(self, path: str) -> str:
        """Return the absolute path of a file: what its entry is called by."""
        folder = folder_of(path)
        if folder not in self.folders:
            self.folders[folder] = os.path.join(absolute(folder), "")
        return self.folders[folder] + path[len(folder) :]

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
        try:
            path = self._absolute(found.path)
            stamp = self.stamps[path] = _stamp(found.path)
            entry = self.entries.get(path)
            if entry is None or entry["key"] != self.key_of(found):
                return None
            if entry["stamp"] != stamp:
                if entry["content"] != _digest(Path(path).read_bytes()):
                    return None
                entry["stamp"] = stamp
                self.is_changed = True
            data = entry["view"]
            return FileView(found.path, data) if isinstance(data, str) else from_data({**data, "path": found.path})
        except (OSError, LookupError, TypeError, ValueError, AttributeError):
            return None  # gone, or an entry that is none: the file is checked anew

    def store(self, found: Found, view: FileView) -> None:
        """Remember what a file gave; not of a file that could not be read, nor of one that changed since it was looked up."""
        if view.problem or found.path == STANDARD_INPUT:
            return
        path = self._absolute(found.path)
        try:
            content = _digest(Path(path).read_bytes())
            stamp = _stamp(path)
        except OSError:
            return
        self.entries.pop(path, None)
        if stamp != self.stamps.get(path):
            return
        is_empty = not (view.findings or view.unread or view.silenced or view.full)
        entry = {"key": self.key_of(found), "stamp": stamp, "content": content, "view": view.kind if is_empty else to_data(view)}
        self.entries[path] = entry
        self.is_changed = True

    def save(self) -> None:
        """Write the cache, whole or not at all; a folder that cannot be written to has none."""
        if not self.is_changed:
            return
        kept = dict(list(self.entries.items())[-MOST_FILES:])
        temporary = ""
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            if not os.path.isfile(self.folder / "CACHEDIR.TAG"):
                (self.folder / ".gitignore").write_text("*\n")
                (self.folder / "CACHEDIR.TAG").write_text("Signature: 8a477f597d28d172789f06886806bc55\n")
            import tempfile

            handle, temporary = tempfile.mkstemp(dir=self.folder)
            with os.fdopen(handle, "w", encoding="utf-8", errors="surrogatepass") as stream:
                stream.write(json.dumps(kept, separators=(",", ":")))
            os.replace(temporary, self._file)
        except OSError:
            with contextlib.suppress(OSError):
                os.unlink(temporary)


def _stamp(path: str) -> list[int]:
    stat = os.stat(path)
    return [stat.st_mtime_ns, stat.st_size, stat.st_ino]


def _digest(data: bytes) -> str:
    return hashlib.blake2b(data, digest_size=16).hexdigest()


def cache_folder(root: Path) -> Path:
    """Return where the cache of a project lies: MPSLINT_CACHE_DIR, else below the project."""
    given = os.environ.get("MPSLINT_CACHE_DIR")
    return Path(given) if given else root / FOLDER


def clean(root: Path) -> bool:
    """Remove the cache of a project; return whether there was one."""
    folder = cache_folder(root)
    if not os.path.isfile(folder / "CACHEDIR.TAG"):
        return False
    import shutil

    shutil.rmtree(folder)
    return True
