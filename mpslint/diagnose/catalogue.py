"""The catalogue of error texts (`rules/messages/*.yaml`), validated: an unknown key is an error naming file and key.

`rules/messages/README.md` explains the vocabulary to people who add a message.
"""

from __future__ import annotations

import enum
import functools
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import UnionType
from typing import Any

from mpslint.core.finding import RuleError, Severity
from mpslint.core.knowledge import knowledge_files, read_yaml
from mpslint.core.versions import VersionRange
from mpslint.diagnose.compact import squeeze
from mpslint.diagnose.pattern import Pattern, compile_pattern
from mpslint.settings.vocabulary import load_vocabulary

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
class SeenText:
    """A text as somebody saw it, where it was seen, and the verdict that its numbers must give."""

    text: str
    source: str
    verdict: str = ""


@dataclass(frozen=True, slots=True)
class MessageCase:
    """What a message means where its traceback, the words around it, what it names or the versions of the log say more.

    All that a case asks for must hold: one of its `frames` stands in the traceback, all words of `near` around the message, each capture of
    `named` is one of its words, and the log names versions in `versions`.
    """

    frames: tuple[str, ...]
    """Ends of paths (`lr_monitor.py`) and names of functions behind a colon (`:_bincount`)."""
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
    examples: tuple[SeenText, ...]
    explains: tuple[str, ...]
    reader: str
    cases: tuple[MessageCase, ...]
    sources: tuple[str, ...]
    file: Path


@dataclass(frozen=True, slots=True)
class Catalogue:
    """All messages, and all verdicts that arithmetic can reach, by id."""

    messages: Mapping[str, Message]
    verdicts: Mapping[str, Explanation]


MEMORY, OPERATOR, NAME = "out-of-memory", "operator", "name"
READERS = (MEMORY, OPERATOR, NAME)
"""What reads the numbers, the operator or the name of a message, and picks a verdict by it; `reader:` names one."""

_ID = re.compile(r"[a-z0-9]+(?:[.-][a-z0-9]+)*")
_VALUES: dict[str, type | UnionType] = {"flag": bool, "count": int, "number": int | float, "word": str}
PLACEHOLDER = re.compile(r"\{(\w+)\}")
_MESSAGE_KEYS = {
    "id", "title", "role", "severity", "certain", "patterns", "reader", "means", "does_not_mean", "change", "rules",
    "explains", "texts", "cases", "sources", "words",
}  # fmt: skip
_CASE_KEYS = {"frames", "near", "named", "versions"}
_EXPLANATION_KEYS = {"title", "certain", "means", "does_not_mean", "change", "rules"}
_VERDICT_KEYS = {"verdict", *_EXPLANATION_KEYS}


@functools.lru_cache(maxsize=1)
def catalogue() -> Catalogue:
    """Return the catalogue that mpslint ships."""
    return load_catalogue(tuple(knowledge_files("messages")))


def load_catalogue(files: Sequence[Path]) -> Catalogue:
    """Return the messages and verdicts of some files. Raises RuleError naming the file, the message and the key."""
    messages: dict[str, Message] = {}
    verdicts: dict[str, Explanation] = {}
    for path in files:
        for entry in _list_of_mappings(read_yaml(path), f"{path}"):
            where = f"{path}: {entry.get('id') or entry.get('verdict') or 'entry without id'}"
            if "verdict" in entry:
                _refuse_unknown(entry, _VERDICT_KEYS, where)
                _add(verdicts, _identity(entry, "verdict", where), _explanation(entry, where), where)
            else:
                message = _message(entry, path, where)
                _add(messages, message.id, message, where)
    _refuse_dangling(messages)
    return Catalogue(messages, verdicts)


def _message(entry: Mapping[str, Any], path: Path, where: str) -> Message:
    _refuse_unknown(entry, _MESSAGE_KEYS, where)
    wordings = tuple(_wording(item, where) for item in _items(entry, "patterns", where))
    message = Message(
        id=_identity(entry, "id", where),
        role=_choice(TextRole, entry.get("role", "cause"), "role", where),
        severity=_choice(Severity, entry.get("severity", "error"), "severity", where),
        explanation=_explanation(entry, where),
        wordings=wordings,
        words=tuple(_in_a_row(_words({"words": item}, "words", where)) for item in entry.get("words", [])),
        examples=tuple(_example(item, where) for item in _items(entry, "texts", where)),
        explains=_words(entry, "explains", where),
        reader=_text(entry, "reader", where, required=False),
        cases=tuple(_case(item, entry, where) for item in _list_of_mappings(entry.get("cases", []), f"{where}: cases")),
        sources=_words(entry, "sources", where),
        file=path,
    )
    if message.reader and message.reader not in READERS:
        raise RuleError(f"{where}: reader: {message.reader!r} is not one of {', '.join(READERS)}")
    captured = frozenset.intersection(*(wording.pattern.captures for wording in wordings))
    explanations = (message.explanation, *(case.explanation for case in message.cases))
    texts = (text for one in explanations for text in (one.title, one.means, one.does_not_mean, *(change.say for change in one.changes)))
    said = " ".join(texts)
    for name in (*PLACEHOLDER.findall(said), *(name for case in message.cases for name in case.named)):
        if name not in captured:
            raise RuleError(f"{where}: {{{name}}} is not captured by every pattern of this message")
    return message


def _in_a_row(words: Sequence[str]) -> re.Pattern[str]:
    """Return an expression for words in a row, also where a line ends between them; the first may end a longer name."""
    return re.compile(r"(?:[^\w\n]{1,6}|[^\w\n]{0,6}\n[^\w\n]{0,12})".join(map(re.escape, words)) + r"\b", re.IGNORECASE)


def _case(entry: Mapping[str, Any], message: Mapping[str, Any], where: str) -> MessageCase:
    """Return a case; what it doesn't say of its explanation the message says."""
    where = f"{where}: cases"
    _refuse_unknown(entry, _CASE_KEYS | _EXPLANATION_KEYS, where)
    named = entry.get("named", {})
    if not _CASE_KEYS & set(entry) or not isinstance(named, dict):
        raise RuleError(f"{where}: each needs one of {', '.join(sorted(_CASE_KEYS))}")
    return MessageCase(
        _words(entry, "frames", where),
        tuple(map(squeeze, _words(entry, "near", where))),
        {name: _words(named, name, where) for name in named},
        _range(entry.get("versions", ""), where),
        _explanation({**{key: value for key, value in message.items() if key in _EXPLANATION_KEYS}, **entry}, where),
    )


def _explanation(entry: Mapping[str, Any], where: str) -> Explanation:
    certain = entry.get("certain", True)
    if not isinstance(certain, bool):
        raise RuleError(f"{where}: certain: write true or false")
    return Explanation(
        title=_text(entry, "title", where),
        means=_text(entry, "means", where),
        does_not_mean=_text(entry, "does_not_mean", where, required=False),
        changes=tuple(_change(item, where) for item in _list_of_mappings(entry.get("change", []), f"{where}: change")),
        certain=certain,
        rules=_words(entry, "rules", where),
    )


def _change(entry: Mapping[str, Any], where: str) -> Change:
    _refuse_unknown(entry, {"say", "set", "upgrade"}, f"{where}: change")
    settings = entry.get("set", {})
    if not isinstance(settings, dict):
        raise RuleError(f"{where}: change: set: write it as {{padding.multiple_of: 64}}")
    for name, value in settings.items():
        kind = load_vocabulary().get(name)
        if kind is None:
            raise RuleError(f"{where}: change: set: unknown setting {name!r}: it is not in settings.yaml")
        if value is not None and not isinstance(value, _VALUES[kind.type]):
            raise RuleError(f"{where}: change: set: {name}: {value!r} is not of type {kind.type}")
        if kind.words and value is not None and value not in kind.words:
            raise RuleError(f"{where}: change: set: {name}: {value!r} is not one of {', '.join(kind.words)}")
    return Change(_text(entry, "say", where), dict(settings), _range(entry.get("upgrade", ""), f"{where}: change"))


def _wording(item: object, where: str) -> Wording:
    entry = {"text": item} if isinstance(item, str) else item
    if not isinstance(entry, dict):
        raise RuleError(f"{where}: patterns: write a text, or {{text: ..., versions: ...}}")
    _refuse_unknown(entry, {"text", "versions"}, f"{where}: patterns")
    try:
        pattern = compile_pattern(_text(entry, "text", where))
    except RuleError as error:
        raise RuleError(f"{where}: patterns: {error}") from None
    return Wording(pattern, _range(entry.get("versions", ""), f"{where}: patterns"))


def _example(item: object, where: str) -> SeenText:
    if not isinstance(item, dict):
        raise RuleError(f"{where}: texts: write {{text: ..., source: ...}}")
    _refuse_unknown(item, {"text", "source", "verdict"}, f"{where}: texts")
    return SeenText(_text(item, "text", where), _text(item, "source", where), _text(item, "verdict", where, required=False))


def _range(value: object, where: str) -> VersionRange:
    if not isinstance(value, str):
        raise RuleError(f"{where}: write versions as 'torch >= 2.8'")
    try:
        return VersionRange.parse(value)
    except RuleError as error:
        raise RuleError(f"{where}: {error}") from None


def _text(entry: Mapping[str, Any], key: str, where: str, *, required: bool = True) -> str:
    value = entry.get(key, "" if not required else None)
    if not isinstance(value, str) or (required and not value.strip()):
        raise RuleError(f"{where}: {key}: a text is needed here")
    return value.strip() if key == "text" else " ".join(value.split())


def _words(entry: Mapping[str, Any], key: str, where: str) -> tuple[str, ...]:
    value = entry.get(key, [])
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise RuleError(f"{where}: {key}: write a list of words")
    return tuple(value)


def _items(entry: Mapping[str, Any], key: str, where: str) -> list[object]:
    value = entry.get(key)
    if not isinstance(value, list) or not value:
        raise RuleError(f"{where}: {key}: at least one is needed")
    return value


def _list_of_mappings(value: object, where: str) -> list[dict[str, Any]]:
    if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
        raise RuleError(f"{where}: write a list of entries")
    return value


def _identity(entry: Mapping[str, Any], key: str, where: str) -> str:
    value = _text(entry, key, where)
    if not _ID.fullmatch(value):
        raise RuleError(f"{where}: {key}: write it as small-words-with-hyphens")
    return value


def _choice(kind: Callable[[object], Any], value: object, key: str, where: str) -> Any:
    try:
        return kind(value)
    except ValueError:
        raise RuleError(f"{where}: {key}: {value!r} is not known here") from None


def _refuse_unknown(entry: Mapping[str, Any], known: set[str], where: str) -> None:
    for key in entry:
        if key not in known:
            raise RuleError(f"{where}: unknown key {key!r}; the keys are {', '.join(sorted(known))}")


def _refuse_dangling(messages: Mapping[str, Message]) -> None:
    for message in messages.values():
        for name in message.explains:
            if name not in messages:
                raise RuleError(f"{message.file}: {message.id}: explains: there is no message {name!r}")
        for example in message.examples:
            is_worded = any(one.search(example.text) for one in message.words)
            if not is_worded and not any(wording.pattern.literal in squeeze(example.text) for wording in message.wordings):
                raise RuleError(f"{message.file}: {message.id}: texts: no pattern fits {example.text[:60]!r}")


def _add(table: dict[str, Any], name: str, value: object, where: str) -> None:
    if name in table:
        raise RuleError(f"{where}: a second entry with this id")
    table[name] = value
