"""Settings -> edits of a shell text: change, add and take away the flags of a command, in the way in which the command is written."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from typing import Any

from mpslint.config.yaml_edit import newline_of
from mpslint.core.finding import Edit, Span
from mpslint.facts.facts import Command, Flag
from mpslint.settings.evidence import Evidence
from mpslint.settings.plan import TrainingPlan
from mpslint.settings.setting import Setting
from mpslint.settings.spelling import UNSPELLABLE, FlagAddition, WrittenSetting, spelled, ways_to_say
from mpslint.settings.translate_shell import CommandPart

SWITCHED = frozenset({"launcher"})
"""Roles whose options are on when they are there, and take no `True`."""


_VALUED = re.compile(r"(-{1,2}[\w.-]+?(?:=|[ \t]+)|-\w)[\w.:+]+")
"""A flag with its value, as the value comes: `--x=16`, `--x 16`, `-x 16`, `-x16`."""
_SWITCH = re.compile(r"--?[\w-]+")
_BEFORE = re.compile(r"(?:[ \t]*\\\r?\n)?[ \t]+$")
"""What goes with a switch that is taken out: the blanks before it, and the end of the line before it where it begins one."""


def write_flag(evidence: Evidence, plan: TrainingPlan, setting: Setting | None, name: str, value: Any) -> WrittenSetting | None:
    """Return the edits after which a command says a setting; None when it has no way to say it."""
    if setting is None:
        return _add(evidence, plan, name, value)
    flag, pattern = setting.flag, setting.pattern
    if flag is None or pattern is None:
        return None
    new = spelled(setting, value, evidence.target.versions)
    is_off = value is None or (value is False and pattern.role in SWITCHED)
    is_negated = setting.spelling.startswith("--no_")
    if is_off or (flag.value_span is None and (new is is_negated or new is None)):
        return remove_flag(flag, setting.spelling)
    if new is UNSPELLABLE or flag.value_span is None:
        return None
    span = flag.origin or flag.value_span
    old = evidence.document.text[span.start : span.end]
    quote = old[:1] if old[:1] in ("'", '"') and old[-1:] == old[:1] and len(old) > 1 else ""
    text = f"{quote}{new}{quote}" if quote else shlex.quote(str(new))
    if text == old:
        return None
    shown = f"{setting.spelling} {new}"
    if flag.origin is not None and flag.origin not in flag.span:
        shown = f"{new} in {evidence.document.place(span.start).words}"
    return WrittenSetting((Edit(span, text),), shown)


def remove_flag(flag: Flag, spelling: str) -> WrittenSetting:
    """Return the edit that takes a flag away, with the blanks and the line end before it."""
    return WrittenSetting((Edit(Span(flag.before, flag.span.end), ""),), f"without {spelling}")


def rewrite_words(place: Span, value: object, text: str, is_on: bool) -> Edit | None:
    """Return the edit that gives the flag at a place of a text another value, or takes out a switch that is to be off; None for neither.

    A switch that `is_on` by default is not off where it is not given: it gets its value.
    """
    old = text[place.start : place.end]
    if value is False and _SWITCH.fullmatch(old):
        before = _BEFORE.search(text, 0, place.start)
        return Edit(place, f"{old} {value}") if is_on else Edit(Span(before.start(), place.end), "") if before is not None else None
    flag = _VALUED.fullmatch(old)
    new = f"{flag[1]}{shlex.quote(str(value))}" if flag is not None else old
    return Edit(place, new) if new != old else None


def _add(evidence: Evidence, plan: TrainingPlan, name: str, value: Any) -> WrittenSetting | None:
    """Say a setting by a flag that a command does not have yet."""
    for part in plan.commands:
        for parameter, _, new in ways_to_say(part.pattern, (part.pattern.dialect,), name, value, evidence.target.versions):
            is_said = parameter in part.command.flags or "." in parameter
            if is_said or new is None or (new is False and part.pattern.role in SWITCHED):
                continue
            text = _flag(evidence.document.text, part, parameter, new)
            return WrittenSetting((), text, (FlagAddition(part.command, text),))
    return None


def _flag(text: str, part: CommandPart, parameter: str, value: Any) -> str:
    """Return a flag as the command writes its others: `--name value`, or `--name=value` where all of them are."""
    if value is True and part.pattern.role in SWITCHED:
        return f"--{parameter}"
    valued = [flag.value_span for flag in part.command.flags.values() if flag.value_span is not None]
    has_equals = bool(valued) and all(text[span.start - 1 : span.start] == "=" for span in valued)
    return f"--{parameter}{'=' if has_equals else ' '}{shlex.quote(str(value))}"


def flag_additions(evidence: Evidence, wanted: Sequence[FlagAddition]) -> list[Edit]:
    """Return the edits that add flags at the end of their commands, on lines of their own where the command has such lines."""
    text = evidence.document.text
    edits = []
    for command in {id(addition.command): addition.command for addition in wanted}.values():
        flags = dict.fromkeys(addition.text for addition in wanted if addition.command is command)
        separator = _separator(text, command)
        edits.append(Edit(Span(command.span.end, command.span.end), "".join(f"{separator}{flag}" for flag in flags)))
    return edits


def _separator(text: str, command: Command) -> str:
    """Return what stands before a flag that a command gets: a line end and an indent where its last flag begins a line."""
    start = text.rfind("\n", 0, command.span.end) + 1
    line = re.match(r"([ \t]*)-", text[start : command.span.end])
    if start <= command.span.start or line is None:
        return " "
    return f" \\{newline_of(text)}{line.group(1)}"
