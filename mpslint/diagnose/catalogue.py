"""The catalogue of error texts (`rules/messages/*.yaml`), in the form that `tests/knowledge/messages.yaml` holds them to.

`rules/messages/README.md` explains the vocabulary to people who add a message.
"""

from __future__ import annotations

import enum
import functools
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mpslint.core.finding import Severity
from mpslint.core.knowledge import knowledge_files, read_yaml
from mpslint.core.versions import VersionRange
from mpslint.diagnose.compact import Pattern, compile_pattern, squeeze

Value = str | int | float | bool | None


class TextRole(enum.Enum):
    """What a recognised text is to the reader."""

    CAUSE = "cause"
    """It says what went wrong."""
    NOISE = "noise"
    """It follows from something else, or is harmless."""
    NOT_MPS = "not-mps"
    """It comes from another framework or another device than PyTorch on MPS."""


@dataclass(frozen=True, slots=True)
class Change:
    """One thing to change: in words, as canonical settings that `fix` can write, or as versions to install."""

    say: str
    settings: Mapping[str, Value]
    upgrade: VersionRange


@dataclass(frozen=True, slots=True)
class Explanation:
    """What a text means and does not mean, and what to change, the most useful change first."""

    title: str
    means: str
    does_not_mean: str
    changes: tuple[Change, ...]
    certain: bool
    rules: tuple[str, ...]
    """The rules of check that find the same thing in code."""


@dataclass(frozen=True, slots=True)
class Wording:
    """One wording of a message and the versions that print it; an empty range says nothing about versions."""

    pattern: Pattern
    versions: VersionRange


@dataclass(frozen=True, slots=True)
class MessageCase:
    """What a message means where its traceback, the words around it, what it names or the versions of the log say more.

    All that a case asks for must hold: one of its `frames` stands in the traceback, with `library` it ends in the code of one, all words of
    `near` stand around the message, each capture of `named` is one of its words, and the log names versions in `versions`.
    """

    frames: tuple[str, ...]
    """Ends of paths (`lr_monitor.py`) and names of functions behind a colon (`:_bincount`)."""
    library: bool
    near: tuple[str, ...]
    named: Mapping[str, tuple[str, ...]]
    versions: VersionRange
    explanation: Explanation


@dataclass(frozen=True, slots=True)
class Message:
    """One entry of the catalogue."""

    id: str
    role: TextRole
    severity: Severity
    explanation: Explanation
    wordings: tuple[Wording, ...]
    words: tuple[re.Pattern[str], ...]
    """Words that stand in a row on a line, with nothing but marks between (`train_loss=nan`)."""
    explains: tuple[str, ...]
    reader: str
    cases: tuple[MessageCase, ...]


@dataclass(frozen=True, slots=True)
class Catalogue:
    """All messages, and all verdicts that arithmetic can reach, by id."""

    messages: Mapping[str, Message]
    verdicts: Mapping[str, Explanation]


MEMORY, OPERATOR, NAME = "out-of-memory", "operator", "name"
"""What reads the numbers, the operator or the name of a message, and picks a verdict by it; `reader:` names one."""

PLACEHOLDER = re.compile(r"\{(\w+)\}")
_OF_EXPLANATION = ("title", "certain", "means", "does_not_mean", "change", "rules")


@functools.lru_cache(maxsize=1)
def catalogue() -> Catalogue:
    """Return the catalogue that mpslint ships."""
    entries = [entry for path in knowledge_files("messages") for entry in read_yaml(path)]
    messages = [_message(entry) for entry in entries if "id" in entry]
    verdicts = {entry["verdict"]: _explanation(entry) for entry in entries if "verdict" in entry}
    return Catalogue({message.id: message for message in messages}, verdicts)


def _message(entry: Mapping[str, Any]) -> Message:
    return Message(
        id=entry["id"],
        role=TextRole(entry.get("role", "cause")),
        severity=Severity(entry.get("severity", "error")),
        explanation=_explanation(entry),
        wordings=tuple(map(_wording, entry["patterns"])),
        words=tuple(map(_in_a_row, entry.get("words", ()))),
        explains=tuple(entry.get("explains", ())),
        reader=entry.get("reader", ""),
        cases=tuple(_case(one, entry) for one in entry.get("cases", ())),
    )


def _in_a_row(words: Sequence[str]) -> re.Pattern[str]:
    """Return an expression for words in a row, also where a line ends between them; the first may end a longer name."""
    return re.compile(r"(?:[^\w\n]{1,6}|[^\w\n]{0,6}\n[^\w\n]{0,12})".join(map(re.escape, words)) + r"\b", re.IGNORECASE)


def _case(entry: Mapping[str, Any], message: Mapping[str, Any]) -> MessageCase:
    """Return a case; what it doesn't say of its explanation the message says."""
    return MessageCase(
        tuple(entry.get("frames", ())),
        entry.get("library", False),
        tuple(map(squeeze, entry.get("near", ()))),
        {name: tuple(words) for name, words in entry.get("named", {}).items()},
        VersionRange.parse(entry.get("versions", "")),
        _explanation({key: value for key, value in {**message, **entry}.items() if key in _OF_EXPLANATION}),
    )


def _explanation(entry: Mapping[str, Any]) -> Explanation:
    return Explanation(
        title=_on_one_line(entry["title"]),
        means=_on_one_line(entry["means"]),
        does_not_mean=_on_one_line(entry.get("does_not_mean", "")),
        changes=tuple(map(_change, entry.get("change", ()))),
        certain=entry.get("certain", True),
        rules=tuple(entry.get("rules", ())),
    )


def _change(entry: Mapping[str, Any]) -> Change:
    return Change(_on_one_line(entry["say"]), dict(entry.get("set", {})), VersionRange.parse(entry.get("upgrade", "")))


def _wording(item: str | Mapping[str, str]) -> Wording:
    entry = {"text": item} if isinstance(item, str) else item
    return Wording(compile_pattern(entry["text"].strip()), VersionRange.parse(entry.get("versions", "")))


def _on_one_line(text: str) -> str:
    return " ".join(text.split())
