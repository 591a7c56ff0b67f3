"""What came out of one file, as plain values: no syntax trees, no document. Reports are made of it, caches and processes pass it on."""

from __future__ import annotations

import functools
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field, replace
from typing import TYPE_CHECKING, Any

from mpslint.core.grouped import grouped
from mpslint.core.record import record
from mpslint.core.versions import Said, in_words
from mpslint.source.document import Document, Place

if TYPE_CHECKING:
    from mpslint.core.finding import Edit, Finding, Related
    from mpslint.engine import Checked
    from mpslint.session.session import FileResult
    from mpslint.target.target import Target

LONGEST_LINE = 160
"""Characters of a source line that are kept to be shown."""


@record(frozen=True, slots=True)
class ShownEdit:
    """Replace the characters [start, end) by others: of the text, or in a notebook of the source of one cell."""

    start: int
    end: int
    text: str
    place: Place
    end_place: Place
    range: tuple[int, int]
    """The same characters as they count in the joined text of all cells."""

    @property
    def cell(self) -> int | None:
        """The number of the cell from 1, or None outside notebooks."""
        return self.place.cell


@record(frozen=True, slots=True)
class ShownFinding:
    """One thing that goes wrong on the Mac, with the source around it. Lines and columns start at 1, in a notebook in the cell."""

    rule: str
    name: str
    severity: str
    """error, warning or note."""
    message: str
    why: str
    place: Place
    end: Place
    range: tuple[int, int]
    """The characters that are meant, [start, end), as they count in the joined text of all cells."""
    text: str
    """The source that is meant."""
    source: str
    """The line on which it begins; of a long one what is near."""
    mark: tuple[int, int]
    """From which column, counted from 0, and how many characters are meant on that line."""
    related: tuple[tuple[str, Place], ...]
    anchor: str
    """A digest of the lines it stands on, without their spaces: what is still the same where only lines have moved."""
    fix: str = ""
    """What the fix writes (`fp16=False`), or what to do by hand; '' for none."""
    safety: str = ""
    """safe, unsafe or manual; '' where there is no fix."""
    reason: str = ""
    """Why the fix is not safe, where it is not."""
    edits: tuple[ShownEdit, ...] = ()
    is_of_run: bool = False
    """It is about the environment, so it is said once for all files."""
    entries: tuple[tuple[str, int], ...] = ()
    """What starts the runs that it was found in: the path and the line, 0 for a whole script."""
    awaits: str = ""
    """The rule of which it goes wrong only once that is fixed; '' where it goes wrong now."""

    is_of_any_machine: bool = False
    """It goes wrong on every machine with these versions, not on a Mac alone."""

    @property
    def cell(self) -> int | None:
        """The number of the cell from 1, or None outside notebooks."""
        return self.place.cell

    @property
    def order(self) -> tuple[bool, int]:
        """What people are shown it by: what every machine gets wrong at the end, and the worst first."""
        return self.is_of_any_machine, ("error", "warning", "note").index(self.severity)

    @property
    def line(self) -> int:
        """The line on which it begins."""
        return self.place.line

    @property
    def column(self) -> int:
        """The column in which it begins."""
        return self.place.column


@record(frozen=True, slots=True)
class FileView:
    """One file: its findings, what of it was not read, or the one line that says why nothing was."""

    path: str
    kind: str = ""
    target: tuple[Said, ...] = ()
    """The Mac and the versions of the packages that the file speaks of; nothing without findings, unless one is newer than known."""
    trains: bool = False
    """Whether its own code trains a model."""
    findings: tuple[ShownFinding, ...] = ()
    unread: tuple[tuple[Place, str], ...] = ()
    unjudged: tuple[tuple[Place, str], ...] = ()
    """What of it was not judged, as it is no Python or runs on another machine."""
    silenced: int = 0
    problem: str = ""
    details: Mapping[str, Any] = field(default_factory=dict)
    """What the JSON report says of it besides: its Target and its training plans, where that was asked for."""
    hidden: tuple[str, ...] = ()
    """The severity of each finding that is not severe enough to be reported."""
    is_invalid: bool = False
    """It is a notebook with a cell that nobody can read; its other cells were checked."""


def view(result: FileResult) -> FileView:
    """Return what came out of a file as plain values."""
    checked = result.checked
    if checked is None:
        return FileView(result.path, problem=result.problem)
    document = checked.document
    return FileView(
        document.path,
        document.kind.value,
        _said(checked.target, document) if checked.findings or _is_beyond_known(checked.target, document) else (),
        any(evidence.trains for evidence in checked.evidence) if checked.findings else False,
        tuple(shown_findings(document, checked.findings)),
        tuple((document.place(part.span.start), part.reason) for part in checked.unread),
        tuple(unjudged(checked)),
        len(checked.silenced),
        hidden=tuple(finding.severity.value for finding in result.hidden),
        is_invalid=bool(document.unread),
    )


def unjudged(checked: Checked) -> Iterator[tuple[Place, str]]:
    """Yield what of a file was not judged, as it is no Python or runs on another machine: the place that tells so, and why."""
    if checked.document.language:
        start = Place(1, 1, physical_line=1, physical_column=1)
        yield start, f"its language is {checked.document.language}, and mpslint reads Python notebooks only"
    if checked.suite is not None and checked.suite.says:
        yield checked.document.place(checked.suite.span.start), checked.suite.says


def said_once(findings: Iterable[ShownFinding]) -> list[tuple[ShownFinding, tuple[ShownFinding, ...]]]:
    """Return the findings of one file for people: the first of those that say the very same, and the others."""
    groups = grouped(((one.rule, one.severity, one.message, one.safety), one) for one in findings)
    return [(first, tuple(others)) for first, *others in groups.values()]


def said_together(files: Iterable[FileView]) -> list[tuple[FileView, list[tuple[ShownFinding, tuple[ShownFinding, ...]]]]]:
    """Return what several files say for people: what the very same is said of in later files, with the same advice, is told in the first.

    The places of the others name their files, unless they are in the file of the first. Edits may differ in their spelling.
    """
    told: dict[tuple[str, ...], list[ShownFinding]] = {}
    said = []
    for file in files:
        own = []
        for first, others in said_once(file.findings):
            advice = first.fix if first.safety == "manual" else ""
            key = (first.rule, first.severity, first.message, first.safety, advice)
            if key in told:
                told[key] += [replace(one, place=replace(one.place, path=one.place.path or file.path)) for one in (first, *others)]
            else:
                told[key] = list(others)
                own.append((first, told[key]))
        said.append((file, own))
    return [(file, [(first, tuple(others)) for first, others in own]) for file, own in said]


def target_line(target: Target, document: Document) -> str:
    """Return the Target in words, with the packages that the file speaks of."""
    return in_words(_said(target, document))


def _said(target: Target, document: Document) -> tuple[Said, ...]:
    from mpslint.session.spoken import spoken_of  # what the cache answers loads none of it

    return target.said_of(spoken_of(document))


def _is_beyond_known(target: Target, document: Document) -> bool:
    """Return whether the version of a package that the file speaks of, or of the Mac's system, is none that the rules were read in."""
    from mpslint.session.spoken import spoken_of
    from mpslint.target.target import MACOS  # a Target is there, so its module is loaded; what the cache answers loads none

    return any(name in target.newer or name in target.older for name in (MACOS, *spoken_of(document)))


def shown_findings(document: Document, findings: Iterable[Finding]) -> Iterator[ShownFinding]:
    """Yield the findings of a Document as they are shown, what a Mac alone gets wrong first, and of that the worst."""
    shown = functools.lru_cache(maxsize=2)(functools.partial(_shown, document))  # a line of 10,000 findings is copied once
    digest = functools.lru_cache(maxsize=1)(functools.partial(_digest, document))
    for finding in sorted(findings, key=lambda one: one.order):
        span, fix = finding.span, finding.fix
        line = document.line_at(span.start)
        column = span.start - document.line_starts[line - 1]
        last = min(span.end - document.line_starts[line - 1], len(shown(line)))
        place, end, home = document.place(span.start), document.end_place(span), finding.home
        source, mark, text = shown(line), (column, max(1, last - column)), document.text[span.start : span.end]
        if home is not None:
            place, source, mark = place_of(home, document), home.message, (home.span.start, home.span.end - home.span.start)
            text, end = source[home.span.start : home.span.end], replace(place, column=home.span.end + 1, physical_column=home.span.end + 1)
        yield ShownFinding(
            finding.rule,
            finding.name,
            finding.severity.value,
            finding.message,
            finding.why,
            place,
            end,
            (span.start, span.end),
            text,
            *windowed(source, mark, LONGEST_LINE),
            tuple((related.message, place_of(related, document)) for related in finding.related),
            digest(line, document.line_at(max(span.start, span.end - 1))),
            fix.summary if fix is not None else "",
            fix.safety.value if fix is not None else "",
            fix.reason if fix is not None else "",
            tuple(_edit(document, edit) for edit in fix.edits) if fix is not None else (),
            finding.is_of_run,
            tuple((one.path, one.line) for one in finding.entries),
            finding.awaits,
            finding.is_of_any_machine,
        )


def _edit(document: Document, edit: Edit) -> ShownEdit:
    span = edit.span
    cell = document.cell_at(span.start)
    first = cell.span.start if cell is not None else 0
    places = document.place(span.start), document.end_place(span)
    return ShownEdit(span.start - first, span.end - first, edit.text, *places, (span.start, span.end))


def place_of(related: Related, document: Document) -> Place:
    """Return the place of what a finding of a Document rests on, which may lie in another file."""
    if not related.path:
        return document.place(related.span.start)
    path = shown_path(related.path, os.path.isabs(document.path))
    return Place(related.line, related.column, related.cell, "", related.line, related.column, path=path)


def shown_path(path: str, is_absolute: bool) -> str:
    """Return a path as the user writes others: from the current folder, or absolute."""
    inside = path.startswith(os.path.join(os.getcwd(), ""))
    return path if is_absolute or not inside else os.path.relpath(path)


def _shown(document: Document, line: int) -> str:
    return document.line_text(line).replace("\t", " ")


def _digest(document: Document, first: int, last: int) -> str:
    import hashlib

    lines = ["".join(document.line_text(line).split()) for line in range(first, last + 1)]
    return hashlib.blake2b("\n".join(lines).encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()


def windowed(line: str, mark: tuple[int, int], width: int) -> tuple[str, tuple[int, int]]:
    """Return what of a line fits into a width, with what is marked (a column and a length) in it, and the mark; `...` is the rest."""
    column, length = mark
    if len(line) <= width:
        return line, mark
    start = 0 if column + min(length, width // 2) <= width - 3 else min(column - width // 3, len(line) - width)
    shown = line[start : start + width]
    shown = shown if start + width >= len(line) else shown[:-3] + "..."
    return ("..." + shown[3:] if start else shown), (column - start, min(length, len(shown) - (column - start)))


FAILING = {"error": ("error",), "warning": ("error", "warning"), "note": ("error", "warning", "note"), "never": ()}
"""What `--fail-on` names, and the severities that then fail a check."""


def exit_code(files: Iterable[FileView], fail_on: str = "warning") -> int:
    """Return 3 when something could not be read, 1 when a finding is as severe as `fail_on` (a key of FAILING) or worse, else 0."""
    code = 0
    for file in files:
        if file.problem or file.is_invalid:
            return 3
        if any(finding.severity in FAILING[fail_on] for finding in file.findings):
            code = 1
    return code


def versions_of(target: Target) -> dict[str, dict[str, str]]:
    """Return each version of a Target and where it was read, as plain data."""
    from mpslint.core.versions import format_version

    return {name: {"version": format_version(choice.version), "source": choice.source} for name, choice in target.choices.items()}
