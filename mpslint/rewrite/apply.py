"""fix(document): apply fixes until nothing is left to do, and refuse a result that is worse than what was there."""

from __future__ import annotations

import bisect
from collections.abc import Callable, Sequence

from mpslint.core.finding import Edit, Finding, MpslintError, Safety, Span
from mpslint.core.record import record
from mpslint.engine import Checked, check
from mpslint.rule.rule import Rule, load_rules
from mpslint.source.document import Document
from mpslint.source.reader import read
from mpslint.target.target import Target

MOST_ROUNDS = 10


class FixError(MpslintError):
    """A fix went wrong: the file is left as it was, and the text names the rule."""


@record(frozen=True, eq=False)
class Fixed:
    """What fixing one Document gave: its new bytes, what was applied, and what is left."""

    before: Checked
    after: Checked
    original: bytes
    data: bytes
    applied: tuple[Finding, ...]

    @property
    def is_changed(self) -> bool:
        """Whether anything was rewritten."""
        return bool(self.applied)

    @property
    def held_back(self) -> tuple[Finding, ...]:
        """Findings whose fix is unsafe and was not asked for."""
        return tuple(f for f in self.after.findings if f.fix is not None and f.fix.safety is Safety.UNSAFE)


def fix(
    document: Document,
    target: Target,
    rules: Sequence[Rule] | None = None,
    unsafe: bool = False,
    wanted: Callable[[Finding], bool] = lambda finding: True,
    within: Callable[[Checked], Checked] = lambda checked: checked,
) -> Fixed:
    """Return a Document with everything mended that can be: safe fixes, then, on request, unsafe ones for what they leave.

    `within` adds to what a check of the Document gives what the runs around it say of it.
    Raises FixError, naming the rule, when a fix makes code that does not parse or when fixes keep changing the file.
    """
    rules = load_rules() if rules is None else rules
    allowed = (Safety.SAFE, Safety.UNSAFE) if unsafe else (Safety.SAFE,)
    before = current = within(check(document, target, rules))
    applied: list[Finding] = []
    original = data = _bytes(document, ())
    for _ in range(MOST_ROUNDS):
        chosen = next(filter(None, (_choose([f for f in current.findings if wanted(f)], safety) for safety in allowed)), [])
        if not chosen:
            return Fixed(before, current, original, data, tuple(applied))
        data = _bytes(current.document, tuple(edit for finding in chosen for edit in _edits(finding)))
        following = within(check(read(document.path, data, document.kind), target, rules))
        _refuse_damage(current, following, chosen)
        applied += chosen
        current = following
    names = ", ".join(sorted({finding.rule for finding in applied[-len(chosen) :]}))
    raise FixError(f"{document.path}: fixes of {names} keep changing the file; it is left unchanged")


def _edits(finding: Finding) -> tuple[Edit, ...]:
    return finding.fix.edits if finding.fix is not None else ()


def _choose(findings: Sequence[Finding], safety: Safety) -> list[Finding]:
    """Return the fixes that can be made together: in order of place, one that overlaps another waits for the next round."""
    chosen: list[Finding] = []
    taken: list[Span] = []  # in order
    for finding in findings:
        edits = _edits(finding) if finding.fix is not None and finding.fix.safety is safety else ()
        if edits and not any(_touches(edit.span, taken) for edit in edits):
            chosen.append(finding)
            for edit in edits:
                bisect.insort(taken, edit.span)
    return chosen


def _touches(span: Span, taken: Sequence[Span]) -> bool:
    """Return whether a span meets one of those taken, which are in order and do not overlap one another."""
    index = bisect.bisect_right(taken, span.end, key=_start)
    return index > 0 and taken[index - 1].end >= span.start


def _start(span: Span) -> int:
    return span.start


def _bytes(document: Document, edits: tuple[Edit, ...]) -> bytes:
    if document.write_back is None:
        raise FixError(f"{document.path}: cannot be written back")
    return document.write_back(tuple(sorted(edits, key=lambda edit: edit.span)))


def _refuse_damage(before: Checked, after: Checked, chosen: Sequence[Finding]) -> None:
    """Raise when fixes made something unreadable that was readable."""
    if len(after.unread) > len(before.unread):
        names = ", ".join(sorted({finding.rule for finding in chosen}))
        raise FixError(f"{before.document.path}: a fix of {names} would write code that does not parse; the file is left unchanged")
