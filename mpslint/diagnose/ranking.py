"""The order in which to read a diagnosis, and the findings of `check` that explain it."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from mpslint.core.finding import Finding
from mpslint.diagnose.catalogue import Explanation, TextRole
from mpslint.diagnose.diagnosis import Diagnosis, Symptom


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


def reading_order(symptoms: Sequence[tuple[int, int, Symptom]], last: int) -> tuple[Symptom, ...]:
    """Return symptoms, given with the offsets of their first and last places, in the order to read: causes by severity, those first that
    ended the run (behind `last`, where its traceback begins), then by place; echoes; noise."""

    def rank(item: tuple[int, int, Symptom]) -> tuple[int, int, bool, int]:
        offset, end, symptom = item
        group = 2 if symptom.message.role is TextRole.NOISE else 1 if symptom.follows else 0
        return group, symptom.message.severity.rank, end < last, offset

    return tuple(symptom for *_, symptom in sorted(symptoms, key=rank))


def rank_findings(
    diagnosis: Diagnosis,
    findings: Sequence[Finding],
    line_of: Callable[[Finding], SourceLine | None],
    settings_of: Callable[[Finding], frozenset[str]] = lambda finding: frozenset(),
    file: str = "",
) -> tuple[RankedFinding, ...]:
    """Return the findings, those that explain the diagnosis first.

    A finding explains a symptom when it quotes its text, when the message names its rule, or when it is about a setting that the message
    says to change (`settings_of`). Of two that do, the one on the line where the traceback leaves the user's code comes first, then the
    worse one.
    `line_of` tells where a finding stands, `file` in which file: frames of other files do not count.
    """
    order = [symptom.message.id for symptom in diagnosis.causes] + [MEMORY_LOG]
    frames = {(frame.cell, frame.line) for frame in diagnosis.frames if not frame.file or not file or _same_file(frame.file, file)}

    def ranked(finding: Finding) -> RankedFinding:
        line = line_of(finding)
        in_traceback = line is not None and (line.cell, line.line) in frames
        return RankedFinding(finding, _explained(diagnosis, finding, settings_of(finding)), in_traceback)

    def rank(item: RankedFinding) -> tuple[int, bool, int, int]:
        place = order.index(item.explains) if item.explains else len(order)
        return place, not item.in_traceback, item.finding.severity.rank, item.finding.span.start

    return tuple(sorted(map(ranked, findings), key=rank))


_QUOTED = re.compile(r'"([^"]{20,})"')
"""What a finding quotes of an error: enough of it to be no other."""
MEMORY_LOG = "memory-log"
"""What a finding explains that a step-by-step memory log speaks of."""


def _same_file(frame: str, file: str) -> bool:
    return frame.replace("\\", "/").rsplit("/", 1)[-1] == file.replace("\\", "/").rsplit("/", 1)[-1] or frame.startswith(("<", "Cell"))


def _explained(diagnosis: Diagnosis, finding: Finding, settings: frozenset[str]) -> str:
    """Return the id of the message that a finding explains, or ''."""

    def sets(told: Explanation) -> bool:
        return any(settings & set(change.settings) for change in told.changes)

    told = diagnosis.memory_explanation
    quoted = _QUOTED.findall(finding.message)
    named = [one.message.id for one in diagnosis.causes if any(text in one.quote for text in quoted)]
    named += [symptom.message.id for symptom in diagnosis.causes if finding.rule in symptom.explanation.rules]
    named += [symptom.message.id for symptom in diagnosis.causes if sets(symptom.explanation)]
    named += [MEMORY_LOG] if told is not None and (finding.rule in told.rules or sets(told)) else []
    return next(iter(named), "")
