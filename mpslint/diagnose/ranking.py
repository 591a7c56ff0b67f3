"""The order in which to read a diagnosis, and the findings of `check` that explain it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from mpslint.diagnose.catalogue import Role
from mpslint.diagnose.diagnosis import Diagnosis, Symptom
from mpslint.finding import Finding


@dataclass(frozen=True, slots=True)
class SourceLine:
    """A line of the source that was checked: in a notebook, `cell` counts from 1 and `line` within the cell."""

    line: int
    cell: int | None = None


@dataclass(frozen=True, slots=True)
class RankedFinding:
    """A finding, the id of the message that it explains (or nothing), and whether the traceback ends on its line."""

    finding: Finding
    explains: str
    in_traceback: bool


def reading_order(symptoms: Sequence[tuple[int, Symptom]]) -> tuple[Symptom, ...]:
    """Return symptoms, given with their offsets, in the order to read: causes by severity and place, echoes, noise."""

    def rank(item: tuple[int, Symptom]) -> tuple[int, int, int]:
        offset, symptom = item
        group = 2 if symptom.message.role is Role.NOISE else 1 if symptom.follows else 0
        return group, symptom.message.severity.rank, offset

    return tuple(symptom for _, symptom in sorted(symptoms, key=rank))


def rank_findings(
    diagnosis: Diagnosis, findings: Sequence[Finding], line_of: Callable[[Finding], SourceLine | None]
) -> tuple[RankedFinding, ...]:
    """Return the findings, those that explain the diagnosis first.

    A finding explains a symptom when the message names its rule. Of two that do, the one on the line where the
    traceback leaves the user's code comes first, then the worse one. `line_of` tells where a finding stands.
    """
    causes = [symptom for symptom in diagnosis.symptoms if symptom.is_cause]
    explained = {rule: symptom.message.id for symptom in reversed(causes) for rule in symptom.message.rules}
    order = [symptom.message.id for symptom in causes]
    ends = [symptom.frame for symptom in causes] + [error.frame for error in diagnosis.unknown]
    frames = {(frame.cell, frame.line) for frame in ends if frame is not None}

    def ranked(finding: Finding) -> RankedFinding:
        line = line_of(finding)
        in_traceback = line is not None and (line.cell, line.line) in frames
        return RankedFinding(finding, explained.get(finding.rule, ""), in_traceback)

    def rank(item: RankedFinding) -> tuple[int, bool, int, int]:
        place = order.index(item.explains) if item.explains else len(order)
        return place, not item.in_traceback, item.finding.severity.rank, item.finding.span.start

    return tuple(sorted(map(ranked, findings), key=rank))
