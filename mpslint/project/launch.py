"""What starts a run: a script by itself, or a command that gives it its flags, in whatever file of the project it stands."""

from __future__ import annotations

import dataclasses
import functools
import os
import re
import shlex
from collections.abc import Iterator, Sequence

from mpslint.config.groups import DEBUGGER_FILE, WORKFLOWS, groups_in
from mpslint.core.folders import absolute, folder_of
from mpslint.core.knowledge import platform_data
from mpslint.core.outside import is_file
from mpslint.core.record import record
from mpslint.facts.facts import Command, Given
from mpslint.facts.values import Known
from mpslint.project.loaded import find_file
from mpslint.project.resolve import folders_above, locate, project_folder, search_folders
from mpslint.source.document import Document, Kind

COMMAND_LINE_FILE = "<command line>"
"""What stands for the file of a launch that stands in no file, in the folder of what it starts."""
MORE_WORDS = '"$@"'
"""A word of such a launch that others may follow."""
MOST_LAUNCHES = 12
"""Commands of one file that are followed; a longer list repeats one script."""
_PYTHON = re.compile(r"(?:.*/)?python[\d.]*")
_STARTS = re.compile(r"\b(?:python[\d.]*|torchrun|accelerate|deepspeed)\b|\.py\b")
_LINE = re.compile(r"^[ \t]*(?:[!%][^\n]*(?:\.py\b| -m )|%%(?:bash|sh)\b)", re.MULTILINE)
"""A line of a notebook that may start a script."""
_OPEN = re.compile(r"\$\w*py|\$\{\w*py|\{sys\.executable\}", re.IGNORECASE)
"""The beginning of a command whose program is a variable that is named after Python."""
_PROGRAM_WORDS = ("-W", "-X")
"""Options of Python that take a word."""


@record(frozen=True, slots=True)
class Entry:
    """What starts a run."""

    script: str
    """The absolute path of the Python file that is started."""
    launch: str = ""
    """The absolute path of the file that holds the command which starts it; '' where nothing but the script is known."""
    number: int = 0
    """Which of the launches of that file it is, from 0."""
    words: tuple[str, ...] = ()
    """The words of a launch that stands in no file."""

    @property
    def shown_at(self) -> str:
        """The file that the run is shown for: what starts it, the script where no file does."""
        return self.script if not self.launch or is_unwritten(self.launch) else self.launch


@record(frozen=True, slots=True, eq=False)
class Launch:
    """A command that starts a Python file of the project."""

    script: str
    command: Command
    """With the flags that the Python file gets."""
    given: tuple[Given, ...] = ()
    """The words that the Python file gets."""
    launcher: Command | None = None
    """The whole command, with the flags of what launches the file and the environment variables that both get."""


def is_unwritten(path: str) -> bool:
    """Return whether a path stands for no file, but for a command that the user types or may type."""
    return os.path.basename(path).startswith(COMMAND_LINE_FILE)


def is_launcher(path: str, kind: Kind | None) -> bool:
    """Return whether a file that is neither Python nor a notebook may hold commands that start Python files, by its name."""
    if kind is Kind.JSON:
        return os.path.basename(path) == DEBUGGER_FILE
    if kind is Kind.YAML:
        return WORKFLOWS in path.replace(os.sep, "/")
    return kind in (Kind.SHELL, Kind.MAKEFILE)


def may_launch(path: str, kind: Kind | None, text: str) -> bool:
    """Return whether the text of a file may hold a command that starts a Python file: asked of each before it is read as what it is.

    The lines of a notebook's cells stand for themselves in `text`.
    """
    if kind is Kind.NOTEBOOK or kind is Kind.PYTHON:
        is_command = (".py" in text or " -m " in text or "%%" in text) and _LINE.search(text) is not None
        return is_command or (kind is Kind.PYTHON and may_start(text))
    return is_launcher(path, kind) and (kind is Kind.JSON or _STARTS.search(text) is not None)


def may_start(text: str) -> bool:
    """Return whether a Python text calls, or renames, a function that starts programs, and names a script."""
    return ".py" in text and any(module in text and function.search(text) is not None for module, function in _starters())


@functools.cache
def _starters() -> tuple[tuple[str, re.Pattern[str]], ...]:
    """The module of each function that starts programs, and the pattern of its name where it is called or renamed."""
    names = [name.rpartition(".") for name in platform_data("launchers")["functions"]]
    return tuple((module, re.compile(rf"{last}(?<!\w{last})(?:[\s\\]*\(|\s+as\b)")) for module, _, last in names)


def launches_in(document: Document, path: str, offset: int = 0) -> tuple[Launch, ...]:
    """Return the commands of a file that start Python files of its project; `offset` is where its text begins in a joined one."""
    found: list[Launch] = []
    folder: str | None = ""
    is_asked = document.snippets or document.spawned or is_launcher(path, document.kind)
    for group in groups_in(document, offset) if is_asked else ():  # other configuration files start nothing
        here = _gone_to(group.folder, folder, path) if group.folder else folder
        ends: list[tuple[int, str | None]] = []  # where each `(cd folder; ...)` ends, and the folder to go back to
        for command in group.commands:
            while ends and command.span.start > ends[-1][0]:
                here = ends.pop()[1]
            if command.words[:1] in (("cd",), ("pushd",)):
                ends += _parentheses(document.text, command.span.start - offset, offset, here)
                word = command.words[1] if len(command.words) > 1 else ""
                here = _gone_to(word, here, path)
                if here is None and os.path.isabs(word) and not document.cells:
                    here = ""  # where the project lies on the machine of who wrote it
            elif command.words[:1] == ("popd",):
                here = folder
            elif here is not None:
                started = command.script or command
                for word, script in _scripts(started, path, here, is_launched=command.script is not None):
                    given = dataclasses.replace(started, variables=command.variables)
                    found.append(Launch(script, given, _behind(word, started), command))
        folder = here if group.is_lasting else folder
    return tuple(one for one in found if one.script != path)[:MOST_LAUNCHES]


def _parentheses(text: str, start: int, offset: int, folder: str | None) -> list[tuple[int, str | None]]:
    """Return where the parentheses end that a command opens a shell of its own in, with the folder before it; nothing without them."""
    end = text.find(")", start) if text[:start].rstrip(" \t")[-1:] == "(" else -1
    return [(offset + end, folder)] if end >= 0 else []


def _gone_to(word: str, folder: str | None, path: str) -> str | None:
    """Return the folder of the project that `cd` leads to, seen from another one or from anywhere ('').

    That is '' again for one that only the shell knows, and None for one that is not of the project: it is cloned or made by then.
    """
    if not word or word in ("-", "~") or "$" in word or "`" in word or "{" in word:
        return ""
    own = os.path.normpath(absolute(folder_of(path)))
    outermost = project_folder(own)
    bases = [folder] if folder else list(folders_above(own, outermost))
    parts = [part for part in word.replace("\\", "/").split("/") if part not in ("", ".")]
    if not os.path.isabs(word) and not word.startswith("~"):
        for base in bases:
            found = os.path.normpath(os.path.join(base, *parts)) if parts else base
            if os.path.isdir(found):
                return found if found == outermost or found.startswith(os.path.join(outermost, "")) else ""
    for first in range(len(parts)):
        for base in bases:
            found = os.path.normpath(os.path.join(base, *parts[first + 1 :]))
            if os.path.basename(base) == parts[first] and os.path.isdir(found):
                return found
    return None


def _file(word: str, path: str, folder: str) -> str | None:
    """Return the Python file of the project that a word of a command means, which is given in a folder, or anywhere ('')."""
    if folder and not os.path.isabs(word):
        found = os.path.normpath(os.path.join(folder, word))
        inside = os.path.join(project_folder(os.path.normpath(absolute(folder_of(path)))), "")
        return found if found.startswith(inside) and is_file(found) else None
    found_file = find_file(word, path, path)
    if found_file is not None or not os.path.isabs(word):
        return found_file
    above = _gone_to(os.path.dirname(word), "", path)
    return find_file(os.path.join(above, os.path.basename(word)), path, path) if above else None


def command_line(script: str, words: Sequence[str]) -> tuple[Entry, str]:
    """Return how a script starts with some words, and the text of a shell script that would start it so, though none is there."""
    folder, name = os.path.split(script)
    own = COMMAND_LINE_FILE if MORE_WORDS not in words else f"{COMMAND_LINE_FILE} {shlex.join([name, *words]).replace(os.sep, ' ')}"
    text = " ".join(word if word == MORE_WORDS else shlex.quote(word) for word in ("python", name, *words))
    return Entry(script, os.path.join(folder, own), words=tuple(words)), text + "\n"


def _behind(word: str, command: Command) -> tuple[Given, ...]:
    """Return the words of a command behind the one that names what it starts."""
    texts = [given.value.value if isinstance(given.value, Known) else None for given in command.given]
    return command.given[texts.index(word) + 1 :] if word in texts else ()


def _scripts(command: Command, path: str, folder: str, is_launched: bool) -> Iterator[tuple[str, str]]:
    """Yield the Python file that a command starts in a folder, with the word that names it.

    That is one of `python train.py`, `python -m pkg.train`, `%run train.py` (without its sign), and `train.py` behind a launcher.
    """
    words = list(command.words)
    if words and (_PYTHON.fullmatch(words[0]) or words[0] == "run" or _OPEN.match(words[0])):
        words = words[1:]
    elif not is_launched and not (words and words[0].endswith(".py")):
        return
    while words and words[0][:1] == "-" and words[0] not in ("-m", "-c", "-"):
        words = words[2:] if words[0] in _PROGRAM_WORDS else words[1:]
    is_module = len(words) > 1 and words[0] == "-m"
    if is_module or (is_launched and words and not words[0].endswith(".py")):
        name = words[1] if is_module else words[0]
        located = locate(name, search_folders(os.path.join(folder, os.path.basename(path)) if folder else path))
        if located is not None and located.file:
            yield name, os.path.join(located.folder, "__main__.py") if located.folder else located.file
    elif words and words[0].endswith(".py"):
        found = _file(words[0], path, folder)
        if found is not None:
            yield words[0], os.path.normpath(os.path.join(absolute(folder_of(found)), os.path.basename(found)))
