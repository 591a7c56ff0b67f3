"""mpslint as a library: for editors, notebooks and tests.

import mpslint

for finding in mpslint.check(text, filename="train.py").findings:
    print(finding.line, finding.rule, finding.message)
fixed = mpslint.fix(text, filename="train.py").text
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from mpslint.record import record

if TYPE_CHECKING:
    from mpslint.engine import Checked
    from mpslint.source.document import Document
    from mpslint.target import Target


@record(frozen=True, slots=True)
class Edit:
    """Replace the characters [start, end) of the text by others. For a notebook they count in the joined text of its cells."""

    start: int
    end: int
    text: str


@record(frozen=True, slots=True)
class Finding:
    """One thing that goes wrong on the Mac. Lines and columns start at 1; in a notebook they count within the cell."""

    rule: str
    name: str
    severity: str
    """error, warning or note."""
    message: str
    why: str
    cell: int | None
    """The number of the cell from 1, or None outside notebooks."""
    line: int
    column: int
    end_line: int
    end_column: int
    fix: str
    """What the fix writes (`fp16=False`), or what to do by hand; '' for none."""
    safety: str
    """safe, unsafe or manual; '' where there is no fix."""
    edits: tuple[Edit, ...]


@record(frozen=True, slots=True)
class CheckResult:
    """What a check gives: findings in order of place, and what could not be parsed, one line each."""

    findings: tuple[Finding, ...]
    unread: tuple[str, ...]


@record(frozen=True, slots=True)
class FixResult:
    """What a fix gives: the new text, the findings that were mended, and those that are left."""

    text: str
    applied: tuple[Finding, ...]
    left: tuple[Finding, ...]

    @property
    def is_changed(self) -> bool:
        """Whether anything was rewritten."""
        return bool(self.applied)


def check(text: str, *, filename: str = "train.py", target: Mapping[str, str] | None = None) -> CheckResult:
    """Return what is wrong with a script, or with the JSON of a notebook, on a Mac. Nothing of it is run.

    `filename` says what the text is (`.py`, `.ipynb`, `.sh`, `.env`). `target` holds versions by package, and `memory` and `chip`:
    `{"torch": "2.13", "memory": "16GB"}`; else the newest versions that mpslint knows.
    Raises mpslint.finding.ReadError for text that is not of that kind, UsageError for a target that does not exist.
    """
    from mpslint.engine import check as check_document

    document, made_for = _opened(text, filename, target)
    checked = check_document(document, made_for)
    return CheckResult(_findings(checked), tuple(_unread(checked)))


def fix(text: str, *, filename: str = "train.py", unsafe: bool = False, target: Mapping[str, str] | None = None) -> FixResult:
    """Return a script or notebook rewritten so that it trains the same on a Mac; with `unsafe` also what changes the run.

    Raises as `check` does, and mpslint.rewrite.apply.FixError when fixes do not come to rest (the text is then best left alone).
    """
    from mpslint.rewrite.apply import fix as fix_document

    document, made_for = _opened(text, filename, target)
    fixed = fix_document(document, made_for, unsafe=unsafe)
    applied = tuple(_finding(fixed.before.document, finding) for finding in fixed.applied)
    return FixResult(fixed.data.decode("utf-8", "surrogateescape"), applied, _findings(fixed.after))


def _opened(text: str, filename: str, target: Mapping[str, str] | None) -> tuple[Document, Target]:
    from mpslint.source.reader import read
    from mpslint.target import default_target, with_mac, with_versions

    given = dict(target or {})
    memory, chip = given.pop("memory", ""), given.pop("chip", "")
    made_for = with_mac(with_versions(default_target(), given, "given"), memory, chip)
    return read(filename, text.encode("utf-8", "surrogateescape")), made_for


def _unread(checked: Checked) -> list[str]:
    lines = []
    for part in checked.unread:
        place = checked.document.place(part.span.start)
        where = f"cell {place.cell}, line {place.line}" if place.cell is not None else f"line {place.line}"
        lines.append(f"{where}: {part.reason}")
    return lines


def _findings(checked: Checked) -> tuple[Finding, ...]:
    return tuple(_finding(checked.document, finding) for finding in checked.findings)


def _finding(document: Document, found: object) -> Finding:
    from mpslint.finding import Finding as Inner

    assert isinstance(found, Inner)
    start, end = document.place(found.span.start), document.place(found.span.end)
    fix = found.fix
    return Finding(
        found.rule,
        found.name,
        found.severity.value,
        found.message,
        found.why,
        start.cell,
        start.line,
        start.column,
        end.line,
        end.column,
        fix.summary if fix is not None else "",
        fix.safety.value if fix is not None else "",
        tuple(Edit(edit.span.start, edit.span.end, edit.text) for edit in fix.edits) if fix is not None else (),
    )
