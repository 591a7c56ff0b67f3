"""fix(document): apply fixes until nothing is left to do, and refuse a result that is worse than what was there."""

from __future__ import annotations

import bisect
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace

from mpslint.core.finding import Edit, Finding, MpslintError, Safety, Span
from mpslint.core.record import record
from mpslint.engine import Checked, check
from mpslint.rewrite.damage import damage, touches
from mpslint.rule.loading import load_rules
from mpslint.rule.objections import advised, not_made
from mpslint.rule.rule import Rule
from mpslint.source.document import Document
from mpslint.source.reader import read
from mpslint.target.target import Target

MOST_ROUNDS = 10
Judge = Callable[[Mapping[str, Document]], Mapping[str, Checked]]
"""What files give, by path, whose Documents are these, and what other files of their runs give, which aren't changed."""


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
    """Apply every fix to a Document: the safe ones, then, on request, the unsafe ones for what is left. Return what that gave.

    `within` adds to what a check of the Document gives what the runs around it say of it.
    A fix that would break the code is not made. Raises FixError, naming the rule, when fixes keep changing the file.
    """
    path = document.path

    def judged(texts: Mapping[str, Document]) -> dict[str, Checked]:
        return {path: within(check(texts[path], target, rules, looks_ahead=False))}

    return fix_together({path: document}, judged, lambda _, finding: wanted(finding), unsafe)[path]


def fix_together(documents: Mapping[str, Document], judge: Judge, wanted: Callable[[str, Finding], bool], unsafe: bool) -> dict[str, Fixed]:
    """Apply every fix to the files of a run, as one change: no file gets worse by the fix of another. Return what that gave, by path.

    A fix that would cause an error, in whatever file, or break the code isn't made. Raises FixError as `fix` does; then no file changes.
    """
    allowed = (Safety.SAFE, Safety.UNSAFE) if unsafe else (Safety.SAFE,)
    state = before = judge(documents)
    data = {path: _bytes(document, ()) for path, document in documents.items()}
    texts, original = dict(documents), dict(data)
    applied: dict[str, list[Finding]] = {path: [] for path in documents}
    refused: dict[tuple[str, str], str] = {}
    """Why fixes are not made, by file and rule."""
    rounds = 0
    while rounds < MOST_ROUNDS:
        offered = {path: [one for one in state[path].findings if wanted(path, one) and (path, one.rule) not in refused] for path in texts}
        chosen = next(filter(None, ({p: f for p in texts if (f := _choose(offered[p], safety))} for safety in allowed)), {})
        if not chosen:
            return {
                path: Fixed(before[path], _told(state[path], path, refused), original[path], data[path], tuple(applied[path]))
                for path in texts
            }
        following, made = _made(chosen, texts, state, judge, allowed, refused)
        rounds += made is chosen  # where some are not made, there are as many rounds as rules at most
        for path, findings in made.items():
            data[path] = _bytes(texts[path], _all_edits(findings))
            texts[path] = following[path].document
            applied[path] += findings
        state = following
    names = ", ".join(sorted({finding.rule for findings in chosen.values() for finding in findings}))
    raise FixError(f"{next(iter(chosen))}: fixes of {names} keep changing the file; it is left unchanged")


def _made(
    chosen: dict[str, list[Finding]],
    texts: Mapping[str, Document],
    state: Mapping[str, Checked],
    judge: Judge,
    allowed: Sequence[Safety],
    refused: dict[tuple[str, str], str],
) -> tuple[Mapping[str, Checked], dict[str, list[Finding]]]:
    """Return what files give after fixes, and which of these: all, or, where they cause errors, rule by rule and file by file those that
    cause none."""
    changed = {
        path: read(texts[path].path, _bytes(texts[path], _all_edits(findings)), texts[path].kind) for path, findings in chosen.items()
    }
    cause = _broken(chosen, texts, changed)
    following = state if cause else judge({**texts, **changed})
    cause = cause or _caused(state, following, texts, allowed)
    if not cause:
        return following, chosen
    rules = sorted({finding.rule for findings in chosen.values() for finding in findings})
    if len(rules) == 1:
        if len(chosen) == 1 or any(one.as_one or one.leads_to for one in load_rules() if one.id == rules[0]):
            refused.update({(path, rules[0]): cause for path in chosen})
            return state, {}
        paths = list(chosen)  # the error may come from one file, of which the others know nothing
        parts = [{path: chosen[path] for path in half} for half in (paths[: len(paths) // 2], paths[len(paths) // 2 :])]
    else:
        parts = [
            {path: own for path, findings in chosen.items() if (own := [one for one in findings if one.rule == rule])} for rule in rules
        ]
    for some in parts:
        following, made = _made(some, texts, state, judge, allowed, refused)
        if made:
            return following, made  # what is left waits for the next round
    return state, {}


def _broken(chosen: Mapping[str, list[Finding]], texts: Mapping[str, Document], changed: Mapping[str, Document]) -> str:
    """Return what fixes break in the files that they change; '' for nothing."""
    found = ((path, damage(texts[path], changed[path], (edit.text for edit in _all_edits(chosen[path])))) for path in chosen)
    return next((f"{what} in {path}" for path, what in found if what), "")


def _caused(before: Mapping[str, Checked], after: Mapping[str, Checked], fixed: Collection[str], allowed: Sequence[Safety]) -> str:
    """Return the first error that is there now and was not before, apart from those that the next round fixes; '' for none.

    `fixed` are the paths of the files that are changed: what the others need nobody writes.
    """
    for path, checked in after.items():
        known = Counter(finding.rule for finding in (before[path].findings if path in before else ()))
        found = Counter(finding.rule for finding in checked.findings)
        for finding in checked.findings:
            is_fixable = path in fixed and finding.fix is not None and finding.fix.edits and finding.fix.safety in allowed
            if finding.holds_back and found[finding.rule] > known[finding.rule] and not is_fixable:
                place = checked.document.place(finding.span.start)
                return f"{finding.rule} in {place.words} of {checked.document.path}"
    return ""


def _told(checked: Checked, path: str, refused: Mapping[tuple[str, str], str]) -> Checked:
    """Return what a file gives, with the fixes that are not made as advice that says why."""
    if not any(refused.get((path, one.rule)) for one in checked.findings):
        return checked
    findings = []
    for one in checked.findings:
        cause = refused.get((path, one.rule), "")
        findings.append(replace(one, fix=advised(one.fix, not_made(cause))) if cause else one)
    return replace(checked, findings=tuple(findings))


def _edits(finding: Finding) -> tuple[Edit, ...]:
    return finding.fix.edits if finding.fix is not None else ()


def _all_edits(findings: Sequence[Finding]) -> tuple[Edit, ...]:
    """Return the edits of some findings, each once: they may share the line that names a device."""
    return tuple(dict.fromkeys(edit for finding in findings for edit in _edits(finding)))


def _choose(findings: Sequence[Finding], safety: Safety) -> list[Finding]:
    """Return the fixes that can be made together: in order of place, one that overlaps another waits for the next round."""
    chosen: list[Finding] = []
    made: set[Edit] = set()
    taken: list[Span] = []  # in order
    for finding in findings:
        edits = _edits(finding) if finding.fix is not None and finding.fix.safety is safety else ()
        own = [edit for edit in edits if edit not in made]
        if edits and not any(touches(edit.span, taken) for edit in own):
            chosen.append(finding)
            made.update(own)
            for edit in own:
                bisect.insort(taken, edit.span)
    return chosen


def _bytes(document: Document, edits: tuple[Edit, ...]) -> bytes:
    if document.write_back is None:
        raise FixError(f"{document.path}: cannot be written back")
    return document.write_back(tuple(sorted(edits, key=lambda edit: edit.span)))
