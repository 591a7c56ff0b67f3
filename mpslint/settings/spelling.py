"""How a canonical value is spelled as Python, and what an edit of settings is made of."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Mapping
from typing import Any

from mpslint.core.finding import Edit
from mpslint.core.knowledge import platform_data
from mpslint.core.record import record
from mpslint.core.versions import Version
from mpslint.facts.entries import ConfigMapping
from mpslint.facts.facts import Command
from mpslint.facts.values import Call
from mpslint.settings.arguments import exists
from mpslint.settings.dialect import ANYTHING, CallPattern, Spelling
from mpslint.settings.setting import Setting
from mpslint.target.target import Target

UNSPELLABLE: Any = object()


@record(frozen=True, slots=True, eq=False)
class Addition:
    """An argument that a call is to get; `after` names the keyword argument that it belongs beside, if any."""

    call: Call
    name: str
    text: str
    after: str = ""


@record(frozen=True, slots=True, eq=False)
class Removal:
    """An argument that a call is to lose: its number in the order in which they are written."""

    call: Call
    index: int


@record(frozen=True, slots=True, eq=False)
class ConfigAddition:
    """A key that a mapping of a configuration file is to get."""

    mapping: ConfigMapping
    key: str
    text: str


@record(frozen=True, slots=True, eq=False)
class FlagAddition:
    """A flag that a command of a shell text is to get."""

    command: Command
    text: str


@record(frozen=True, slots=True, eq=False)
class WrittenSetting:
    """Edits that write something, arguments and keys to add or take away, and how a report shows them (`fp16=False`)."""

    edits: tuple[Edit, ...]
    shown: str
    added: tuple[Addition | Removal | ConfigAddition | FlagAddition, ...] = ()
    reason: str = ""
    """Why they are not safe, though the recipe is."""


def spelling_of(spelling: Spelling, value: Any, default: Any = UNSPELLABLE) -> Any:
    """Return the argument's own value that says a canonical one; UNSPELLABLE when it has none.

    A value that says nothing (`fp16=False`) will do where nothing said means `default`.
    """
    if spelling.values is None:
        return value
    for key, canonical in spelling.values.items():
        if canonical == value and canonical is not None and key != ANYTHING:
            return key
    for key, canonical in spelling.values.items():
        if canonical is None and key != ANYTHING and value == default:
            return key
    takes_words = ANYTHING not in spelling.values and any(isinstance(key, str) for key in spelling.values)
    return value if takes_words and not isinstance(value, bool) else UNSPELLABLE


def ways_to_say(
    pattern: CallPattern, names: tuple[str, ...], name: str, value: Any, versions: Mapping[str, Version]
) -> Iterator[tuple[str, Spelling, Any]]:
    """Yield the arguments, keys or flags of a call of some names that can say a setting in the Target's versions, how, and with what."""
    for parameter, spelling in pattern.table.spellings_of(name):
        if exists(pattern.role, names, parameter, versions) and (said := spelling_of(spelling, value)) is not UNSPELLABLE:
            yield parameter, spelling, said


def spelled(setting: Setting, value: Any, versions: Mapping[str, Version]) -> Any:
    """Return the value with which a setting's own argument, key or flag says a canonical one; UNSPELLABLE when it has none."""
    return UNSPELLABLE if setting.entry is None else spelling_of(setting.entry, value, default_of(setting, versions))


def default_of(setting: Setting, versions: Mapping[str, Version]) -> Any:
    """Return what a setting is where its call, command or file says nothing of it; UNSPELLABLE where that isn't known."""
    default = setting.pattern.table.default(setting.name, versions) if setting.pattern is not None else None
    return UNSPELLABLE if default is None else default.value


def silent_value(setting: Setting) -> Any:
    """Return the value with which an argument or key says nothing about its setting, such as False for `fp16`; UNSPELLABLE for none."""
    values = setting.entry.values if setting.entry is not None else None
    return next((key for key, canonical in (values or {}).items() if canonical is None and key != ANYTHING), UNSPELLABLE)


def both(first: WrittenSetting | None, second: WrittenSetting | None) -> WrittenSetting | None:
    """Return what writes one thing and another; None where one of them cannot be written."""
    if first is None or second is None:
        return None
    return WrittenSetting((*first.edits, *second.edits), f"{first.shown}, {second.shown}", (*first.added, *second.added))


@functools.lru_cache(maxsize=4)  # of the same text for every edit in it
def quote_of(source: str) -> str:
    """Return the quotation mark that Python text uses more."""
    return "'" if source.count("'") > source.count('"') else '"'


def render(value: Any, source: str) -> str:
    """Return a constant as Python text, with the quotes that the file uses."""
    if isinstance(value, str):
        quote = quote_of(source)
        return quote + value.replace("\\", "\\\\").replace(quote, f"\\{quote}") + quote
    return repr(value)


def as_on(target: Target, text: str) -> str:
    """Return Python as a fix writes it: what it is on the Mac, where that is the only machine, else what it is."""
    if not target.is_only_machine:
        return text
    asks = platform_data("cuda")["devices"]
    for question, answer in ((asks["asks_for_cuda"], False), (asks["asks_for_mps"], True)):
        choice = re.fullmatch(rf"(.+?) if {re.escape(question)} else (.+)", text)
        if choice is not None:
            text = choice[1] if answer else choice[2]
        elif text in (question, f"not {question}"):
            text = str(answer == (text == question))
    return text
