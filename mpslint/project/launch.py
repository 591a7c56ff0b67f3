"""What starts a run: a script by itself, or a line of a shell script that gives it its flags."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator

from mpslint.config.shell import read_shell
from mpslint.core.folders import absolute, folder_of
from mpslint.core.record import record
from mpslint.facts.facts import Command
from mpslint.project.loaded import find_file
from mpslint.project.resolve import locate, search_folders

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


@record(frozen=True, slots=True, eq=False)
class Launch:
    """A command of a shell script that starts a Python file of the project."""

    script: str
    command: Command
    """With the flags that the Python file gets."""


def launches_in(text: str, path: str, offset: int = 0) -> tuple[Launch, ...]:
    """Return the commands of a shell text, read as the file at `path`, that start Python files of its project."""
    if not _STARTS.search(text):
        return ()
    found = []
    for command in read_shell(text, offset).commands:
        started = command.script or command
        script = next(_scripts(started, path, is_launched=command.script is not None), None)
        if script is not None:
            found.append(Launch(script, started))
    return tuple(found[:MOST_LAUNCHES])


def _scripts(command: Command, path: str, is_launched: bool) -> Iterator[str]:
    """Yield the Python file that a command starts: `python train.py`, `python -m pkg.train`, `train.py` behind a launcher."""
    words = list(command.words)
    if words and _PYTHON.fullmatch(words[0]):
        words = words[1:]
    elif not is_launched and not (words and words[0].endswith(".py")):
        return
    while words and words[0] in ("-u", "-O", "-B"):
        words = words[1:]
    is_module = len(words) > 1 and words[0] == "-m"
    if is_module or (is_launched and words and not words[0].endswith(".py")):
        located = locate(words[1] if is_module else words[0], search_folders(path))
        if located is not None and located.file:
            yield os.path.join(located.folder, "__main__.py") if located.folder else located.file
    elif words and words[0].endswith(".py"):
        found = find_file(words[0], path, path)
        if found is not None:
            yield os.path.normpath(os.path.join(absolute(folder_of(found)), os.path.basename(found)))
