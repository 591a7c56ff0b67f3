"""Which files are checked together, because one run reads them."""

from __future__ import annotations

import functools
import os
from collections.abc import Mapping, Sequence
from dataclasses import field
from types import MappingProxyType

from mpslint.config.sections import ENDINGS as SECTIONED
from mpslint.core.finding import ReadError
from mpslint.core.record import record
from mpslint.program.unreached import read
from mpslint.project.launch import Entry, is_unwritten
from mpslint.project.resolve import checkouts_of, is_out_of
from mpslint.project.run import Project, full_path
from mpslint.session.graph import LARGEST_PROJECT_FILE, Graph
from mpslint.session.session import Options, open_document, read_bytes
from mpslint.session.view import shown_path
from mpslint.source import reader
from mpslint.source.document import Document, Kind
from mpslint.source.files import STANDARD_INPUT, FoundFile

READ = (Kind.PYTHON, Kind.NOTEBOOK, Kind.YAML, Kind.JSON, Kind.SHELL, Kind.MAKEFILE, Kind.ENV)
"""What a run reads."""


@record(frozen=True, slots=True)
class FilesTogether:
    """Files that are checked together: those asked for, by their number, and what starts the runs that read them."""

    files: tuple[tuple[int, FoundFile], ...]
    entries: tuple[Entry, ...] = ()
    """What starts the runs that read them; nothing where a file is checked by itself."""
    reads: Mapping[int, tuple[str, ...]] = field(default_factory=dict)
    """The absolute paths of the files that the runs around each file read."""
    left_out: Mapping[Entry, tuple[str, ...]] = field(default_factory=dict)
    """The files of the runs that are too much to read."""


def graph_of(files: Sequence[FoundFile], options: Options, texts: Mapping[str, bytes] = MappingProxyType({})) -> Graph:
    """Return which runs there are among some files, and around those of them that somebody named.

    `texts`, by absolute path, count for what lies on the disk.
    """
    checkouts = checkouts_of(full_path(found.path) for found in files)
    graph = Graph(options, Project(functools.partial(_unlisted, options, checkouts)), checkouts, texts)
    for found in files:
        graph.add(found)
    graph.add_around(files)
    graph.close()
    return graph


def units_of(graph: Graph, waiting: Sequence[tuple[int, FoundFile]]) -> list[FilesTogether]:
    """Return the units of the files that wait to be checked; those that no run ties together stand alone."""
    groups: dict[str, list[tuple[int, FoundFile]]] = {}
    alone: list[FilesTogether] = []
    for index, found in waiting:
        group = graph.group_of(full_path(found.path)) if found.path != STANDARD_INPUT else None
        if group is None:
            alone.append(FilesTogether(((index, found),)))
        else:
            groups.setdefault(group, []).append((index, found))
    return sorted([*alone, *(_unit(graph, tuple(members)) for members in groups.values())], key=lambda unit: unit.files[0][0])


def _unit(graph: Graph, members: tuple[tuple[int, FoundFile], ...]) -> FilesTogether:
    """Return the unit of those of a group's files that wait: with what starts the runs that read one of them."""
    paths = {index: full_path(found.path) for index, found in members}
    around = {index: graph.files_around(path) for index, path in paths.items()}
    return FilesTogether(members, graph.entries_around(paths.values()), around, graph.left_out)


def _unlisted(options: Options, checkouts: Sequence[str], path: str) -> Document | None:
    """Return the Document of a file that a run reads, to know what it names: what it starts, which takes a walk, is not looked for.

    None for one that cannot be read, and for one that another file names by `..` or through a link out of all checkouts.
    """
    if is_unwritten(path) or is_out_of(checkouts, path):
        return None
    try:
        data = read_bytes(FoundFile(path, is_named=False), options, LARGEST_PROJECT_FILE)
        document = reader.read(path, data, Kind.YAML if path.endswith(SECTIONED) else None)
    except ReadError:
        return None
    return document if document.kind in READ else None


def document_of(found: FoundFile, options: Options) -> Document | None:
    """Return the Document of a file; None for one that cannot be read, and one of a kind that no run reads."""
    try:
        data = read_bytes(found, options)
        document = read(found.path, data, Kind.YAML) if found.path.endswith(SECTIONED) else open_document(found, data, options)
    except ReadError:
        return None
    return document if document.kind in READ else None


def files_of_runs(files: Sequence[FoundFile], options: Options) -> list[FoundFile]:
    """Return some files, and behind them the other files that their runs read."""
    units = units_of(graph_of(files, options), list(enumerate(files)))
    known = {full_path(found.path) for found in files}
    known |= {one.launch for unit in units for one in unit.entries if is_unwritten(one.launch)}
    others = dict.fromkeys(path for unit in units for paths in unit.reads.values() for path in paths if path not in known)
    is_absolute = any(os.path.isabs(found.path) for found in files)
    return [*files, *(FoundFile(shown_path(path, is_absolute), is_named=False) for path in others)]
