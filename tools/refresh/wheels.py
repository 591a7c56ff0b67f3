"""The files inside the packages' wheels: downloaded once each, up to a limit, and read without unpacking."""

from __future__ import annotations

import re
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from packaging.version import Version

from .index import Index

_TEXT = re.compile(rb"[\x20-\x7e]{8,}")
PYTHONS = ("3.12", "3.11", "3.10", "3.9")


class LimitReached(Exception):
    """As many wheels were downloaded as the caller allows."""


@dataclass
class Wheels:
    """Wheels of an index, kept in a folder. Raises LimitReached for a wheel too many."""

    index: Index
    folder: Path
    limit: int
    """How many wheels may be downloaded in all."""
    formerly: dict[str, str] = field(default_factory=dict)
    """The name on the index under which earlier releases of a package are found."""
    downloads: int = 0
    _opened: dict[tuple[str, str], zipfile.ZipFile | None] = field(default_factory=dict)
    _printable: dict[tuple[str, str, str], bytes | None] = field(default_factory=dict)

    def text(self, package: str, version: str, path: str) -> str | None:
        """Return a text file of a release, by its path or the end of it; None where the release or the file is not there."""
        data = self.data(package, version, path)
        return None if data is None else data.decode("utf-8", "replace")

    def data(self, package: str, version: str, path: str) -> bytes | None:
        """Return the bytes of a file of a release, by its path or the end of it."""
        wheel = self._wheel(package, version)
        fitting = [name for name in self.files(package, version) if name == path or name.endswith(f"/{path}")]
        return wheel.read(min(fitting, key=len)) if wheel is not None and fitting else None

    def printable(self, package: str, version: str, path: str) -> bytes | None:
        """Return a file of a release; of a library only its texts and symbols, one a line. None where there is no such file."""
        key = (package, version, path)
        if key not in self._printable:
            data = self.data(*key)
            # Hundreds of MB: what isn't text goes at once, and what is stays for the other claims.
            self._printable[key] = b"\n".join(_TEXT.findall(data)) if data is not None and path.endswith(".dylib") else data
        return self._printable[key]

    def files(self, package: str, version: str) -> tuple[str, ...]:
        """Return the paths of a release's files; none of a release without a wheel."""
        wheel = self._wheel(package, version)
        return tuple(wheel.namelist()) if wheel is not None else ()

    def has(self, package: str, version: str) -> bool:
        """Return whether the release has a wheel."""
        return self._wheel(package, version) is not None

    def _wheel(self, package: str, version: str) -> zipfile.ZipFile | None:
        if (package, version) not in self._opened:
            path = self._path(package, version)
            self._opened[package, version] = zipfile.ZipFile(path) if path is not None else None
        return self._opened[package, version]

    def _path(self, package: str, version: str) -> Path | None:
        names = (package, *([self.formerly[package]] if package in self.formerly else []))
        for name in names:
            kept = sorted(self.folder.glob(f"{re.sub(r'[-.]+', '_', name)}-{version}-*.whl"))
            if kept:
                return kept[0]
        for name in names:
            for python in PYTHONS:
                if self.downloads >= self.limit:
                    raise LimitReached(f"{package} {version}")
                path = self.index.download(name, version, self.folder, python)
                if path is not None:
                    self.downloads += 1
                    return path
        return None


def release_of(written: str, releases: Sequence[str]) -> str | None:
    """Return the newest release that a version as written ("5.23", "2.15") stands for; None where there is none."""
    parts = Version(written).release
    fitting = [one for one in releases if (*Version(one).release, 0, 0)[: len(parts)] == parts]
    return max(fitting, key=Version) if fitting else None
