"""From an error text to the cause: `diagnose(log)` is the whole way, readable from top to bottom."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from types import MappingProxyType

from mpslint.core.grouped import grouped
from mpslint.core.versions import Version
from mpslint.diagnose.catalogue import MEMORY, NAME, OPERATOR, Catalogue, Change, Explanation, catalogue
from mpslint.diagnose.compact import strip_escapes, unwrap
from mpslint.diagnose.diagnosis import Diagnosis, Explained, Symptom, UnknownError
from mpslint.diagnose.frames import UserLine, is_code, last_traceback, library_frame, own_frame
from mpslint.diagnose.joining import reading_order
from mpslint.diagnose.log import Log, LogPlace, log_of_bytes, read_log
from mpslint.diagnose.matching import MOST_TIMES, TextMatch, case_of, filled, find_matches
from mpslint.diagnose.memory_log import MemoryLog, read_memory_log
from mpslint.diagnose.named import explanation_of, unknown_errors, versions_named, versions_traced
from mpslint.diagnose.out_of_memory import OutOfMemory, read_out_of_memory

__all__ = [
    "Change", "Diagnosis", "Explained", "Explanation", "Log", "LogPlace", "MemoryLog", "OutOfMemory", "Symptom", "UnknownError", "UserLine",
    "diagnose", "log_of_bytes", "read_log",
]  # fmt: skip

_QUOTED_AROUND = 200
_LEAD = re.compile(r"(?:[\w.]{1,100}(?:Error|Warning|Exception): )?[^\s│|]*\Z")
_SAME_INCIDENT = 20_000
"""Two messages at most this many characters apart may be cause and echo."""


def diagnose(log: Log, given: Mapping[str, Version] = MappingProxyType({})) -> Diagnosis:
    """Return what the log says about a run on MPS. `given` are versions that hold where the log itself doesn't give them away."""
    known = catalogue()
    matches = find_matches(log.text)
    traced = next(filter(None, (versions_traced(log, match.start) for match in matches[:MOST_TIMES])), {})
    versions = {**given, **traced, **versions_named(log.text)}
    memory_log = read_memory_log(log.text)
    symptoms = [(group[0].start, group[-1].start, _symptom(log, group, matches, versions, known)) for group in _groups(log, matches)]
    return Diagnosis(
        source=log.name,
        lines=log.lines,
        symptoms=reading_order(symptoms, last_traceback(log)),
        unknown=unknown_errors(log, [(match.start, match.end) for match in matches]),
        memory_log=memory_log,
        memory_explanation=filled(known.verdicts[memory_log.verdict], {}, versions) if memory_log else None,
        versions=versions,
        looked_for=len(known.messages),
    )


def _groups(log: Log, matches: Sequence[TextMatch]) -> list[list[TextMatch]]:
    """Return the matches of each message together, without the lines of code that raise it where it stands elsewhere, too.

    Two out-of-memory texts are one only with one verdict, and two texts about an operator or a name only where it is the same one.
    """

    def subject(match: TextMatch) -> tuple[str, ...]:
        if match.message.reader in (OPERATOR, NAME):
            return tuple(_captures(log, match).values())
        return (read_out_of_memory(match.squeezed).verdict,) if match.message.reader == MEMORY else ()

    groups = grouped(((match.message.id, subject(match)), match) for match in matches).values()
    return [[match for match in group if len(group) == 1 or not is_code(log.text, match.start)] or group for group in groups]


def _symptom(
    log: Log, group: Sequence[TextMatch], matches: Sequence[TextMatch], versions: Mapping[str, Version], known: Catalogue
) -> Symptom:
    """Return one message of the log with everything that is known about it."""
    first = group[0]
    memory = read_out_of_memory(first.squeezed) if first.message.reader == MEMORY else None
    captures = _captures(log, first)
    explanation, found = known.verdicts[memory.verdict] if memory else first.message.explanation, dict[str, str]()
    if first.message.reader in (OPERATOR, NAME):
        explanation, found = explanation_of(first.message, first.squeezed, captures, known.verdicts)
    library = next(filter(None, (library_frame(log, match.start) for match in group[:MOST_TIMES])), None)
    if library is not None:
        found = {**found, "package": library.package}
    explanation = case_of(log, group, {**captures, **found}, versions) or explanation
    return Symptom(
        message=first.message,
        explanation=filled(explanation, {**captures, **found}, {**first.wording.versions.least, **versions}),
        place=log.place(first.start),
        quote=_quote(log.text, first),
        times=len(group),
        captures=captures,
        wording=first.wording.versions,
        memory=memory,
        frame=next(filter(None, (own_frame(log, match.start) for match in group[:MOST_TIMES])), None),
        library=library,
        follows=_explained_by(first, matches),
    )


def _captures(log: Log, match: TextMatch) -> dict[str, str]:
    """Return what a message captured, by name."""
    return {name: unwrap(log.text[start:end]).strip("'\"` ") for name, (start, end) in match.captures.items()}


def _quote(text: str, match: TextMatch) -> str:
    """Return a message as pasted, from the name of its exception to the end of its line, on one line."""
    lead = _LEAD.search(strip_escapes(text[max(0, match.start - _QUOTED_AROUND) : match.start]))
    line_end = text.find("\n", match.end, match.end + _QUOTED_AROUND)
    end = line_end if line_end >= 0 else min(len(text), match.end + _QUOTED_AROUND)
    return unwrap((lead.group() if lead else "") + text[match.start : end])


def _explained_by(match: TextMatch, matches: Sequence[TextMatch]) -> str:
    """Return the id of a message nearby that explains this one, or nothing."""
    near = (other.message for other in matches if abs(other.start - match.start) <= _SAME_INCIDENT)
    return next((message.id for message in near if match.message.id in message.explains), "")
