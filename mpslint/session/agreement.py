"""What several runs, and a file by itself, say of one place: brought together as one finding with one fix."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import replace
from typing import TypeAlias

from mpslint.core.finding import Edit, Finding, Fix, Safety, Span
from mpslint.core.grouped import grouped

PlaceOfRule: TypeAlias = tuple[str, str, Span]
"""A file by its absolute path, a rule, and the place in that file."""


def by_place(findings: Sequence[Finding]) -> dict[tuple[str, Span], list[Finding]]:
    """Return findings by rule and place: what several runs say of the same."""
    return grouped(((one.rule, one.span), one) for one in findings)


def with_runs(finding: Finding, same: Sequence[Finding], as_one: Set[str], is_held: bool = False) -> Finding:
    """Return a finding with what starts the runs in which the `same` was found, and how those lead to it.

    Where a run says worse of the place than the file by itself, the run's words count: it sees more. Of a rule that is fixed `as_one`, or
    whose fix leads to other findings, what is safe in one file may not be in the whole run, and what isn't seen in one file may be there:
    the run's fix counts, but where the file's own `is_held` by what goes wrong after it in functions that no run calls.
    """
    entries = tuple({(one.path, one.line): one for found in same for one in found.entries}.values())
    related = {(one.path, one.span): one for found in same[:1] for one in found.related if one.path}
    related |= {(one.path, one.span): one for one in finding.related}
    fix = finding.fix
    if finding.rule in as_one and same:
        fix = _agreed(fix, [one.fix for one in same], is_held)
    worst = min((one for one in (finding, *same) if not one.awaits), key=lambda one: one.severity.rank, default=finding)
    severity, message = (worst.severity, worst.message) if not finding.awaits else (finding.severity, finding.message)
    if not same:
        return finding
    return replace(finding, severity=severity, message=message, entries=entries, related=tuple(related.values()), fix=fix)


def _agreed(own: Fix | None, of_runs: Sequence[Fix | None], is_held: bool) -> Fix | None:
    """Return what is offered for a place: what a run leaves to its user, else what changes least; a run that writes another text than the
    file by itself knows what that depends on."""
    by_hand = [one for one in of_runs if one is None or one.safety is Safety.MANUAL]
    offered = [one for one in of_runs if one is not None]
    if own is not None and (own.edits or is_held):
        texts = [[edit.text.strip() for edit in one.edits] for one in (own, *offered)]
        offered.insert(0 if texts[0] in texts[1:] else len(offered), own)
    return by_hand[0] if by_hand else min(offered, key=lambda one: (one.safety is Safety.SAFE, len(one.edits)))


DONE_ELSEWHERE = ", unless another file of the run already does it"
USED_ELSEWHERE = ", where no other run of the script uses it"


def left_to_reader(finding: Finding, condition: str = DONE_ELSEWHERE) -> Finding:
    """Return a finding with its fix as advice, under a condition that only a reader can see."""
    from mpslint.rule.objections import advised

    return replace(finding, fix=advised(finding.fix, condition))


def each_once(findings: Sequence[Finding]) -> Iterator[Finding]:
    """Yield findings without those that have another rule's place and fix, where runs disagree: the worst one stays."""
    worst: dict[tuple[Span, tuple[Edit, ...], str], Finding] = {}
    for one in findings:
        if one.fix is None:
            yield one
            continue
        key = one.span, one.fix.edits, one.fix.summary
        known = worst.get(key)
        worst[key] = one if known is None or one.severity.rank < known.severity.rank else known
    yield from worst.values()


def from_one_end(findings: Mapping[str, Sequence[Finding]], shown_at: Callable[[str, Span], str]) -> dict[str, list[Finding]]:
    """Return findings by file, where one value isn't reported from both ends.

    One run may report it where it is written, as used elsewhere, and another where it is used, as written elsewhere: the first of these
    places counts.
    """
    ends = {path: [_ends(path, one, shown_at) for one in inner] for path, inner in findings.items()}
    known = {end for own in ends.values() for inner in own for end in inner}

    def counts(own: Sequence[tuple[str, str, str]]) -> bool:
        return not any(here > there and (rule, there, here) in known for rule, here, there in own)

    return {path: [one for one, own in zip(inner, ends[path], strict=True) if counts(own)] for path, inner in findings.items()}


def _ends(path: str, finding: Finding, shown_at: Callable[[str, Span], str]) -> list[tuple[str, str, str]]:
    """Return the rule, the place of a finding, and each place in another file that it names."""
    others = [f"{other.path}:{other.line}" for other in finding.related if other.path]
    return [(finding.rule, shown_at(path, finding.span), other) for other in others]


def fixed_as_one(
    findings: Mapping[str, Sequence[Finding]],
    tied: Sequence[Set[PlaceOfRule]],
    shown_at: Callable[[str, Span], str],
    reached: Set[str] | None,
) -> dict[str, list[Finding]]:
    """Return findings by file, where those that are `tied` by a run are all to be fixed by hand if one of them is.

    `reached` are the files that fixes are made in; None for all. What one run leaves to its user the others leave
    that share a place with it.
    """
    found = {path: list(inner) for path, inner in findings.items()}
    at_place = grouped(((path, one.rule, one.span), one) for path, inner in found.items() for one in inner)
    left: dict[PlaceOfRule, PlaceOfRule] = {}
    for place in {one: None for run in tied for one in sorted(run)}:
        if not all(_is_made(place[0], one, reached) for one in at_place[place]):
            left[place] = place
    while more := {place: left[first] for run in tied if (first := min(run & left.keys(), default=None)) for place in run - left.keys()}:
        left.update(more)

    def by_hand(path: str, finding: Finding) -> Finding:
        place, fix = (path, finding.rule, finding.span), finding.fix
        first = left.get(place)
        if first is None or fix is None or not fix.edits:
            return finding
        if first == place:  # what another run leaves to its user here says why
            told = next((one.fix for one in at_place[place] if one.fix is not None and not _is_made(path, one, reached)), None)
            return replace(finding, fix=told if told is not None and not told.edits else Fix(Safety.MANUAL, fix.summary))
        where = shown_at(first[0], first[2])
        return replace(finding, fix=Fix(Safety.MANUAL, f"{fix.summary}, together with {where} of the same run, which isn't fixed here."))

    return {path: [by_hand(path, one) for one in inner] for path, inner in found.items()}


def _is_made(path: str, finding: Finding, reached: Set[str] | None) -> bool:
    fix = finding.fix
    return fix is not None and fix.safety is Safety.SAFE and bool(fix.edits) and (reached is None or path in reached)
