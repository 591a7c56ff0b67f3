"""Which case of a message a log shows, and its explanation with the words of the log filled in."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence

from mpslint.core.versions import Version
from mpslint.diagnose.catalogue import PLACEHOLDER, Explanation, MessageCase
from mpslint.diagnose.compact import squeeze
from mpslint.diagnose.frames import TracedFrame, frames_above
from mpslint.diagnose.log import Log
from mpslint.diagnose.matching import MOST_TIMES, TextMatch

_AROUND = 400
"""How far before and behind a message its other words may stand."""


def case_of(log: Log, group: Sequence[TextMatch], captures: Mapping[str, str], versions: Mapping[str, Version]) -> Explanation | None:
    """Return what the first case that holds for a message says; None where none does."""
    first = group[0]
    message = first.message
    if not message.cases:
        return None
    frames = next(filter(None, (frames_above(log, match.start) for match in group[:MOST_TIMES])), ())
    around = squeeze(log.text[max(0, first.start - _AROUND) : first.end + _AROUND])
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


def filled(explanation: Explanation, captures: Mapping[str, str], versions: Mapping[str, Version]) -> Explanation:
    """Return the explanation with `{name}` replaced by what was captured.

    An upgrade is left out when the log names a version that satisfies it; what is said first then begins without "Or".
    """

    def fill(text: str) -> str:
        return PLACEHOLDER.sub(lambda match: captures[match.group(1)], text)

    left = [one for one in explanation.changes if one.settings or not one.upgrade.terms or not one.upgrade.matches(versions)]
    changes = tuple(dataclasses.replace(one, say=fill(one.say if number else _first(one.say))) for number, one in enumerate(left))
    title, means, not_meant = map(fill, (explanation.title, explanation.means, explanation.does_not_mean))
    return dataclasses.replace(explanation, title=title, means=means, does_not_mean=not_meant, changes=changes)


def _first(say: str) -> str:
    return say[3].upper() + say[4:] if say.startswith("Or ") else say
