"""mpslint as a library: for editors, notebooks and tests.

import mpslint

for finding in mpslint.check(text, filename="train.py").findings:
    print(finding.line, finding.rule, finding.message)
fixed = mpslint.fix(text, filename="train.py").text
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from mpslint.core.record import record
from mpslint.session.view import ShownEdit as Edit
from mpslint.session.view import ShownFinding as Finding
from mpslint.session.view import shown_findings

if TYPE_CHECKING:
    from mpslint.engine import Checked
    from mpslint.session.session import Options, ToFix

__all__ = ["CheckResult", "Edit", "Finding", "FixResult", "check", "fix"]

TARGET_KEYS = ("memory", "chip")
_PATH = re.compile(r"[^\s\"'()=]+\.\w+")
"""How a path looks that was given in place of a text; no program is one dotted name."""


@record(frozen=True, slots=True)
class CheckResult:
    """What a check gives: findings in the order of a report, and what could not be parsed, one line each."""

    findings: tuple[Finding, ...]
    unread: tuple[str, ...]


@record(frozen=True, slots=True)
class FixResult:
    """What a fix gives: the new text, the findings that were fixed, and those that are left."""

    text: str
    applied: tuple[Finding, ...]
    left: tuple[Finding, ...]

    @property
    def is_changed(self) -> bool:
        """Whether anything was rewritten."""
        return bool(self.applied)


def check(
    source: str | Path,
    *,
    filename: str = "",
    target: Mapping[str, str] | None = None,
    select: Sequence[str] = (),
    ignore: Sequence[str] = (),
    severity: str = "note",
    configuration: str | Path | None = None,
) -> CheckResult:
    """Return what goes wrong with a file on a Mac: a script, or the JSON of a notebook, as text, or a Path to read. Runs nothing of it.

    `filename` says what a text is (`.py`, `.ipynb`, `.sh`, `.env`, `.yaml`); by default a script. `target` holds versions by package, and
    `memory` and `chip` (`{"torch": "2.13", "memory": "16GB"}`); else the configuration's, else the newest versions that mpslint knows.
    `select` and `ignore` name rules by id, prefix or name, `severity` the minimum to report, `configuration` a file, or a folder whose
    nearest configuration file applies; by default none does.
    Raises ReadError for a file or text that cannot be read, UsageError for a rule, a version or a configuration that does not exist.
    """
    from mpslint.engine import check as check_document

    opened = _opened(source, filename, _options(target, select, ignore, severity, configuration))
    checked = check_document(opened.document, opened.target, opened.rules)
    kept = shown_findings(opened.document, filter(opened.is_asked, checked.findings))
    return CheckResult(tuple(kept), tuple(_unread(checked)))


def fix(
    source: str | Path,
    *,
    filename: str = "",
    unsafe: bool = False,
    target: Mapping[str, str] | None = None,
    select: Sequence[str] = (),
    ignore: Sequence[str] = (),
    severity: str = "note",
    configuration: str | Path | None = None,
) -> FixResult:
    """Return a file's text rewritten so that it trains the same on a Mac; with `unsafe` also what changes the run. Writes nothing.

    Takes and raises what `check` does, and mpslint.rewrite.apply.FixError when fixes keep changing the text, which is then best left alone.
    """
    from mpslint.rewrite.apply import fix as fix_document

    opened = _opened(source, filename, _options(target, select, ignore, severity, configuration))
    fixed = fix_document(opened.document, opened.target, opened.rules, unsafe, opened.is_asked)
    applied = tuple(shown_findings(fixed.before.document, fixed.applied))
    left = tuple(shown_findings(fixed.after.document, fixed.after.findings))
    return FixResult(fixed.data.decode("utf-8", "surrogateescape"), applied, left)


def _options(
    target: Mapping[str, str] | None, select: Sequence[str], ignore: Sequence[str], severity: str, configuration: str | Path | None
) -> Options:
    """Return what the arguments ask for. Raises UsageError for a severity or a configuration that does not exist."""
    from mpslint.core.finding import Severity, UsageError
    from mpslint.session.configuration import find_configuration
    from mpslint.session.session import Options

    if severity not in [one.value for one in Severity]:
        raise UsageError(f"severity is error, warning or note, not {severity!r}")
    path = Path(configuration) if configuration is not None else None
    if path is not None and path.is_dir():
        path = find_configuration(path).path
    words = tuple(select if not isinstance(select, str) else [select]), tuple(ignore if not isinstance(ignore, str) else [ignore])
    given = Severity(severity) if severity != Severity.NOTE.value else None
    return Options(*words, given, target=dict(target or {}), config=path, isolated=path is None)


def _opened(source: str | Path, filename: str, options: Options) -> ToFix:
    """Return a text ready to be checked."""
    from mpslint.core.finding import UsageError
    from mpslint.program.unreached import read
    from mpslint.session.session import ToFix, configuration_for, read_bytes, rules_for
    from mpslint.source.files import FoundFile
    from mpslint.source.reader import kind_of
    from mpslint.target.macs import known_chip
    from mpslint.target.target import default_target, given, resolved, with_mac

    if isinstance(source, str) and _PATH.fullmatch(source) and kind_of(source) is not None:
        raise UsageError(f"{source!r} is taken as the text of a file; to read the file, pass pathlib.Path({source!r})")
    data = read_bytes(FoundFile(str(source)), options) if isinstance(source, Path) else source.encode("utf-8", "surrogateescape")
    name = filename or (str(source) if isinstance(source, Path) else "train.py")
    document, configuration = read(name, data), configuration_for(name, options)
    said = ((options.target, "given"), (configuration.target, "configuration"))
    packages = [({key: text for key, text in values.items() if key not in TARGET_KEYS}, where) for values, where in said]
    target = resolved(default_target(), [one for versions, where in packages for one in given(versions, where)], {})
    for values, _ in reversed(said):
        target = with_mac(target, values.get("memory", ""), known_chip(values.get("chip", "")))
    return ToFix(FoundFile(name), document, target, rules_for(name, configuration, options), options.severity or configuration.severity)


def _unread(checked: Checked) -> list[str]:
    lines = []
    for part in checked.unread:
        place = checked.document.place(part.span.start)
        lines.append(f"{place.words}: {part.reason}")
    return lines
