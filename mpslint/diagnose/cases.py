"""Which case of a message a log shows: what its traceback runs through, what stands around it, what it names, and which versions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from mpslint.core.versions import Version
from mpslint.diagnose.catalogue import Explanation, MessageCase
from mpslint.diagnose.compact import squeeze
from mpslint.diagnose.frames import TracedFrame, frames_above
from mpslint.diagnose.log import Log
from mpslint.diagnose.matching import MOST_TIMES, TextMatch

_AROUND = 400
"""How far before and behind a message its other words may stand."""


def case_of(log: Log, group: Sequence[TextMatch], captures: Mapping[str, str], versions: Mapping[str, Version]) -> Explanation | None:
    """Return what the first case that holds for a message says; None where none does."""
    message = group[0].message
    if not message.cases:
        return None
    frames = next(filter(None, (frames_above(log, match.start) for match in group[:MOST_TIMES])), ())
    around = "\n".join(squeeze(log.text[max(0, match.start - _AROUND) : match.end + _AROUND]) for match in group[:MOST_TIMES])
    return next((case.explanation for case in message.cases if _holds(case, frames, around, captures, versions)), None)


def _holds(
    case: MessageCase, frames: Sequence[TracedFrame], around: str, captures: Mapping[str, str], versions: Mapping[str, Version]
) -> bool:
    """Return whether all that a case asks for is there."""
    if case.frames and not any(_is_frame(asked, frame) for asked in case.frames for frame in frames):
        return False
    if case.library and "package" not in captures:
        return False
    if not all(word in around for word in case.near):
        return False
    if any(captures[name] not in words for name, words in case.named.items()):
        return False
    return not case.versions.terms or case.versions.matches(versions)


def _is_frame(asked: str, frame: TracedFrame) -> bool:
    """Return whether a frame lies in a file, and in a function of it, that a case asks for (`torch/nn/modules/rnn.py:forward`)."""
    path, _, function = asked.partition(":")
    return path in frame.path and function in ("", frame.function)
