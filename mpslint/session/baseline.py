"""A baseline: the findings that a project lives with for now, so that only new ones are reported.

    {"schema": 1, "findings": [{"path", "rule", "severity", "text", "fingerprint"}]}

Paths count from the folder of the baseline file. An entry is known by its fingerprint; the rest is there for people who read the file.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from mpslint.core.finding import ReadError, Severity, UsageError
from mpslint.core.outside import LARGEST_FILE, parse_json, read_text
from mpslint.core.record import record
from mpslint.session.session import Options, configuration_for, rules_for
from mpslint.session.view import FileView, ShownFinding

SCHEMA = 1


@record(frozen=True, slots=True)
class BaselineEntry:
    """One finding of a baseline."""

    path: str
    rule: str
    severity: str
    text: str
    """The line as it was."""
    fingerprint: str


@record(frozen=True, slots=True)
class Compared:
    """What a baseline holds of the findings of some files."""

    files: tuple[FileView, ...]
    """The files with those of their findings that are not in the baseline."""
    known: int
    """How many findings are in the baseline."""
    gone: tuple[BaselineEntry, ...]
    """Entries that no longer occur, though their file was checked for their rule, or is no more."""


def load_baseline(path: Path) -> tuple[BaselineEntry, ...]:
    """Return the entries of a baseline file. Raises UsageError when it cannot be read or is none."""
    try:
        data = parse_json(read_text(path, LARGEST_FILE))
        if data["schema"] != SCHEMA:
            raise UsageError(f"{path}: a baseline of another version of mpslint; write it again with --write-baseline")
        return tuple(BaselineEntry(*(str(row[name]) for name in BaselineEntry.__slots__)) for row in data["findings"])
    except ReadError as error:
        raise UsageError(f"{error}; --write-baseline writes a baseline") from None
    except (ValueError, KeyError, TypeError):
        raise UsageError(f"{path}: not a baseline; --write-baseline writes one") from None


def baseline_text(path: Path, files: Sequence[FileView]) -> str:
    """Return the text of a baseline file at `path` that holds every finding of some files."""
    entries = sorted((entry for file in files for entry, _ in _entries(path, file)), key=lambda e: (e.path, e.rule, e.text, e.fingerprint))
    rows = [{name: getattr(entry, name) for name in BaselineEntry.__slots__} for entry in entries]
    return json.dumps({"schema": SCHEMA, "findings": rows}, indent=1, ensure_ascii=False) + "\n"


def _entries(path: Path, file: FileView) -> Iterator[tuple[BaselineEntry, ShownFinding]]:
    where = _relative(path, file.path)
    for finding, fingerprint in zip(file.findings, fingerprints(where, file.findings), strict=True):
        text = finding.source.strip()
        yield BaselineEntry(where, finding.rule, finding.severity, text, fingerprint), finding


def _relative(path: Path, file: str) -> str:
    """Return a file's path from the folder of the baseline."""
    return Path(os.path.relpath(os.path.abspath(file), os.path.abspath(path.parent))).as_posix()


def compare(path: Path, entries: Sequence[BaselineEntry], files: Sequence[FileView], options: Options) -> Compared:
    """Return which findings of files the baseline at `path` does not hold, and what of it no longer occurs."""
    held = {entry.fingerprint for entry in entries}
    met: set[str] = set()
    left: list[FileView] = []
    for file in files:
        found = [(entry.fingerprint, finding) for entry, finding in _entries(path, file)]
        met.update(fingerprint for fingerprint, _ in found)
        left.append(replace(file, findings=tuple(finding for fingerprint, finding in found if fingerprint not in held)))
    checked = {_relative(path, file.path): file for file in files}
    gone = tuple(entry for entry in entries if entry.fingerprint not in met and _is_gone(path, entry, checked, options))
    known = sum(len(file.findings) for file in files) - sum(len(file.findings) for file in left)
    return Compared(tuple(left), known, gone)


def _is_gone(path: Path, entry: BaselineEntry, checked: dict[str, FileView], options: Options) -> bool:
    """Return whether an entry that was not met would have been, if it were still true."""
    file = checked.get(entry.path)
    if file is None:
        return not os.path.exists(path.parent / entry.path)
    configuration = configuration_for(file.path, options)
    threshold = options.severity or configuration.severity
    asked = {rule.id for rule in rules_for(file.path, configuration, options)}
    was_read = not (file.problem or file.unread)
    return was_read and entry.rule in asked and entry.severity in [s.value for s in Severity if s.rank <= threshold.rank]


def fingerprints(path: str, findings: Sequence[ShownFinding]) -> list[str]:
    """Return one fingerprint for each finding of a file, no two the same.

    It is made of the path, the rule and the text of the lines without their spaces, and counts where these are the same: it survives
    lines that move, cells that move and code that is indented, and changes with the lines themselves.
    """
    import hashlib

    seen: Counter[tuple[str, str]] = Counter()
    found = []
    for finding in findings:
        key = finding.rule, finding.anchor
        parts = path, *key, str(seen[key])
        seen[key] += 1
        found.append(hashlib.blake2b("\0".join(parts).encode("utf-8", "surrogatepass"), digest_size=16).hexdigest())
    return found
