"""Asks the package index through pip: which releases there are for a Mac, what each requires, and the files of one."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

NEWEST_MAC = "macosx_26_0_arm64"
METADATA_PYTHON = "3.12"
_AVAILABLE = re.compile(r"^Available versions: (.+)$", re.MULTILINE)
_NOT_FOUND = re.compile(r"No matching distribution found for ([\w.-]+)==")
BATCH = 24
"""Releases whose metadata one call of pip fetches; each of another package, as pip installs one release of each."""


@dataclass(frozen=True)
class Metadata:
    """What a release requires: of other packages, as its wheel says it, and of Python."""

    requires: tuple[str, ...]
    requires_python: str


@dataclass
class Index:
    """The index that pip is set up with, or a folder of wheels. Raises subprocess.CalledProcessError where pip itself fails to start."""

    folder: Path | None = None
    """Wheels to read in place of the index, as tests do."""
    calls: int = field(default=0)

    def releases(self, name: str, python: str = METADATA_PYTHON, platform: str = NEWEST_MAC) -> tuple[str, ...]:
        """Return the final releases of a package with a wheel for a Mac, oldest first; where none has one, those with any file."""
        wanted = ("--platform", platform, "--python-version", python, "--only-binary", ":all:")
        return self._listed(name, *wanted) or ()

    def any_releases(self, name: str) -> tuple[str, ...]:
        """Return the final releases of a package in any form, whatever Python they ask for."""
        wheels = self._listed(
            name, "--platform", NEWEST_MAC, "--python-version", METADATA_PYTHON, "--only-binary", ":all:", "--ignore-requires-python"
        )
        return wheels or self._listed(name, "--ignore-requires-python")

    def _listed(self, name: str, *arguments: str) -> tuple[str, ...]:
        run = self._pip("index", "versions", name, *arguments)
        listed = _AVAILABLE.search(run.stdout) if not run.returncode else None
        versions = [version.strip() for version in listed.group(1).split(",")] if listed is not None else []
        return tuple(reversed([version for version in versions if "+" not in version]))

    def metadata(self, wanted: Iterable[tuple[str, str]], python: str = METADATA_PYTHON) -> Iterator[tuple[str, str, Metadata]]:
        """Yield (package, release, metadata) of each release that has a wheel; a release without one is left out."""
        for batch in _batches(list(wanted)):
            while batch:
                found, missing = self._metadata_of(batch, python)
                yield from found
                left = [(name, version) for name, version in batch if _plain(name) in missing]
                batch = [] if found or not left else [pair for pair in batch if pair not in left]

    def _metadata_of(self, batch: Sequence[tuple[str, str]], python: str) -> tuple[list[tuple[str, str, Metadata]], set[str]]:
        """Return the metadata of releases; where one has no wheel, nothing but the names of the packages that pip did not find."""
        with tempfile.TemporaryDirectory() as folder:
            run = self._pip(
                "install", "--dry-run", "--no-deps", "--ignore-installed", "--ignore-requires-python", "--quiet",
                "--report", f"{folder}/report.json", "--platform", NEWEST_MAC, "--python-version", python, "--only-binary", ":all:",
                "--target", f"{folder}/target", *(f"{name}=={version}" for name, version in batch),
            )  # fmt: skip
            if run.returncode:
                return [], {_plain(name) for name in _NOT_FOUND.findall(run.stderr)}
            rows = json.loads(Path(folder, "report.json").read_text(encoding="utf-8"))["install"]
        said = {_plain(row["metadata"]["name"]): _metadata(row["metadata"]) for row in rows}
        return [(name, version, said[_plain(name)]) for name, version in batch if _plain(name) in said], set()

    def download(self, name: str, version: str, folder: Path, python: str = METADATA_PYTHON) -> Path | None:
        """Download the wheel of a release for a Mac and return its path; None where there is none."""
        run = self._pip(
            "download", "--no-deps", "--quiet", "--ignore-requires-python", "--dest", str(folder),
            "--platform", NEWEST_MAC, "--python-version", python, "--only-binary", ":all:", f"{name}=={version}",
        )  # fmt: skip
        wheels = sorted(folder.glob(f"{_plain(name).replace('-', '_')}-{version}*.whl"), key=lambda path: path.name)
        return wheels[0] if not run.returncode and wheels else None

    def _pip(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        self.calls += 1
        local = ("--no-index", "--find-links", str(self.folder)) if self.folder is not None else ()
        command = (sys.executable, "-m", "pip", "--disable-pip-version-check", *arguments, *local)
        return subprocess.run(command, capture_output=True, text=True, check=False, timeout=600)


def _metadata(row: Mapping[str, Any]) -> Metadata:
    return Metadata(tuple(row.get("requires_dist", ())), row.get("requires_python", ""))


def _plain(name: str) -> str:
    return name.lower().replace("_", "-").replace(".", "-")


def _batches(wanted: Sequence[tuple[str, str]]) -> Iterator[list[tuple[str, str]]]:
    """Yield lists of at most BATCH releases, each of another package."""
    waiting: dict[str, list[str]] = {}
    for name, version in wanted:
        waiting.setdefault(name, []).append(version)
    while waiting:
        batch = [(name, versions.pop()) for name, versions in sorted(waiting.items(), key=lambda item: -len(item[1]))[:BATCH]]
        waiting = {name: versions for name, versions in waiting.items() if versions}
        yield batch
