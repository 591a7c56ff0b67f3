"""add_ignores(document): write the comments that silence what was found, and make sure that they do."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from mpslint.core.finding import Finding
from mpslint.core.record import record
from mpslint.engine import Checked, check
from mpslint.rewrite.apply import FixError
from mpslint.rule.rule import Rule
from mpslint.rule.suppression import ignores_for
from mpslint.source.document import Document
from mpslint.source.reader import read
from mpslint.target.target import Target


@record(frozen=True, eq=False)
class Ignored:
    """What writing comments into one Document gave."""

    document: Document
    original: bytes
    data: bytes
    silenced: tuple[Finding, ...]
    left: tuple[Finding, ...]
    """Findings that no comment can silence where they stand, such as one inside a `%%bash` cell."""


def add_ignores(document: Document, target: Target, rules: Sequence[Rule], reason: str, wanted: Callable[[Finding], bool]) -> Ignored:
    """Return a Document's bytes with a comment for each wanted finding, each of them checked to work. Raises FixError."""
    before = check(document, target, rules)
    about_comments = {rule.id for rule in rules if rule.when[0].subject == "suppression"}
    found = [finding for finding in before.findings if wanted(finding) and finding.rule not in about_comments]
    original = _written(before, (), reason)
    data = _silencing(before, found, rules, reason, about_comments) if found else original
    if data is not None:
        return Ignored(document, original, data, tuple(found), ())
    silenced: list[Finding] = []
    data = original
    for finding in found:
        if (tried := _silencing(before, [*silenced, finding], rules, reason, about_comments)) is not None:
            silenced.append(finding)
            data = tried
    return Ignored(document, original, data, tuple(silenced), tuple(finding for finding in found if finding not in silenced))


def _written(before: Checked, findings: Sequence[Finding], reason: str) -> bytes:
    document = before.document
    if document.write_back is None:
        raise FixError(f"{document.path}: cannot be written back")
    programs = [(one.text, one.parsed.body) for one in before.evidence]
    try:
        return document.write_back(sorted(ignores_for(document, programs, findings, reason), key=lambda edit: edit.span))
    except UnicodeEncodeError as error:
        raise FixError(f"{document.path}: the reason cannot be written in {error.encoding}; the file is left as it was") from None


def _silencing(before: Checked, findings: Sequence[Finding], rules: Sequence[Rule], reason: str, about_comments: set[str]) -> bytes | None:
    """Return the bytes with comments for some findings, or None when they would not silence all of them or change anything else."""
    document = before.document
    data = _written(before, findings, reason)
    after = check(read(document.path, data, document.kind), before.target, rules)
    everything = ([f for f in (*one.findings, *one.silenced) if f.rule not in about_comments] for one in (before, after))
    old, new = (sorted(found, key=lambda f: (f.span.start, f.rule)) for found in everything)
    if len(after.unread) > len(before.unread) or [finding.rule for finding in old] != [finding.rule for finding in new]:
        return None
    asked = {(finding.span, finding.rule) for finding in findings}
    silent = {(finding.span, finding.rule) for finding in after.silenced}
    done = all((now.span, now.rule) in silent for was, now in zip(old, new, strict=True) if (was.span, was.rule) in asked)
    return data if done else None
