"""Find the messages of the catalogue in a log, and which case of one it shows.

What people paste is searched exactly, as a whole. A long log is searched in one cheap pass for anchors first, and
exactly only around them; there a prefix such as `[rank0]:` in the middle of a short message can hide it.
"""

from __future__ import annotations

import dataclasses
import functools
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

from mpslint.core.grouped import grouped
from mpslint.core.versions import Version
from mpslint.diagnose.catalogue import PLACEHOLDER, Explanation, Message, MessageCase, Wording, catalogue
from mpslint.diagnose.compact import Compact, blank_escapes, compact, squeeze
from mpslint.diagnose.frames import TracedFrame, frames_above
from mpslint.diagnose.log import Log

_CHUNK = 1 << 18
_STEP = 512
_BEFORE, _AFTER = 1_500, 3_000
_LARGEST_WINDOW = 1 << 16
_FOLLOWING = 600
_WORD = re.compile(r"[\w.]{1,80}")

_WRAPS = 40
"""Characters of a line that a narrow terminal may have wrapped."""

MOST_TIMES = 50
"""A message is located this often in one log; what comes after only says that there were more."""
_AROUND = 400
"""How far before and behind a message its other words may stand."""


@dataclass(frozen=True, slots=True)
class TextMatch:
    """One place where a message stands: a range of the log's text, and the ranges that its pattern captured."""

    message: Message
    wording: Wording
    start: int
    end: int
    captures: Mapping[str, tuple[int, int]]
    squeezed: str
    """The message and what follows it, squeezed, for readers of numbers."""


@dataclass(frozen=True, slots=True)
class Index:
    """All messages, and one expression that finds any of their anchors in squeezed text."""

    messages: tuple[Message, ...]
    scanner: re.Pattern[str]
    announced: Mapping[str, frozenset[str]]
    """The ids of the messages that each anchor announces."""


@functools.lru_cache(maxsize=1)
def _index() -> Index:
    """Return the index over the catalogue."""
    messages = tuple(catalogue().messages.values())
    announced = grouped((anchor, one.id) for one in messages for wording in one.wordings for anchor in wording.pattern.anchors)
    scanner = re.compile(_one_of(set(announced))) if announced else re.compile(r"(?!)")
    return Index(messages, scanner, {anchor: frozenset(ids) for anchor, ids in announced.items()})


def find_matches(text: str) -> list[TextMatch]:
    """Return the matches in the order of the text, of one message about MOST_TIMES at most; no two overlap."""
    index, times = _index(), Counter[str]()
    matches: list[TextMatch] = []
    for start, end in _windows(text, index, times):
        window = compact(text[start:end], start)
        for message in index.messages:
            if times[message.id] < MOST_TIMES:
                found = [match for wording in message.wordings for match in _matches_in(window, text, message, wording)]
                times[message.id] += len(found)
                matches += found
    return _without_overlaps([*matches, *_words_in(text, index)])


def _words_in(text: str, index: Index) -> Iterator[TextMatch]:
    """Yield where the words of a message stand in a row, on one line or on one that was wrapped."""
    plain = blank_escapes(text)
    for message in index.messages:
        for words in message.words:
            for found in islice(words.finditer(plain), MOST_TIMES):
                if _is_one_line(plain, *found.span()):
                    yield TextMatch(message, message.wordings[0], *found.span(), {}, "")


def _is_one_line(text: str, start: int, end: int) -> bool:
    """Return whether a range lies on one line, or on lines of which each goes on in the next: it is long, or ends in a mark."""
    ends = [found.start() for found in re.finditer("\n", text[start:end])]
    lines = [text[text.rfind("\n", 0, start + one) + 1 : start + one] for one in ends]
    return all(len(line) >= _WRAPS or line.rstrip().endswith((":", "=")) for line in lines)


def _matches_in(window: Compact, text: str, message: Message, wording: Wording) -> Iterator[TextMatch]:
    pattern = wording.pattern
    if pattern.literal not in window.text:
        return
    for found in pattern.regex.finditer(window.text):
        start, end = window.span(*found.span())
        captures = {name: window.span(*found.span(name)) for name in found.groupdict()}
        for name in pattern.open_captures:
            word = _WORD.search(text, max(0, captures[name][0] - 1))
            if word is not None:
                captures[name] = word.span()
                end = max(end, word.end())
        yield TextMatch(message, wording, start, end, captures, window.text[found.start() : found.start() + _FOLLOWING])


def _windows(text: str, index: Index, times: Mapping[str, int]) -> Iterator[tuple[int, int]]:
    """Yield the parts of the text around anchors, those that touch joined; two may overlap where anchors are dense."""
    if len(text) <= _CHUNK:
        yield 0, len(text)
        return
    start = end = -1
    for position, anchor in _anchor_hits(text, index):
        if all(times.get(name, 0) >= MOST_TIMES for name in index.announced.get(anchor, ())):
            continue
        if end >= 0 and (position - _BEFORE > end or position - start > _LARGEST_WINDOW):
            yield start, end
            end = -1
        if end < 0:
            start = max(0, position - _BEFORE)
        end = min(position + _AFTER, len(text))
    if end >= 0:
        yield start, end


def _anchor_hits(text: str, index: Index) -> Iterator[tuple[int, str]]:
    """Yield about where each anchor stands in the text, in order."""
    for start in range(0, len(text), _CHUNK):
        chunk = blank_escapes(text[start : start + _CHUNK + _STEP])
        hits = [(found.start(), found.group()) for found in index.scanner.finditer(squeeze(chunk))]
        yield from ((start + position, anchor) for position, anchor in _located(chunk, hits))


def _located(chunk: str, hits: Sequence[tuple[int, str]]) -> Iterator[tuple[int, str]]:
    """Yield the hits with their squeezed offsets turned into offsets of the chunk, true to `_STEP` characters."""
    squeezed = 0
    remaining = iter(hits)
    hit = next(remaining, None)
    for position in range(0, len(chunk), _STEP):
        if hit is None:
            return
        squeezed += len(squeeze(chunk[position : position + _STEP]))
        while hit is not None and hit[0] < squeezed:
            yield position, hit[1]
            hit = next(remaining, None)


def _without_overlaps(matches: Sequence[TextMatch]) -> list[TextMatch]:
    """Return the matches by place; of two that overlap, the fuller one stays."""
    kept: list[TextMatch] = []
    for match in sorted(matches, key=lambda match: (match.start, -match.wording.pattern.literal_length)):
        if not kept or kept[-1].end <= match.start:
            kept.append(match)
        elif _is_fuller(match, kept[-1]):
            kept[-1] = match
    return kept


def _is_fuller(match: TextMatch, other: TextMatch) -> bool:
    """Return whether a match says more than one that it overlaps: it explains it, or has more words of its own."""
    if other.message.id in match.message.explains:
        return True
    if match.message.id in other.message.explains:
        return False
    return match.wording.pattern.literal_length > other.wording.pattern.literal_length


def _one_of(words: set[str]) -> str:
    """Return an expression for any of some words as a tree of letters, ten times faster than a plain alternation."""
    rests = grouped((word[0], word[1:]) for word in words - {""})
    branches = [re.escape(letter) + _one_of(set(rest)) for letter, rest in sorted(rests.items())]
    if len(branches) == 1 and "" not in words:
        return branches[0]
    return f"(?:{'|'.join(branches)})" + ("?" if "" in words else "") if branches else ""


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


def filled(explanation: Explanation, captures: Mapping[str, str], versions: Mapping[str, Version]) -> Explanation:
    """Return the explanation with `{name}` replaced by what was captured.

    An upgrade is left out when one of `versions`, which the log names or its wording takes at least, satisfies it; what is said first then
    begins without "Or".
    """

    def fill(text: str) -> str:
        return PLACEHOLDER.sub(lambda match: captures[match.group(1)], text)

    left = [one for one in explanation.changes if one.settings or not one.upgrade.terms or not one.upgrade.matches(versions)]
    changes = tuple(dataclasses.replace(one, say=fill(one.say if number else _first(one.say))) for number, one in enumerate(left))
    title, means, not_meant = map(fill, (explanation.title, explanation.means, explanation.does_not_mean))
    return dataclasses.replace(explanation, title=title, means=means, does_not_mean=not_meant, changes=changes)


def _first(say: str) -> str:
    return say[3].upper() + say[4:] if say.startswith("Or ") else say
