"""What a fix leads to: which errors `fix` mends as well, and how a fix that it doesn't make is told as advice."""

from __future__ import annotations

from collections.abc import Sequence

from mpslint.core.finding import Fix, Safety, Severity
from mpslint.rule.rule import Rule, matching_outcomes
from mpslint.settings.evidence import Evidence
from mpslint.target.target import Target


def is_fixed_too(fix: Fix | None, evidence: Evidence | None, shown: frozenset[int] | None) -> bool:
    """Return whether `fix` makes a fix as well: a safe one, of files that are asked about alone."""
    if fix is None or fix.safety is not Safety.SAFE or not fix.edits:
        return False
    return evidence is None or shown is None or all(evidence.document.part_at(edit.span.start).first_line in shown for edit in fix.edits)


def held_back(fix: Fix | None, causes: Sequence[str]) -> Fix | None:
    """Return a fix as advice that names the rules of the errors which it would cause."""
    return Fix(Safety.MANUAL, f"First fix {' and '.join(causes)}, then: {fix.summary}") if fix is not None and fix.edits else fix


def advised(fix: Fix | None, suffix: str) -> Fix | None:
    """Return a fix as advice, with why it isn't made."""
    return Fix(Safety.MANUAL, fix.summary + suffix) if fix is not None and fix.edits else fix


def not_made(cause: str) -> str:
    """Return why a fix isn't made, as the end of advice."""
    return f" (not made: it would cause {cause})"


def may_fail(rule: Rule, target: Target) -> bool:
    """Return whether a rule can find an error under a Target, or what counts as much."""
    return rule.worsens or any(outcome.severity is Severity.ERROR for outcome in matching_outcomes(rule, target.versions))
