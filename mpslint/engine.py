"""check(document): read top to bottom, this is what mpslint does."""

from __future__ import annotations

import ast
import contextlib
import functools
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import replace
from typing import TYPE_CHECKING

from mpslint.core.finding import Finding, Fix, RuleError, Safety, Severity, Span
from mpslint.core.grouped import grouped
from mpslint.core.record import record
from mpslint.facts.values import origin_of
from mpslint.program.parse import parse_program
from mpslint.program.unreached import read
from mpslint.project.run import Run
from mpslint.rewrite.places import CONFIG, at_decision, moved, placed, where_asked, with_caller
from mpslint.rule.judge import Match, Peers, conditions_hold, judge, ruled_out
from mpslint.rule.loading import is_shipped, load_rules
from mpslint.rule.objections import advised, held_back, is_fixed_too, may_fail, not_made, objection_to, raised_by
from mpslint.rule.rule import Rule, matching_outcomes
from mpslint.rule.selection import asked_by_default
from mpslint.rule.suites import Suite, is_suite, suite_of
from mpslint.settings.evidence import Evidence, gather_evidence, gather_run
from mpslint.settings.spell import value_on_mac
from mpslint.source.document import Document, Unread
from mpslint.target.target import Target

if TYPE_CHECKING:
    from mpslint.rule.suppression import Silenced


_MISTAKES = (RuleError, TypeError, ValueError, AttributeError, LookupError)


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
    suite: Suite | None = None
    """What tells that the file, or what it starts, doesn't train on a Mac."""


def check(
    document: Document,
    target: Target,
    rules: Sequence[Rule] | None = None,
    is_asked: bool = True,
    is_reached: bool = False,
    looks_ahead: bool = True,
) -> Checked:
    """Return everything that is wrong with a Document for the Target. Runs nothing of it; never raises on any text.

    A Document of a suite is not judged; where nobody asked for this very Document (`is_asked`), it is not parsed either, and so what could
    not be parsed in it is not said. Where no run reaches the Document (`is_reached`), functions that nothing calls are judged as if they
    were called on a Mac. What goes wrong only after a fix is said too where the check `looks_ahead`. Raises RuleError for a user's rule
    that asks for what cannot be, such as a check without the options that it needs.
    """
    rules = asked_by_default(load_rules()) if rules is None else tuple(rules)
    try:
        return _check(document, target, rules, is_asked, is_reached, looks_ahead)
    except _MISTAKES:
        for rule in (rule for rule in rules if not is_shipped(rule.path)):
            try:
                _check(document, target, (rule,), is_asked, is_reached, looks_ahead)
            except _MISTAKES as error:
                raise RuleError(f"{rule.path}: the rule cannot be applied ({type(error).__name__}: {error})") from None
        raise


def _check(document: Document, target: Target, rules: tuple[Rule, ...], is_asked: bool, is_reached: bool, looks_ahead: bool) -> Checked:
    suite = suite_of(document)
    if suite is not None and not suite.is_judged:
        unread = parse_program(document, document.python).unread if document.python and is_asked else ()
        return Checked(document, target, (), (*document.unread, *unread), (), suite=suite)
    evidence = [gather_evidence(document, text, target, not is_reached) for text in (document.python, *document.scripts)]
    found = [finding for one in evidence for rule in rules for finding in _findings(rule, one)]
    for one in evidence:
        again = functools.partial(gather_evidence, document, one.text, target, not is_reached, one.parsed)
        found = _with_readers(one, rules, _after_fixes(one, rules, found, again, looks_ahead), again)
    found = _sound(_tried(document, target, rules, found, is_reached), document) if looks_ahead else found
    unread = tuple(part for one in evidence for part in one.parsed.unread)
    found = _beside_others(_sorted(found), rules)
    from mpslint.rule.suppression import silence

    silenced = silence(document, [(one.text, one.parsed.body) for one in evidence], found)
    of_comments = [rule for rule in rules if rule.when[0].subject == "suppression"]
    unused = [finding for rule in of_comments for finding in _unused(rule, rules, document, silenced)]
    findings = tuple(_sorted([*silenced.kept, *unused]))
    return Checked(document, target, findings, (*document.unread, *unread), tuple(evidence), silenced.silenced, suite)


@record(frozen=True, eq=False)
class Walked:
    """What a check of one run gives: the findings by the absolute path of their file; no evidence where no rule has anything to say."""

    findings: Mapping[str, tuple[Finding, ...]]
    evidence: Evidence | None
    ruled_out: frozenset[tuple[str, str, Span]] = frozenset()
    """Places, by file and rule, where the files by themselves give a finding and the run shows that there is none."""


def check_run(
    run: Run,
    target: Target,
    rules: Sequence[Rule],
    asked: Set[str] | None = None,
    looks_ahead: bool = True,
    evidence: Evidence | None = None,
) -> Walked:
    """Return everything that is wrong with a run for the Target, in all of its files. Runs nothing of it; never raises on any text.

    `asked` are the files (by absolute path) whose findings are asked for: what another one decides is said where it is used.
    Functions that the run doesn't call are not judged; a check of their file by itself does that. `evidence` is what a walk of the run
    gave, where there was one.
    """
    document = run.document
    if is_suite(run.parts[run.script].document):
        return Walked({}, None)
    evidence = evidence or gather_run(run, target)
    shown = None if asked is None else frozenset(line for line, path in run.paths.items() if path in asked)
    found = [finding for rule in rules for finding in _findings(rule, evidence, shown)]
    again = functools.partial(gather_run, run, target)
    found = _with_readers(evidence, rules, _after_fixes(evidence, rules, found, again, looks_ahead, shown), again)
    found = _sound(found, document) if looks_ahead else found
    by_file = grouped(placed(finding, run) for finding in _beside_others(found, rules))
    parts = [(rule.id, span, run.document.part_at(span.start)) for rule in rules for span in ruled_out(rule, evidence)]
    left = frozenset((run.paths[part.first_line], id_, moved(span, part.span.start)) for id_, span, part in parts)
    return Walked({path: tuple(findings) for path, findings in by_file.items()}, evidence, left)


def _unused(rule: Rule, rules: Sequence[Rule], document: Document, silenced: Silenced) -> Iterator[Finding]:
    """Yield a finding for each comment that silences nothing, unless it names a rule that was not asked but could have been."""
    from mpslint.rule.suppression import Unused, is_meant, removal_of

    ids = {one.id for one in rules}
    unasked = [one for one in load_rules() if one.id not in ids]
    is_partial = bool(asked_by_default(tuple(unasked)))
    for unused in silenced.unused:
        suppression = unused.suppression
        named = tuple(word for word in unused.rules if not any(is_meant(word, one.id, one.name) for one in unasked))
        if not named and (suppression.rules or is_partial):  # without a name it is about every rule
            continue
        unused = Unused(suppression, named)
        written = suppression.written.strip() if unused.is_whole else ", ".join(named)
        outcome = rule.outcomes[0]
        edit = removal_of(document, unused)
        fix = Fix(Safety.SAFE, f"without {written}", (edit,)) if edit is not None else None
        message = outcome.message.replace("{written}", written)
        yield Finding(rule.id, rule.name, outcome.severity, message, suppression.span, _why(rule), fix)


def _findings(rule: Rule, evidence: Evidence, shown: frozenset[int] | None = None) -> list[Finding]:
    """Return what one rule finds in one program; `shown` are the first lines of the files of a run that a finding may be moved to."""
    outcomes = matching_outcomes(rule, evidence.target.versions)
    if not outcomes:
        return []
    found = []
    peers = Peers(tuple(judge(rule, evidence)))
    for match in (replace(match, peers=peers) for match in peers.matches):
        outcome = next((outcome for outcome in outcomes if conditions_hold(outcome.when, outcome.unless, match, evidence)), None)
        if outcome is not None:
            from mpslint.rewrite.recipes import fill

            message, fix = fill(outcome.message, match, evidence), _fix(rule, match, evidence)
            message += evidence.target.reach(outcome.versions)
            match, fix = at_decision(rule, match, fix, evidence, shown)
            match, fix = where_asked(match, fix, evidence, shown)
            match = with_caller(match, evidence)
            said = (rule.id, rule.name, outcome.severity, message, match.span, _why(rule), fix, match.related, rule.once_a_run)
            found.append(Finding(*said, is_of_any_machine=rule.any_machine, worsens=rule.worsens, home=match.home))
    return found


def _after_fixes(
    evidence: Evidence,
    rules: Sequence[Rule],
    found: list[Finding],
    again: Callable[[Mapping[int, object]], Evidence],
    looks_ahead: bool,
    shown: frozenset[int] | None = None,
) -> list[Finding]:
    """Return findings and, where the check `looks_ahead`, as notes what goes wrong only once they are fixed.

    `again` evaluates with the values of their fixes. A fix that leads to what certainly raises on the Mac's GPU, or to an error which no
    safe fix mends, is advice: `fix` doesn't make it.
    """
    ids = {one.rule for one in found}
    instead: dict[int, object] = {}
    leading: list[Rule] = []
    for rule in (rule for rule in rules if rule.id in ids and rule.leads_to):  # a rule is read where more than its id is asked for
        values = [match.values.get("instead", {}) for match in judge(rule, evidence)]
        instead.update(item for value in values for item in value.items())
        leading += [rule] if any(values) else []
    if not instead:
        return found
    ids = {rule.id for rule in leading}
    is_offered = any(one.rule in ids and is_fixed_too(one.fix, None, None) for one in found)
    if not looks_ahead and not is_offered:
        return found
    asked = [rule for rule in rules if not rule.leads_to and may_fail(rule, evidence.target)]
    if not asked and not is_offered:
        return found
    after = again(instead)
    works = not any(one.severity is Severity.ERROR for one in found if one.rule in ids)
    if is_offered and (objection := objection_to(after, evidence, works)):
        found = [replace(one, fix=advised(one.fix, f", but {objection}")) if one.rule in ids else one for one in found]
    if any(one.kind == "absent" for one in evidence.facts.events):  # the run ends there
        devices = {rule.id for rule in rules if rule.leads_to}
        minor = {one.rule for one in found if one.rule not in devices and one.severity is not Severity.ERROR}
        left = {(one.rule, one.span) for rule in rules if rule.id in minor for one in _findings(rule, after, shown)}
        found = [one for one in found if one.rule not in minor or one.severity is Severity.ERROR or (one.rule, one.span) in left]
    known = {(one.rule, one.span) for one in found}
    notes: list[Finding] = []
    causes: dict[str, None] = {}
    named = ", ".join(rule.id for rule in leading)
    for finding in (one for other in asked for one in _findings(other, after, shown)):
        if (finding.rule, finding.span) in known or not finding.holds_back:
            continue  # what only costs memory or time is said soon enough
        message = leading[0].leads_to.replace("{id}", named).replace("{message}", finding.message)
        if not is_fixed_too(finding.fix, after, shown):
            causes[finding.rule] = None
        fix = Fix(Safety.MANUAL, finding.fix.summary) if finding.fix is not None else None
        notes.append(replace(finding, severity=Severity.NOTE, message=message, fix=fix, awaits=leading[0].id))
    after.facts.release()
    held = {rule.id for rule in leading} if causes else set()
    kept = (replace(one, fix=held_back(one.fix, tuple(causes))) if one.rule in held else one for one in found)
    return [*kept, *(notes if looks_ahead else ())]


def _with_readers(
    evidence: Evidence, rules: Sequence[Rule], found: list[Finding], again: Callable[[Mapping[int, object]], Evidence]
) -> list[Finding]:
    """Return findings, where a safe fix of a setting which the program reads elsewhere, too, is advice if the run ends there then."""
    if not any(one.fix is not None and one.fix.safety is Safety.SAFE for one in found):
        return found
    judged = {rule.id for rule in rules if rule.leads_to}
    own = [one for plan in evidence.plans for said in plan.settings.values() for one in said]
    decided = {one.origin or one.value_span: node for one in own if isinstance(node := origin_of(one.value), ast.Constant)}
    given = {one.argument.node for one in own if one.argument is not None}
    changed: list[tuple[Finding, dict[int, object]]] = []
    for finding in found:
        fix = finding.fix if finding.fix is not None and finding.fix.safety is Safety.SAFE and finding.rule not in judged else None
        edits = {decided[edit.span]: edit.text for edit in fix.edits if edit.span in decided} if fix is not None else {}
        if not given.issuperset(evidence.facts.uses.of(*edits)):
            with contextlib.suppress(ValueError, SyntaxError):  # no constant: the walk knows nothing of it
                changed.append((finding, {id(node): value_on_mac(ast.parse(text, mode="eval").body) for node, text in edits.items()}))

    def objection(values: Mapping[int, object]) -> str:
        after = again(values)
        said = raised_by(after, evidence)
        after.facts.release()
        return said

    if not changed or (len(changed) > 1 and not objection({node: value for _, values in changed for node, value in values.items()})):
        return found  # most end nothing: all are tried together first
    said = {id(finding): objection(values) for finding, values in changed}
    return [replace(one, fix=advised(one.fix, f", but {said[id(one)]}")) if said.get(id(one)) else one for one in found]


def _tried(document: Document, target: Target, rules: tuple[Rule, ...], found: list[Finding], is_reached: bool) -> list[Finding]:
    """Return findings, where a safe fix that leads to an error which `fix` doesn't mend is advice, in the words of `fix`.

    The fixes of a rule that asks for it are made in memory, and what they give is checked.
    """
    known = Counter(one.rule for one in found)
    for rule in (rule for rule in rules if rule.id in known and rule.tried):
        edits = [e for one in found if one.rule == rule.id and one.fix and one.fix.safety is Safety.SAFE for e in one.fix.edits]
        if not edits or document.write_back is None:
            continue
        data = document.write_back(tuple(sorted(set(edits), key=lambda edit: edit.span)))
        after = _check(read(document.path, data, document.kind), target, rules, True, is_reached, looks_ahead=False)
        counted = Counter(one.rule for one in after.findings)
        causes = (one for one in after.findings if one.holds_back and not is_fixed_too(one.fix, None, None))
        if cause := next((one for one in causes if counted[one.rule] > known[one.rule]), None):
            suffix = not_made(f"{cause.rule} in {after.document.place(cause.span.start).words} of {document.path}")
            found = [replace(one, fix=advised(one.fix, suffix)) if one.rule == rule.id else one for one in found]
    return found


def _sound(found: list[Finding], document: Document) -> list[Finding]:
    """Return findings, where a fix that would break the code is advice."""
    if not any(one.fix is not None and one.fix.edits for one in found):
        return found
    from mpslint.rewrite.damage import with_sound_fixes

    return with_sound_fixes(found, document)


def _beside_others(found: Sequence[Finding], rules: Sequence[Rule]) -> list[Finding]:
    """Return the findings without those of rules that are not worth a report by themselves, where no other rule finds anything."""
    minor = {rule.id for rule in rules if rule.beside_others} if found else set()
    is_alone = bool(minor) and all(finding.rule in minor for finding in found)
    return [] if is_alone and not all(rule.beside_others for rule in rules) else list(found)


def _fix(rule: Rule, match: Match, evidence: Evidence) -> Fix | None:
    """Return the fix of a match, which uses names and places of its own file only."""
    from mpslint.rewrite.recipes import fix_of

    if not evidence.document.parts:
        return fix_of(rule, match, evidence)
    part = evidence.document.part_at(match.span.start)
    if part.document.kind in CONFIG:
        return _advice(rule, match, evidence)
    peers = Peers(tuple(one for one in match.peers.matches if one.span in part.span))
    fix = fix_of(rule, replace(match, peers=peers), evidence.within(part))
    is_python = fix is None or all(evidence.document.part_at(edit.span.start).document.kind not in CONFIG for edit in fix.edits)
    return fix if is_python or fix is None else Fix(Safety.MANUAL, fix.summary)


def _advice(rule: Rule, match: Match, evidence: Evidence) -> Fix | None:
    """Return what a rule advises for a place in a configuration file, in which Python cannot be written."""
    from mpslint.rewrite.in_config import fix_in_config

    return fix_in_config(rule, match, evidence, None)


def _why(rule: Rule) -> str:
    """Return the first paragraph of a rule's reasons, on one line; '' where its messages say enough."""
    return "" if rule.terse else " ".join(rule.why.split("\n\n")[0].split())


def _sorted(findings: Sequence[Finding]) -> list[Finding]:
    """Return findings by place, then by rule; the same rule speaks once about one place."""
    unique: dict[tuple[Span, str], Finding] = {}
    for finding in findings:
        unique.setdefault((finding.span, finding.rule), finding)
    return sorted(unique.values(), key=lambda finding: (finding.span.start, finding.rule))
