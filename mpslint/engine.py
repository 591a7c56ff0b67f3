"""check(document): read top to bottom, this is what mpslint does."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from mpslint.finding import Finding, Span
from mpslint.judge import conditions_hold, judge
from mpslint.rewrite.recipes import fill, fix_of
from mpslint.rule import Rule, load_rules, matching_outcomes
from mpslint.settings.evidence import Evidence, gather_evidence
from mpslint.source.document import Document, Unread
from mpslint.target import Target


@dataclass(frozen=True, eq=False)
class Checked:
    """What a check of one Document gives: findings by place, and what could not be read."""

    document: Document
    target: Target
    findings: tuple[Finding, ...]
    unread: tuple[Unread, ...]
    evidence: tuple[Evidence, ...]


def check(document: Document, target: Target, rules: Sequence[Rule] | None = None) -> Checked:
    """Return everything that is wrong with a Document for the Target. Runs nothing of it; never raises on any text."""
    rules = load_rules() if rules is None else rules
    evidence = [gather_evidence(document, text, target) for text in (document.python, *document.scripts)]
    found = [finding for one in evidence for rule in rules for finding in _findings(rule, one)]
    unread = tuple(part for one in evidence for part in one.parsed.unread)
    return Checked(document, target, tuple(_sorted(found)), (*document.unread, *unread), tuple(evidence))


def _findings(rule: Rule, evidence: Evidence) -> list[Finding]:
    """Return what one rule finds in one program."""
    outcomes = matching_outcomes(rule, evidence.target.versions)
    if not outcomes:
        return []
    why = " ".join(rule.why.split("\n\n")[0].split())
    found = []
    for match in judge(rule, evidence):
        outcome = next((outcome for outcome in outcomes if conditions_hold(outcome.when, outcome.unless, match, evidence)), None)
        if outcome is not None:
            message, fix = fill(outcome.message, match, evidence), fix_of(rule, match, evidence)
            found.append(Finding(rule.id, rule.name, outcome.severity, message, match.span, why, fix, match.related))
    return found


def _sorted(findings: Sequence[Finding]) -> list[Finding]:
    """Return findings by place, then by rule; the same rule speaks once about one place."""
    unique: dict[tuple[Span, str], Finding] = {}
    for finding in findings:
        unique.setdefault((finding.span, finding.rule), finding)
    return sorted(unique.values(), key=lambda finding: (finding.span.start, finding.rule))
