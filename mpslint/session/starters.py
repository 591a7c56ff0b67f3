"""Notebooks that install packages and start scripts: `!pip install transformers==4.36`, then `!torchrun scripts/train.py`."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from types import MappingProxyType

from mpslint.core.finding import ReadError
from mpslint.core.folders import names_in, remembered
from mpslint.core.outside import read_file, tree_around
from mpslint.source.document import Document
from mpslint.source.reader import read
from mpslint.target.commands import commands
from mpslint.target.requirement import Requirement

MOST_NOTEBOOKS = 20
"""Notebooks of a folder that are looked into; a folder with more of them is a collection, in which few start scripts."""
LARGEST_NOTEBOOK = 2_000_000
"""Bytes; a larger one holds pictures."""
_SCRIPT = re.compile(r"(?:^|[\s./\"'])((?:[\w-]+/)?[\w-]+\.py)(?![\w.])")


def installed_in(document: Document) -> list[Requirement]:
    """Return what the install commands in cells or in the lines of a script ask for, the last command first."""
    found: list[Requirement] = []
    for snippet in document.snippets:
        if "install" in snippet.text:
            cell = document.cell_at(snippet.span.start)
            found = [*commands(snippet.text, f"cell {cell.number}" if cell else "the file"), *found]
    return found


@remembered(maxsize=1024)
def pins_of_starters(folder: str) -> Mapping[str, tuple[Requirement, ...]]:
    """Return, by the name of each script in a folder, what the first notebook installs that starts it, beside it or one folder above."""
    scripts = {name for name in names_in(folder) if name.endswith(".py")}
    found: dict[str, tuple[Requirement, ...]] = {}
    for path in _notebooks_around(folder):
        started, pins = _started(path)
        prefix = "" if os.path.dirname(path) == folder else f"{os.path.basename(folder)}/"
        for name in scripts:
            if pins and f"{prefix}{name}" in started:
                found.setdefault(name, pins)
    return MappingProxyType(found)


def stamp_of_starters(folder: str) -> str:
    """Return a text that is another one when a notebook has changed that may start a script of a folder; none of them is read."""
    stamps = []
    for path in _notebooks_around(folder):
        with contextlib.suppress(OSError):
            found = os.stat(path)
            stamps.append((path, found.st_mtime_ns, found.st_size))
    return repr(stamps) if stamps else ""


def _notebooks_around(folder: str) -> Iterator[str]:
    """Yield the notebooks in a folder with scripts, and in the one above it."""
    if any(name.endswith(".py") for name in names_in(folder)):
        for place in dict.fromkeys((folder, os.path.dirname(folder))):
            names = sorted(name for name in names_in(place) if name.endswith(".ipynb"))
            if len(names) <= MOST_NOTEBOOKS:
                yield from (os.path.join(place, name) for name in names)


@remembered(maxsize=1024)
def _started(path: str) -> tuple[frozenset[str], tuple[Requirement, ...]]:
    """Return the scripts that the commands of a notebook name, with the folder that they lie in, and what it installs."""
    nothing = frozenset[str](), ()
    try:
        data = read_file(path, LARGEST_NOTEBOOK, tree_around(os.path.dirname(path)))
        if b"install" not in data or b".py" not in data:
            return nothing
        document = read(path, data)
    except ReadError:
        return nothing
    source = os.path.basename(path)
    pins = tuple(replace(one, source=f"{source}, {one.source}") for one in installed_in(document))
    return frozenset(_named_in(document)), pins


def _named_in(document: Document) -> Iterator[str]:
    for snippet in document.snippets:
        if "install" not in snippet.text:
            yield from _SCRIPT.findall(snippet.text)
