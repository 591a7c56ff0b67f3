"""What starts a run: a script by itself, or a line of a shell script that gives it its flags."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterator, Sequence

from mpslint.config.shell import read_shell
from mpslint.core.folders import absolute, folder_of
from mpslint.core.record import record
from mpslint.facts.facts import Command, Given
from mpslint.facts.values import Known
from mpslint.project.loaded import find_file
from mpslint.project.resolve import locate, search_folders

COMMAND_LINE_FILE = "<command line>"
"""What stands for the file of a launch that the user types."""
MOST_LAUNCHES = 12
"""Lines of one shell script that are followed; a longer list repeats one script."""
_PYTHON = re.compile(r"(?:.*/)?python[\d.]*")
_STARTS = re.compile(r"\b(?:python[\d.]*|torchrun|accelerate|deepspeed)\b|\.py\b")


@record(frozen=True, slots=True)
class Entry:
    """What starts a run."""

    script: str
    """The absolute path of the Python file that is started."""
    launch: str = ""
    """The absolute path of the shell script whose line starts it; '' where nothing but the script is known."""
    number: int = 0
    """Which of the launches of that shell script it is, from 0."""

    @property
    def shown_at(self) -> str:
        """The file that the run is shown for: what starts it, the script where the user types the rest."""
        return self.launch if self.launch and os.path.basename(self.launch) != COMMAND_LINE_FILE else self.script


@record(frozen=True, slots=True, eq=False)
class Launch:
    """A command of a shell script that starts a Python file of the project."""

    script: str
    command: Command
    """With the flags that the Python file gets."""
    given: tuple[Given, ...] = ()
    """The words that the Python file gets."""


def launches_in(text: str, path: str, offset: int = 0) -> tuple[Launch, ...]:
    """Return the commands of a shell text, read as the file at `path`, that start Python files of its project."""
    if not _STARTS.search(text):
        return ()
    found = []
    for command in read_shell(text, offset).commands:
        started = command.script or command
        for word, script in _scripts(started, path, is_launched=command.script is not None):
            found.append(Launch(script, started, _behind(word, started)))
    return tuple(found[:MOST_LAUNCHES])


def command_line(script: str, words: Sequence[str]) -> tuple[str, str]:
    """Return the path and the text of a shell script that would start a script with some words, though none is there."""
    folder, name = os.path.split(script)
    return os.path.join(folder, COMMAND_LINE_FILE), f"python {shlex.join([name, *words])}\n"


def _behind(word: str, command: Command) -> tuple[Given, ...]:
    """Return the words of a command behind the one that names what it starts."""
    texts = [given.value.value if isinstance(given.value, Known) else None for given in command.given]
    return command.given[texts.index(word) + 1 :] if word in texts else ()


def _scripts(command: Command, path: str, is_launched: bool) -> Iterator[tuple[str, str]]:
    """Yield the Python file that a command starts, with the word that names it.

    That is one of `python train.py`, `python -m pkg.train`, and `train.py` behind a launcher.
    """
    words = list(command.words)
    if words and _PYTHON.fullmatch(words[0]):
        words = words[1:]
    elif not is_launched and not (words and words[0].endswith(".py")):
        return
    while words and words[0] in ("-u", "-O", "-B"):
        words = words[1:]
    is_module = len(words) > 1 and words[0] == "-m"
    if is_module or (is_launched and words and not words[0].endswith(".py")):
        name = words[1] if is_module else words[0]
        located = locate(name, search_folders(path))
        if located is not None and located.file:
            yield name, os.path.join(located.folder, "__main__.py") if located.folder else located.file
    elif words and words[0].endswith(".py"):
        found = find_file(words[0], path, path)
        if found is not None:
            yield words[0], os.path.normpath(os.path.join(absolute(folder_of(found)), os.path.basename(found)))
