"""Notebooks that install packages and start scripts: `!pip install transformers==4.36`, then `!torchrun scripts/train.py`."""

from __future__ import annotations

import contextlib
import math
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

from mpslint.core.finding import ReadError
from mpslint.core.folders import names_in, remembered
from mpslint.core.grouped import grouped
from mpslint.core.outside import read_file, repository_of, tree_around
from mpslint.program.unreached import read
from mpslint.project.imports import notebooks_in
from mpslint.project.launch import launches_in
from mpslint.source.document import Document
from mpslint.target.commands import commands
from mpslint.target.packages import canonical, needs_of, newest_versions
from mpslint.target.requirement import Requirement

LARGEST_NOTEBOOK = 2_000_000
"""Bytes; a larger one holds pictures."""
_IMPORT = re.compile(r"^[ \t]*(?:from|import)[ \t]+(\w+)", re.MULTILINE)
_CALLS_PIP = re.compile(r"^(?:subprocess\.\w+|os\.system)\(.*\binstall\b.*\)[ \t]*$", re.MULTILINE)
_VARIABLE = re.compile(r"\{([A-Za-z_]\w*)\}|\$([A-Za-z_]\w*)")
_NEW_KERNEL = re.compile(r"restart|os\.kill|os\._exit|do_shutdown", re.IGNORECASE)
"""Words of a notebook that has its reader start the kernel anew, or does so itself."""


def installed_in(document: Document, end: int | None = None) -> list[Requirement]:
    """Return what the install commands in cells or in the lines of a script ask for, the last command first; only those before an `end`.

    What a kernel has imported stays what it is: a later command has no say on it in the notebook, only for scripts that are started.
    """
    found: list[Requirement] = []
    asked: dict[str, float] = {}
    """Where each package is imported that a command asks for."""
    for start, text in sorted(_lines_that_install(document)):
        text = text if end is None else text[: max(0, end - start)]
        if "install" in text:
            cell = document.cell_at(start)
            source = f"cell {cell.number}" if cell else "the file"
            new = [replace(one, command=start + one.command) for one in commands(_with_values(text, document.text), source)]
            if cell is not None and end is None:
                new = [one for one in new if one.name not in asked or asked[one.name] >= cell.span.start]
                asked.update({one.name: _imported_at(one.name, document, start + len(text)) for one in new if one.name not in asked})
            found += new
    return found[::-1]


def _lines_that_install(document: Document) -> Iterator[tuple[int, str]]:
    """Yield the shell text of a document, and the lines of a notebook that have Python call pip under no condition, each with its place."""
    yield from ((snippet.span.start, snippet.text) for snippet in document.snippets)
    if document.cells:
        yield from ((found.start(), found.group()) for found in _CALLS_PIP.finditer(document.code))


def _with_values(line: str, text: str) -> str:
    """Return a command with the texts for which its Python variables stand (`torch=={VERSION}`), where a text assigns each once."""

    def value(found: re.Match[str]) -> str:
        name = re.escape(found.group(1) or found.group(2))
        said = re.findall(rf"^{name}[ \t]*=[ \t]*[\"']([\w.+]+)[\"'][ \t]*(?:#.*)?$", text, re.MULTILINE)
        return said[0] if len(said) == 1 and len(re.findall(rf"\b{name}\b[ \t]*[+:]?=(?!=)", text)) == 1 else found.group()

    return _VARIABLE.sub(value, line) if "{" in line or "$" in line else line


def _imported_at(package: str, document: Document, start: int) -> float:
    """Return where a notebook imports a package, or one that needs it, after some place; infinity where the kernel starts anew later."""
    if "imports" not in document.memo:
        newest, text = newest_versions(), document.text
        imports = [(match.start(), canonical(match[1])) for match in _IMPORT.finditer(text)]
        restarted = max((match.start() for match in _NEW_KERNEL.finditer(text)), default=-1)
        document.memo["imports"] = restarted, [(place, name) for place, name in imports if name in newest]
    restarted, known = document.memo["imports"]
    places = (place for place, name in known if place >= start and _brings(name, package))
    return math.inf if restarted >= start else next(places, math.inf)


def _brings(name: str, package: str) -> bool:
    """Return whether the import of a package imports another one, too."""
    return name == package or any(need.name == package and need.is_required for need in needs_of(name, newest_versions()[name]))


@remembered(maxsize=1024)
def pins_of_starters(folder: str) -> Mapping[str, tuple[Requirement, ...]]:
    """Return, by the name of each script in a folder, what notebooks beside it or one folder above install before they start it.

    A package that two notebooks ask for in other versions is left out: nobody can say which of them the reader runs.
    """
    started = ((*os.path.split(script), pins) for path in _notebooks_around(folder) for script, pins in _started(path).items())
    found = grouped((name, pins) for where, name, pins in started if where == folder)
    return MappingProxyType({name: _agreed(pins) for name, pins in found.items()})


def _agreed(notebooks: Sequence[tuple[Requirement, ...]]) -> tuple[Requirement, ...]:
    """Return what notebooks install, without the packages of which one of them installs another version than the others."""
    asked: dict[str, set[str]] = {}
    for pins in notebooks:
        first = {one.name: one.spec for one in reversed(pins)}  # the last command comes first, and counts
        for name, spec in first.items():
            asked.setdefault(name, set()).add(spec)
    return tuple(one for pins in notebooks for one in pins if len(asked[one.name]) == 1)


def stamp_of_starters(folder: str) -> str:
    """Return a text that is another one when a notebook has changed that may start a script of a folder; none of them is read."""
    stamps = []
    for path in _notebooks_around(folder):
        with contextlib.suppress(OSError):
            found = os.stat(path)
            stamps.append((path, found.st_mtime_ns, found.st_size))
    return repr(stamps) if stamps else ""


def _notebooks_around(folder: str) -> Iterator[str]:
    """Yield the notebooks in a folder with scripts, and in the one above it, which no repository's own folder has."""
    if any(name.endswith(".py") for name in names_in(folder)):
        for place in dict.fromkeys((folder, folder if repository_of(folder) == folder else os.path.dirname(folder))):
            yield from (os.path.join(place, name) for name in notebooks_in(place))


@remembered(maxsize=1024)
def _started(path: str) -> Mapping[str, tuple[Requirement, ...]]:
    """Return the scripts that a notebook starts, by their absolute paths, with what it has installed by then."""
    try:
        data = read_file(path, LARGEST_NOTEBOOK, tree_around(os.path.dirname(path)))
        if b"install" not in data or (b".py" not in data and b" -m " not in data):
            return MappingProxyType({})
        document = read(path, data)
    except ReadError:
        return MappingProxyType({})
    source = os.path.basename(path)
    found: dict[str, tuple[Requirement, ...]] = {}
    for launch in launches_in(document, path):
        pins = tuple(replace(one, source=f"{source}, {one.source}") for one in installed_in(document, launch.command.span.start))
        if pins:
            found.setdefault(launch.script, pins)
    return MappingProxyType(found)
