"""A cache of findings: what a file's content gave under the same rules and the same Target, it gives again.

Keyed by content and by what findings depend on beside it (rules, Target, configuration, options), so that it works in CI and after
`git checkout`; size, time and inode of the file answer first, without reading it.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field
from pathlib import Path
from typing import Any

from mpslint import __version__
from mpslint.core.data import from_data, to_data
from mpslint.core.finding import ReadError, UsageError
from mpslint.core.folders import absolute, folder_of
from mpslint.core.knowledge import knowledge_digest, own_files
from mpslint.core.outside import parse_json, read_file
from mpslint.core.own_folder import OwnFolder, user_caches
from mpslint.core.record import record
from mpslint.session.configuration import OWN, Configuration
from mpslint.session.session import Options, configuration_in, ignored_in
from mpslint.session.starters import stamp_of_starters
from mpslint.session.targeting import base_target
from mpslint.session.view import FileView
from mpslint.source.files import STANDARD_INPUT, FoundFile
from mpslint.source.reader import OF_RUNS
from mpslint.target.target import Target

FOLDER = "findings"
MOST_ENTRIES = 100_000
"""Entries kept; the oldest go first. A file has one for each Target and set of options that it was checked with."""
LARGEST_CACHE = 1_000_000_000
_CACHE_FILE = re.compile(r"(?:findings|reports)-[\w.+-]+\.json")


@record()
class FindingsCache:
    """The findings of earlier runs. `key_of` gives, for a file, a digest of everything but the content that findings depend on."""

    folder: OwnFolder
    key_of: Callable[[FoundFile], str]
    what: str = "findings"
    """What is kept of each file, if it is more than the findings: that is another cache."""
    entries: dict[str, Any] = field(default_factory=dict)
    """What is known, by path and key."""
    fresh: dict[str, Any] = field(default_factory=dict)
    """Those of the entries that this process worked out."""
    stamps: dict[str, list[int]] = field(default_factory=dict)
    """Of files that were looked up: size, time and inode as they were then."""
    folders: dict[str, str] = field(default_factory=dict)
    """Folders as they are written -> absolute, with a separator at the end."""
    files: str = ""
    """A digest of the paths of all Python files of the check: which runs there are depends on them."""
    seen: dict[str, tuple[list[int], str]] = field(default_factory=dict)
    """The stamp and the content of other files that findings rest on, as they are now."""

    def note_files(self, files: Sequence[FoundFile]) -> None:
        """Note which files are checked together."""
        paths = sorted(self._absolute(found.path) for found in files if found.path.endswith(OF_RUNS))
        self.files = _digest("\n".join(paths).encode("utf-8", "surrogatepass"))

    @property
    def _file(self) -> str:
        return f"{self.what}-{__version__}-py{sys.version_info.minor}.json"

    def _absolute(self, path: str) -> str:
        """Return the absolute path of a file: what its entry is called by."""
        folder = folder_of(path)
        if folder not in self.folders:
            self.folders[folder] = os.path.join(absolute(folder), "")
        return self.folders[folder] + path[len(folder) :]

    def load(self) -> None:
        """Read the cache; one that cannot be read, or that mpslint did not write, is an empty one."""
        self.entries = self._on_disk()

    def _on_disk(self) -> dict[str, Any]:
        with contextlib.suppress(ReadError, ValueError):
            return unpacked(read_file(self.folder.path / self._file, LARGEST_CACHE)) if self.folder.is_ours() else {}
        return {}

    def lookup(self, found: FoundFile) -> FileView | None:
        """Return what a file gave before, if neither it nor what it depends on has changed."""
        if found.problem or found.path == STANDARD_INPUT:
            return None
        try:
            path = self._absolute(found.path)
            stamp = self.stamps[path] = _stamp(found.path)
            name = _name(path, self.key_of(found))
            entry = self.entries.get(name)
            if entry is None:
                return None
            if entry["stamp"] != stamp:
                if entry["content"] != _digest(read_file(path)):
                    return None
                entry["stamp"] = stamp
                self.fresh[name] = entry
            if entry["files"] != self._files_of(path) or not self._is_same(entry["around"]):
                return None
            data = entry["view"]
            if "problem" in entry:
                return FileView(found.path, problem=found.path + entry["problem"]) if found.is_named is entry["is_named"] else None
            return FileView(found.path, data) if isinstance(data, str) else from_data(FileView, {**data, "path": found.path})
        except (OSError, ReadError, UsageError, LookupError, TypeError, ValueError, AttributeError):
            return None  # gone, or an entry that is none: the file is checked anew

    def rests_on(self, found: FoundFile, others: Iterable[str]) -> bool:
        """Return whether what is known of a file rests on these other files, and on no more."""
        path = self._absolute(found.path)
        entry = self.entries[_name(path, self.key_of(found))]
        return set(entry["around"]) == {other for other in others if other != path}

    def _files_of(self, path: str) -> str:
        return self.files if path.endswith(OF_RUNS) else ""

    def _is_same(self, around: dict[str, list[Any]]) -> bool:
        """Return whether other files are as they were: by size, time and inode, else by content."""
        return all(_stamp(path) == stamp or self._now(path)[1] == content for path, (stamp, content) in around.items())

    def _now(self, path: str) -> tuple[list[int], str]:
        """Return the stamp and the content of another file, which is read once."""
        if path not in self.seen:
            self.seen[path] = _stamp(path), _digest(read_file(path))
        return self.seen[path]

    def store(self, found: FoundFile, view: FileView, around: Iterable[str] = ()) -> None:
        """Remember what a file gave; not of a file that changed since it was looked up, nor of one that could not be read.

        That a file does not parse, at a line, is what its content gave: else one such file would have all runs of a project read each time.

        `around` are the other files that its findings rest on.
        """
        place = re.match(r":\d+:", view.problem.removeprefix(found.path))
        if found.path == STANDARD_INPUT or (view.problem and (place is None or not view.problem.startswith(found.path))):
            return
        path = self._absolute(found.path)
        try:
            content, stamp = _digest(read_file(path)), _stamp(path)
            others = {other: self._now(other) for other in around if other != path}
        except (OSError, ReadError):
            return
        if stamp != self.stamps.get(path):
            return
        is_empty = not (view.findings or view.unread or view.unjudged or view.silenced or view.details or view.hidden or view.target)
        self.fresh[_name(path, self.key_of(found))] = {
            "stamp": stamp,
            "content": content,
            "files": self._files_of(path),
            "around": others,
            "view": view.kind if is_empty else to_data(view),
            **({"problem": view.problem.removeprefix(found.path), "is_named": found.is_named} if view.problem else {}),
        }

    def save(self) -> str:
        """Write the cache, whole or not at all, with what other processes wrote meanwhile; return why it cannot be written, or ''."""
        if not self.fresh:
            return ""
        older = {name: entry for name, entry in self._on_disk().items() if name not in self.fresh}
        kept = dict(list({**older, **self.fresh}.items())[-MOST_ENTRIES:])
        try:
            self.folder.write(self._file, packed(kept))
        except OSError as error:
            return f"{error.filename or self.folder.path}: {error.strerror or error}"
        return ""


def packed(entries: Mapping[str, Any]) -> bytes:
    """Return the bytes of a cache file: a digest, by which damage is seen, and the entries."""
    text = json.dumps(entries, separators=(",", ":")).encode("utf-8", "surrogatepass")
    return f"{_digest(text)}\n".encode() + text


def unpacked(data: bytes) -> dict[str, Any]:
    """Return the entries of a cache file. Raises ValueError for bytes that `packed` did not write."""
    digest, _, text = data.partition(b"\n")
    if digest.decode("ascii", "replace") != _digest(text):
        raise ValueError("damaged")
    entries: dict[str, Any] = parse_json(text)
    return entries


def _name(path: str, key: str) -> str:
    """Return what an entry is called by: a file checked with other rules or for another Target has another entry."""
    return f"{path}\0{key}"


def _stamp(path: str) -> list[int]:
    stat = os.stat(path)
    return [stat.st_mtime_ns, stat.st_size, stat.st_ino]


def _digest(data: bytes) -> str:
    return hashlib.blake2b(data, digest_size=16).hexdigest()


def cache_folder(root: Path, chosen: Path | None = None) -> OwnFolder:
    """Return where the cache of a project lies: below the chosen folder, MPSLINT_CACHE_DIR or the user's caches.

    Never in the project itself: a stranger may have committed it, with findings to be believed. Raises OSError where there is no home.
    """
    project = _digest(os.path.realpath(root).encode("utf-8", "surrogateescape"))[:16]
    return OwnFolder(chosen or user_caches(), ("mpslint", FOLDER, project))


def clean(folder: OwnFolder) -> tuple[str, ...] | None:
    """Remove a cache; return what else lies in its folder and was left, None where there is no cache."""
    return folder.remove(lambda name: _CACHE_FILE.fullmatch(name) is not None)


@record(eq=False)
class FileKeys:
    """Gives a file's key: worked out once a folder, as configuration and Target are the same for all of it."""

    options: Options
    folders: dict[str, tuple[Configuration, str]] = field(default_factory=dict)
    digests: dict[tuple[int, int], tuple[Configuration, Target, str]] = field(default_factory=dict)
    """By the ids of the configuration and the Target, which are the same objects for a whole project; and these, so that they stay."""

    def of(self, found: FoundFile) -> str:
        """Return a digest of everything but the content. Raises UsageError when the configuration is wrong."""
        folder = folder_of(found.path)
        if folder not in self.folders:
            configuration = configuration_in(folder, self.options)
            digest = self._digest(configuration, base_target(found.path))
            self.folders[folder] = configuration, f"{digest}{stamp_of_starters(absolute(folder))}"
        configuration, digest = self.folders[folder]
        names: tuple[str, ...] = ()
        if configuration.per_file_ignores or self.options.per_file_ignores:
            names = ignored_in(found.path, configuration, self.options)
        return " ".join([digest, "named" if found.is_named else "found", found.path, *names])

    def _digest(self, configuration: Configuration, target: Target) -> str:
        options, key = self.options, (id(configuration), id(target))
        if key in self.digests:
            return self.digests[key][2]
        own = [(key, str(file), _stamp(str(file))) for key, folder in configuration.own_folders() for file in own_files(folder, OWN[key])]
        parts = [
            __version__, sys.version, knowledge_digest(), repr(own),
            repr((configuration.select, configuration.ignore, configuration.severity, sorted(configuration.target.items()))),
            repr((options.select, options.extend_select, options.ignore, options.severity)),
            repr((sorted(options.target.items()), sorted(options.observed.items()))),
            repr((options.largest_batch, configuration.this_mac_only)),
            repr(target),
        ]  # fmt: skip
        digest = hashlib.blake2b("\n".join(parts).encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()
        self.digests[key] = configuration, target, digest
        return digest
