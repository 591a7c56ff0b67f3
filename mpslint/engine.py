"""check(document): read top to bottom, this is what mpslint does."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from mpslint.finding import Finding, Fix, Safety, Span
from mpslint.gate import function_words, is_suite, may_matter
from mpslint.judge import Peers, conditions_hold, judge
from mpslint.needs import needed
from mpslint.program.parse import parse_program
from mpslint.record import record
from mpslint.rule import Rule, load_rules, matching_outcomes
from mpslint.settings.evidence import Evidence, gather_evidence
from mpslint.source.document import Document, Unread
from mpslint.target import Target

if TYPE_CHECKING:
    from mpslint.suppression import Silenced


@record(frozen=True, eq=False)
class Checked:
    """What a check of one Document gives: findings by place, and what could not be read."""

    document: Document
    target: Target
    findings: tuple[Finding, ...]
    unread: tuple[Unread, ...]
    evidence: tuple[Evidence, ...]
    silenced: tuple[Finding, ...] = ()
    """Findings that comments of the file silence."""


def check(
    document: Document, target: Target, rules: Sequence[Rule] | None = None, with_plans: bool = False, is_asked: bool = True
) -> Checked:
    """Return everything that is wrong with a Document for the Target. Runs nothing of it; never raises on any text.

    `with_plans` asks for the evidence of a Document about which no rule can have anything to say too. Where nobody asked for this very
    Document, such a one is not parsed, and so what could not be parsed in it is not said.
    """
    rules = load_rules() if rules is None else tuple(rules)
    able = needed(rules, document, target.versions)
    if not (able or (with_plans and may_matter(document.text, rules, document.identifiers))) or is_suite(document):
        unread = parse_program(document, document.python).unread if document.python and is_asked else ()
        return Checked(document, target, (), (*document.unread, *unread), ())
    words = function_words(rules)
    evidence = [gather_evidence(document, text, target, words) for text in (document.python, *document.scripts)]
    found = _sorted([finding for one in evidence for rule in able for finding in _findings(rule, one)])
    unread = tuple(part for one in evidence for part in one.parsed.unread)
    of_comments = [rule for rule in able if rule.when[0].subject == "suppression"]
    if not found and not of_comments:
        return Checked(document, target, (), (*document.unread, *unread), tuple(evidence))
    from mpslint.suppression import silence

    silenced = silence(document, [(one.text, one.parsed.body) for one in evidence], found)
    unused = [finding for rule in of_comments for finding in _unused(rule, rules, document, silenced)]
    findings = tuple(_sorted([*silenced.kept, *unused]))
    return Checked(document, target, findings, (*document.unread, *unread), tuple(evidence), silenced.silenced)


def _unused(rule: Rule, rules: Sequence[Rule], document: Document, silenced: Silenced) -> Iterator[Finding]:
    """Yield a finding for each comment that silences nothing, unless it names a rule that was not asked but could have been."""
    from mpslint.suppression import Unused, is_meant, removal_of

    unasked = [one for one in load_rules() if one not in rules]
    for unused in silenced.unused:
        suppression = unused.suppression
        named = tuple(word for word in unused.rules if not any(is_meant(word, one.id, one.name) for one in unasked))
        if suppression.rules and not named:
            continue
        unused = Unused(suppression, named)
        written = suppression.written.strip() if unused.is_whole else ", ".join(named)
        outcome = rule.outcomes[0]
        edit = removal_of(document, unused)
        fix = Fix(Safety.SAFE, f"without {written}", (edit,)) if edit is not None else None
        message = outcome.message.replace("{written}", written)
        yield Finding(rule.id, rule.name, outcome.severity, message, suppression.span, _why(rule), fix)


def _findings(rule: Rule, evidence: Evidence) -> list[Finding]:
    """Return what one rule finds in one program."""
    outcomes = matching_outcomes(rule, evidence.target.versions)
    if not outcomes:
        return []
    found = []
    peers = Peers(tuple(judge(rule, evidence)))
    for match in (replace(match, peers=peers) for match in peers.matches):
        outcome = next((outcome for outcome in outcomes if conditions_hold(outcome.when, outcome.unless, match, evidence)), None)
        if outcome is not None:
            from mpslint.rewrite.recipes import fill, fix_of

            message, fix = fill(outcome.message, match, evidence), fix_of(rule, match, evidence)
            found.append(Finding(rule.id, rule.name, outcome.severity, message, match.span, _why(rule), fix, match.related))
    return found


def _why(rule: Rule) -> str:
    """Return the first paragraph of a rule's reasons, on one line."""
    return " ".join(rule.why.split("\n\n")[0].split())


def _sorted(findings: Sequence[Finding]) -> list[Finding]:
    """Return findings by place, then by rule; the same rule speaks once about one place."""
    unique: dict[tuple[Span, str], Finding] = {}
    for finding in findings:
        unique.setdefault((finding.span, finding.rule), finding)
    return sorted(unique.values(), key=lambda finding: (finding.span.start, finding.rule))
