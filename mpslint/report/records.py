"""What was found, as programs want it: one record a finding, with a path that counts from the root of the repository."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from mpslint.core.record import record
from mpslint.session.view import FileView, ShownFinding
from mpslint.source.document import Kind, Place
from mpslint.source.files import STANDARD_INPUT

if TYPE_CHECKING:
    from mpslint.rule.rule import Rule

_PROBLEM = re.compile(r"(?::(\d+))?(?::(\d+))?: (.*)", re.DOTALL)
LEVELS = ("error", "warning", "note")


@record(frozen=True)
class CheckReport:
    """One run of mpslint, as the formats get it."""

    files: Sequence[FileView]
    rules: Sequence[Rule] = ()
    """The rules that were asked, for SARIF, which explains them."""
    root: str = ""
    """The folder that paths count from, such as the root of the repository."""
    quiet: bool = False
    """One line a finding, in the format for people."""
    paths: Sequence[str] = ()
    """The files and folders that were asked for."""
    is_unfit: bool = False
    """Whether a batch is known not to fit the Mac."""


@record(frozen=True, slots=True)
class Record:
    """One finding."""

    path: str
    file: FileView
    finding: ShownFinding
    fingerprint: str

    @property
    def new_texts(self) -> list[str]:
        """The texts of its edits, as the file writes them: in a notebook inside of strings of JSON."""
        is_json = self.file.kind == Kind.NOTEBOOK.value
        return [json.dumps(edit.text, ensure_ascii=False)[1:-1] if is_json else edit.text for edit in self.finding.edits]


@record(frozen=True, slots=True)
class Notice:
    """A part of a file, or a whole file, that could not be read."""

    path: str
    place: Place
    message: str
    is_whole_file: bool


def records(report: CheckReport) -> Iterator[Record]:
    """Yield every finding, in the order of the files."""
    from mpslint.session.baseline import fingerprints

    for file in report.files:
        path = path_from(report.root, file.path)
        for finding, fingerprint in zip(file.findings, fingerprints(path, file.findings), strict=True):
            yield Record(path_from(report.root, finding.place.path) if finding.place.path else path, file, finding, fingerprint)


def notices(report: CheckReport) -> Iterator[Notice]:
    """Yield everything that could not be read, or was not judged."""
    for file in report.files:
        path = path_from(report.root, file.path)
        for place, reason in file.unread:
            yield Notice(path, place, f"not read: {reason}", False)
        for place, reason in file.unjudged:
            yield Notice(path, place, f"not judged: {reason}", False)
        if file.problem:
            yield _problem(path, file)


def _problem(path: str, file: FileView) -> Notice:
    """Return a problem, which is one line that begins with the path and often the line and column, as a Notice."""
    match = _PROBLEM.fullmatch(file.problem.removeprefix(file.path)) if file.problem.startswith(file.path) else None
    if match is None:
        return Notice(path, Place(1, 1, physical_line=1, physical_column=1), file.problem, True)
    line, column = int(match.group(1) or 1), int(match.group(2) or 1)
    return Notice(path, Place(line, column, physical_line=line, physical_column=column), match.group(3), True)


def path_from(root: str, path: str) -> str:
    """Return a path as it counts from the root, with slashes; an absolute one where it lies outside."""
    if path == STANDARD_INPUT:
        return path
    absolute = os.path.abspath(path)
    relative = os.path.relpath(absolute, root or os.getcwd())
    return Path(absolute if relative.startswith(os.pardir + os.sep) else relative).as_posix()


def cell_words(place: Place) -> str:
    """Return `cell 3, line 2` for a place in a notebook, whose lines in the file say nothing to people; '' elsewhere."""
    return place.words if place.cell is not None else ""


def advice(finding: ShownFinding) -> str:
    """Return the fix or the advice of a finding as a sentence, or ''."""
    if not finding.safety:
        return ""
    if finding.safety == "manual":
        return f"Do: {finding.fix}"
    return f"Fix ({finding.safety}{': ' + finding.reason if finding.reason else ''}): {finding.fix}"


def sentence(finding: ShownFinding) -> str:
    """Return a finding in one line: the cell where there are cells, what happens, and the fix."""
    where = cell_words(finding.place)
    return " ".join(filter(None, (f"{where[0].upper()}{where[1:]}:" if where else "", finding.message, advice(finding))))


def notice_words(notice: Notice) -> str:
    """Return what was not read in one line, with the cell where there are cells."""
    return ": ".join(filter(None, (cell_words(notice.place), notice.message)))
