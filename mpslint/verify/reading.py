"""What was read in a file before anything was run: the run that is meant, what check finds of it, and what fix would rewrite."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from mpslint.core.finding import Finding, Safety, Severity, UsageError
from mpslint.core.knowledge import platform_data
from mpslint.engine import Checked
from mpslint.rewrite.apply import Fixed
from mpslint.rewrite.diff import cell_diffs
from mpslint.session.view import ShownFinding, shown_findings, target_line
from mpslint.settings.evidence import gather_evidence
from mpslint.source.document import Document
from mpslint.verify.from_plan import NeedsCodeError, TrainingRun
from mpslint.verify.outcome import Backing, Check

PREFERRED = ("trainer", "loop", "arguments", "accelerator")
"""Kinds of plans, the likeliest to be the run that is meant first."""
MOST_CHECKS = 5
PREDICTED = "predicted by"
RAISES = "starts"
"""The check that fails by an exception, which a warning doesn't predict."""


@dataclass(frozen=True, slots=True)
class FileReading:
    """What a file says: which run of it was taken, for which Mac and versions, what was assumed, found and rewritten."""

    run: str
    target: str
    assumptions: tuple[str, ...] = ()
    findings: tuple[ShownFinding, ...] = ()
    rewrites: tuple[str, ...] = ()
    """What is rewritten, and by which rule."""
    left: tuple[ShownFinding, ...] = ()
    """What is still found in the rewrite."""
    diff: tuple[tuple[str, tuple[str, ...]], ...] = ()
    """For each cell or file that changes: its name, and the lines of the diff."""
    fits: str = ""
    """Which micro-batches fit the Mac, where that was worked out before: the rewrite has the largest of them."""


def runs_of(checked: Checked) -> list[TrainingRun]:
    """Return the training runs of a checked file, in the order in which `mpslint plan` numbers them."""
    document = checked.document
    within = [one for one in checked.evidence if one.document.parts and any(plan.kind != "file" for plan in one.plans)]
    if within:  # what the runs say that the file starts
        return [TrainingRun(plan, one) for one in within for plan in one.plans if plan.kind != "file"]
    evidence = [gather_evidence(document, text, checked.target) for text in (document.python, *document.scripts)]
    return [TrainingRun(plan, one) for one in evidence for plan in one.plans if plan.kind != "file"]


def choose(runs: Sequence[TrainingRun], number: int | None, path: str) -> int:
    """Return the index of the run that is meant: the one numbered, else the first Trainer or loop.

    Raises NeedsCodeError when a file has none, UsageError when it has fewer than `number`.
    """
    if not runs:
        raise NeedsCodeError(f"{path}: no training run that mpslint can read")
    if number is not None:
        if number > len(runs):
            raise UsageError(f"{path}: has {len(runs)} training run{'s' if len(runs) > 1 else ''}, so there is no --plan {number}")
        return number - 1
    ranked = [PREFERRED.index(run.plan.kind) if run.plan.kind in PREFERRED else len(PREFERRED) for run in runs]
    return ranked.index(min(ranked))


def reading_of(fixed: Fixed, runs: Sequence[TrainingRun], index: int, assumptions: Iterable[str], fits: str = "") -> FileReading:
    """Return what a file says, as a report shows it; of a file without a run that can be read, too."""
    document = fixed.before.document
    others = sum(run.plan.kind in PREFERRED[:2] for run in runs) > 1  # an Accelerator and arguments are parts of a run
    count = f"; run {index + 1} of {len(runs)} (--plan N takes another)" if others else ""
    return FileReading(
        f"{runs[index].title}{count}" if runs else "its own code",
        target_line(fixed.before.target, document),
        tuple(dict.fromkeys(assumptions)),
        tuple(findings_in(document, fixed.before.findings)),
        tuple(dict.fromkeys(f"{one.rule} {one.name}: {one.fix.summary if one.fix is not None else ''}" for one in fixed.applied)),
        tuple(findings_in(fixed.after.document, fixed.after.findings)),
        tuple((name, tuple(lines)) for name, lines in cell_diffs(fixed.before, fixed.after)),
        fits,
    )


def findings_in(document: Document, findings: Iterable[Finding]) -> Iterator[ShownFinding]:
    """Yield findings as a report shows them: those of a run of several files each with the file."""
    for shown in shown_findings(document, findings):
        path = shown.place.path or (document.path if document.parts else "")
        yield replace(shown, place=replace(shown.place, path=path))


def remedy(finding: ShownFinding) -> str:
    """Return the fix of a finding as a sentence; '' where there is none."""
    if not finding.safety:
        return ""
    how = "By hand" if finding.safety == Safety.MANUAL.value else f"Fix ({finding.safety})"
    return f"{how}: {finding.fix.removesuffix('.')}."


def with_findings(checks: Sequence[Check], findings: Sequence[ShownFinding]) -> list[Check]:
    """Return checks with the findings that predicted those that fail, or would, and one more for each error that no run shows."""
    named = predicted(checks, findings)
    told = {item.value.partition(" ")[0] for check in named for item in check.evidence if item.label == PREDICTED}
    errors = [one for one in findings if one.severity == Severity.ERROR.value and one.rule not in told]
    for one in errors[:MOST_CHECKS]:
        basis = (Backing("basis", "read in the code, not run"), Backing("rule", f"{one.rule} {one.name}"))
        named.append(Check("findings", "fail", f"{one.rule} {one.name}: {one.message}", basis, line=one.place.shown))
    return named


def predicted(checks: Sequence[Check], findings: Sequence[ShownFinding]) -> list[Check]:
    """Return checks with the findings that predicted those that fail, or would."""
    predicts = platform_data("predicts")
    loud = [one for one in findings if one.severity != Severity.NOTE.value]
    errors = [one for one in findings if one.severity == Severity.ERROR.value]
    named: list[Check] = []
    for check in checks:
        heard = (errors if check.name == RAISES else loud) if check.status == "fail" or check.is_doubted else []
        mine = [one for one in heard if one.rule.startswith(tuple(predicts.get(check.name, ("?",))))]
        backing = tuple(Backing(PREDICTED, f"{one.rule} {one.name}, {one.place.shown}") for one in mine)
        named.append(replace(check, evidence=(*check.evidence, *backing)))
    return named
