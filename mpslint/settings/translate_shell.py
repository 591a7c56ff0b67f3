"""Commands of shell texts -> settings: which program is whose, and what its flags say."""

from __future__ import annotations

from collections.abc import Iterator

from mpslint.core.record import record
from mpslint.facts.facts import Command, Flag
from mpslint.facts.values import Known
from mpslint.program.texts import as_written
from mpslint.settings.dialect import CallPattern
from mpslint.settings.dialects import load_dialects
from mpslint.settings.setting import Setting
from mpslint.settings.translate import read_value


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
