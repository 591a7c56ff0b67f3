"""Commands of shell texts -> settings: which program is whose, and what its flags say, with the variables of Python that a `!` line of a
notebook takes (IPython puts them in for `$NAME` and `{NAME}`)."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from mpslint.config.shell_words import Shell, Variable
from mpslint.core.finding import Span
from mpslint.core.record import record
from mpslint.facts.facts import Command, Facts, Flag
from mpslint.facts.values import Known
from mpslint.program.texts import as_written
from mpslint.program.walk import walk
from mpslint.settings.dialect import CallPattern
from mpslint.settings.dialects import load_dialects
from mpslint.settings.setting import Setting
from mpslint.settings.translate import read_value
from mpslint.source.document import Document, Snippet

_TAKEN = re.compile(r"[${]([A-Za-z_]\w*)")
_PLAIN = re.compile(r"[^\\\"'`$;&|<>(){}#\n]*")
"""A text that a shell takes as it is, but for its blanks."""


@record(frozen=True, slots=True, eq=False)
class CommandPart:
    """One way to read a command of a shell text."""

    command: Command
    pattern: CallPattern


def parts_of_command(command: Command) -> list[CommandPart]:
    """Return what a command, and the script that it launches, can be read as; nothing for one that no dialect knows."""
    words = " ".join(command.words)
    found = [
        CommandPart(command, pattern.call)
        for dialect in load_dialects().all
        for pattern in dialect.commands
        if pattern.programs.fit(words)
        and (not pattern.names or any(name in text for name in pattern.names for text in _texts(command)))
        and (not pattern.has or any(_flag(command, name) is not None for name in pattern.has))
        and not any(_flag(command, name) is not None for name in pattern.lacks)
    ]
    return found + (parts_of_command(command.script) if command.script is not None else [])


def command_settings(part: CommandPart) -> Iterator[Setting]:
    """Yield everything that a command says; flags that are not given say nothing, as the script decides then."""
    command, pattern = part.command, part.pattern
    for name, value in pattern.sets.items():
        yield Setting(
            name, Known(value), pattern.dialect, " ".join(command.words[:2]), command.span, pattern=pattern, style="shell", command=command
        )  # fmt: skip
    for parameter, spellings in pattern.table.arguments.items():
        for spelling in spellings:
            flag, is_negated = _flag(command, parameter), False
            if flag is None:
                flag, is_negated = command.flags.get(f"no_{parameter}"), True
            if flag is None:
                continue
            given = flag.value
            if isinstance(given, Known) and isinstance(given.value, str) and parameter not in command.variables:
                given = as_written(given.value, None, given.weak)
            read = read_value(spelling, Known(False) if is_negated else given)
            if read is not None:
                is_assigned = parameter.endswith("=") or parameter in command.variables
                shown = parameter if is_assigned else f"--{'no_' if is_negated else ''}{parameter}"
                yield Setting(
                    spelling.setting, read, pattern.dialect, shown, flag.span, flag.value_span,
                    flag.origin or flag.value_span, pattern=pattern, entry=spelling, style="shell", command=command, flag=flag,
                )  # fmt: skip


def _texts(command: Command) -> Iterator[str]:
    """Yield the words of a command and the known values of its flags."""
    yield from command.words
    yield from (flag.value.value for flag in command.flags.values() if isinstance(flag.value, Known) and isinstance(flag.value.value, str))


def _flag(command: Command, parameter: str) -> Flag | None:
    """Return the flag of a name, what is assigned to it (`device=`), or what the environment says (`$CUDA_VISIBLE_DEVICES`)."""
    if parameter.startswith("$"):
        return command.variables.get(parameter)
    return command.assigned.get(parameter[:-1]) if parameter.endswith("=") else command.flags.get(parameter)


def variables_at(snippet: Snippet, document: Document, facts: Facts) -> dict[str, Variable]:
    """Return what is known of the variables in a `!` line, each at the place of its text; a shell cell (`%%bash`) takes none.

    One that the notebook sets again further down is not known: which cell ran last is not.
    """
    if document.text[: snippet.span.start][-1:] != "!":
        return {}
    found: dict[str, Variable] = {}
    for name in dict.fromkeys(_TAKEN.findall(snippet.text)):
        value = facts.frames[0].slots.get(name) if facts.frames else None
        if not isinstance(value, Known) or _is_set_behind(name, snippet, document, facts):
            continue
        place = _place_of(value, document)
        text = str(value.value)
        if place is not None and _PLAIN.fullmatch(text):
            found[name] = Variable(text, tuple(Shell(text, place.start).words()), value.weak, place)
    return found


def _place_of(value: Known, document: Document) -> Span | None:
    """Return where the text of a value is written, without its quotes; None where it is computed."""
    node = value.origin
    if not isinstance(node, ast.Constant) or not isinstance(node.value, (str, int, float)):
        return None
    start, end = document.offset(node.lineno, node.col_offset), document.offset(node.end_lineno or node.lineno, node.end_col_offset or 0)
    quote = 1 if isinstance(node.value, str) else 0
    inner = Span(start + quote, end - quote)
    return inner if not quote or document.text[inner.start : inner.end] == node.value else None


def _is_set_behind(name: str, snippet: Snippet, document: Document, facts: Facts) -> bool:
    """Return whether a cell below a line gives a name another value."""
    below = (one for one in facts.body if document.offset(one.end_lineno or one.lineno, 0) > snippet.span.start)
    stores = (one for one in walk(*below) if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store) and one.id == name)
    return any(document.offset(node.lineno, node.col_offset) > snippet.span.start for node in stores)
