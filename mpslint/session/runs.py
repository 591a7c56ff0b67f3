"""Which files are checked together, because one run reads them, and what comes out of each."""

from __future__ import annotations

import functools
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field, replace
from typing import TYPE_CHECKING

from mpslint.core.collection import collect_if_due
from mpslint.core.finding import Finding, ReadError
from mpslint.core.outside import read_file
from mpslint.core.record import record
from mpslint.project.imports import has_main_guard, imports_of, search_paths_of
from mpslint.project.launch import Entry, launches_in
from mpslint.project.loaded import composed_in, paths_in
from mpslint.project.resolve import search_folders
from mpslint.project.run import Project, full_path, run_of
from mpslint.session.session import (
    FileResult,
    Options,
    check_file,
    configuration_for,
    files_of,
    names_framework_in,
    open_document,
    read_bytes,
    rules_for,
)
from mpslint.source.document import Document, Kind
from mpslint.source.files import STANDARD_INPUT, Found
from mpslint.source.reader import kind_of

if TYPE_CHECKING:
    from mpslint.engine import Checked
    from mpslint.settings.evidence import Evidence

LARGEST_PROJECT_FILE = 1_000_000
"""Bytes; a larger script is checked by itself."""


READ = (Kind.PYTHON, Kind.NOTEBOOK, Kind.YAML, Kind.JSON, Kind.SHELL)
"""What a run reads."""
MOST_STEPS = 100_000
"""Steps that walks of the runs of one group take together."""
MOST_READ_AGAIN = 6_000_000
"""Bytes of files that runs of one group may read again, beside twice what they all read once."""


@record(frozen=True, slots=True)
class Unit:
    """Files that are checked together: those asked for, by their number, and what starts the runs that read them."""

    files: tuple[tuple[int, Found], ...]
    entries: tuple[Entry, ...] = ()
    """What starts the runs that read them; nothing where a file is checked by itself."""
    reads: Mapping[int, tuple[str, ...]] = field(default_factory=dict)
    """The absolute paths of the files that the runs around each file read."""


def units_of(files: Sequence[Found], waiting: Sequence[tuple[int, Found]], options: Options) -> list[Unit]:
    """Return the units of the files that wait to be checked, out of all files; those that no run ties together stand alone."""
    graph = _Graph(options, Project(functools.partial(_unlisted, options)))
    for found in files:
        graph.add(found)
    graph.close()
    groups: dict[str, list[tuple[int, Found]]] = {}
    alone: list[Unit] = []
    for index, found in waiting:
        group = graph.group_of(full_path(found.path)) if found.path != STANDARD_INPUT else None
        if group is None:
            alone.append(Unit(((index, found),)))
        else:
            groups.setdefault(group, []).append((index, found))
    return sorted([*alone, *(graph.unit(group, tuple(members)) for group, members in groups.items())], key=lambda unit: unit.files[0][0])


def _unlisted(options: Options, path: str) -> Document | None:
    """Return the Document of a file that a run reads, though nobody asked for it to be checked; None for one that cannot be read."""
    found = Found(path, is_named=False)
    try:
        document = open_document(found, read_file(path, LARGEST_PROJECT_FILE), options)
    except ReadError:
        return None
    return document if document.kind in READ else None


@record(eq=False)
class _Graph:
    """What imports what among the files of a check."""

    options: Options
    project: Project
    guarded: set[str] = field(default_factory=set)
    """Scripts that ask whether they were started."""
    speaking: set[str] = field(default_factory=set)
    """Files that name something that rules are about."""
    files: dict[str, Found] = field(default_factory=dict)
    runs: dict[Entry, tuple[str, ...]] = field(default_factory=dict)
    """The files that each run reads, by what starts it."""
    sizes: dict[str, int] = field(default_factory=dict)
    groups: dict[str, str] = field(default_factory=dict)
    """A file of each group stands for it: the file that stands for each file, or leads there."""

    def add(self, found: Found) -> None:
        """Note what a file imports, by its text alone."""
        kind = kind_of(found.path) if found.path != STANDARD_INPUT and not found.problem else None
        if kind not in (Kind.PYTHON, Kind.NOTEBOOK, Kind.SHELL):
            return
        try:
            data = read_bytes(found, self.options)
        except ReadError:
            return
        if len(data) > LARGEST_PROJECT_FILE:
            return
        path = full_path(found.path)
        self.files[path] = found
        self.sizes[path] = len(data)
        if names_framework_in(data, found, self.options):
            self.speaking.add(path)
        text = data.decode("utf-8", "replace")
        if kind is Kind.SHELL:
            self.project.launched[path] = launches_in(text, path)
            return
        if kind is Kind.NOTEBOOK:
            text = text.replace('"', "\n")  # each line of a cell is a string of its own
            self.guarded.add(path)
        elif has_main_guard(text):
            self.guarded.add(path)
        self.project.imports[path] = tuple(imports_of(text))
        self.project.folders[path] = search_folders(path, search_paths_of(text))
        self.project.paths[path] = paths_in(text)
        self.project.composed[path] = composed_in(text)

    def close(self) -> None:
        """Find the scripts, what each of their runs reads, and which files that ties together."""
        closures = {path: self.project.closure(Entry(path)) for path in self.files if self._may_import(path)}
        imported = {file for path, closure in closures.items() if not _is_test(path) for file in closure[1:]}
        for path, closure in closures.items():
            is_script = path in self.guarded or path not in imported
            if is_script and len(closure) > 1 and not self.speaking.isdisjoint(closure):
                self.runs[Entry(path)] = closure
        for path in self.files:
            for number, launch in enumerate(self.project.launched.get(path, ())):
                entry = Entry(launch.script, path, number)
                self.runs[entry] = self.project.closure(entry)
        for entry, closure in self.runs.items():
            for file in closure:
                self._join(entry.script, file)
        self._keep_to_budget()

    def _keep_to_budget(self) -> None:
        """Leave out runs that read again and again what others of the group read: their scripts are then judged by themselves."""
        spent: dict[str, int] = {}
        seen: set[str] = set()
        launched = {entry.script for entry in self.runs if entry.launch}
        self.runs = dict(sorted(self.runs.items(), key=lambda item: (item[0].script not in launched, len(item[1]))))
        for entry, closure in list(self.runs.items()):
            group = self._root(entry.script)
            again = sum(self.sizes.get(file, 0) for file in closure if file in seen)
            if spent.get(group, 0) + again > MOST_READ_AGAIN + 2 * sum(self.sizes.get(file, 0) for file in seen):
                del self.runs[entry]
                continue
            spent[group] = spent.get(group, 0) + again
            seen.update(closure)

    def _may_import(self, path: str) -> bool:
        found = self.project
        return bool(found.imports.get(path) or found.paths.get(path) or found.composed.get(path))

    def _join(self, one: str, other: str) -> None:
        self.groups[self._root(other)] = self._root(one)

    def _root(self, path: str) -> str:
        while (above := self.groups.setdefault(path, path)) != path:
            path = above
        return path

    def group_of(self, path: str) -> str | None:
        """Return what stands for the group of a file; None for one that no run ties to another."""
        return self._root(path) if path in self.groups else None

    def unit(self, group: str, members: tuple[tuple[int, Found], ...]) -> Unit:
        """Return the unit of those of a group's files that wait: with what starts the runs that read one of them."""
        wanted = {full_path(found.path) for _, found in members}
        entries = [one for one, closure in self.runs.items() if self._root(one.script) == group and not wanted.isdisjoint(closure)]
        return Unit(members, tuple(entries), {index: self._around(full_path(found.path), entries) for index, found in members})

    def _around(self, path: str, entries: Sequence[Entry]) -> tuple[str, ...]:
        """Return the files that some runs read, as far as those read a file."""
        return tuple(dict.fromkeys(file for entry in entries if path in self.runs[entry] for file in self.runs[entry]))


def _is_test(path: str) -> bool:
    """Return whether a file tests others, so that what it imports is not started by it."""
    name = os.path.basename(path)
    return name.startswith(("test_", "conftest")) or name.endswith("_test.py")


def check_paths(paths: Sequence[str], options: Options) -> Iterator[FileResult]:
    """Check files and folders, each file within the runs that read it; yield the results in the order of the files."""
    files = list(files_of(paths, options))
    units = units_of(files, list(enumerate(files)), options)
    results = dict(pair for unit in units for pair in check_unit(unit, options))
    yield from (results[index] for index in range(len(files)))


def check_unit(unit: Unit, options: Options) -> Iterator[tuple[int, FileResult]]:
    """Yield what came out of each file of a unit. Raises UsageError when options or configuration are wrong."""
    checked = _Checked(unit, options)
    checked.walk()
    checked.project.trees.clear()  # a file by itself has its own, whose lines count from 1
    for index, found in unit.files:
        yield index, checked.result(found, check_file(found, options, checked.project.documents.get(full_path(found.path))))


def units_around(files: Sequence[Found], options: Options) -> dict[str, Unit]:
    """Return the unit of each file that a run ties to others, by its path as it is written."""
    units = units_of(files, list(enumerate(files)), options)
    return {found.path: Unit(((0, found),), unit.entries) for unit in units if unit.entries for _, found in unit.files}


def files_of_runs(files: Sequence[Found], options: Options) -> list[Found]:
    """Return some files, and behind them the other files that their runs read."""
    units = units_of(files, list(enumerate(files)), options)
    known = {full_path(found.path) for found in files}
    others = dict.fromkeys(path for unit in units for paths in unit.reads.values() for path in paths if path not in known)
    is_absolute = any(os.path.isabs(found.path) for found in files)
    return [*files, *(Found(_shown(path, is_absolute), is_named=False) for path in others)]


def _shown(path: str, is_absolute: bool) -> str:
    """Return a path as the user writes others: from the current folder, or absolute."""
    inside = path.startswith(os.path.join(os.getcwd(), ""))
    return path if is_absolute or not inside else os.path.relpath(path)


def check_changed(document: Document, alone: Checked, unit: Unit, options: Options) -> Checked:
    """Return what a Document, which counts for its file, gives within its runs; `alone` is what it gives by itself."""
    found = unit.files[0][1]
    within = _Checked(unit, options, changed={full_path(found.path): document})
    within.walk()
    return within.result(found, FileResult(found.path, alone)).checked or alone


@record(eq=False)
class _Checked:
    """What the runs of a unit gave so far."""

    unit: Unit
    options: Options
    opened: dict[str, Found] = field(default_factory=dict)
    findings: dict[str, list[Finding]] = field(default_factory=dict)
    runs: dict[str, list[Evidence]] = field(default_factory=dict)
    """The evidence of the runs that each file starts, where plans are asked for."""
    changed: Mapping[str, Document] = field(default_factory=dict)
    """Documents that count for what lies on the disk."""
    project: Project = field(default_factory=lambda: Project(lambda path: None))

    def walk(self) -> None:
        """Judge the runs."""
        from mpslint.settings.dialect import load_dialects

        self.opened = {full_path(found.path): found for _, found in self.unit.files}
        self.project = Project(self._read, load_dialects().roots)
        started = [one.script for one in self.unit.entries if one.script.endswith(".ipynb")]
        notebooks = [document for script in started if (document := self.project.document(script))]
        self.project.next_line = max([len(notebook.line_starts) for notebook in notebooks], default=0) + 1
        left = MOST_STEPS
        for entry in self.unit.entries:
            left -= self._judge(entry)
            collect_if_due()
            if left < 0:
                return  # what is left of a large group is judged file by file

    def _read(self, path: str) -> Document | None:
        if path in self.changed:
            return self.changed[path]
        found = self.opened.get(path) or Found(self._shown(path), is_named=False)
        try:
            document = open_document(found, read_bytes(found, self.options), self.options)
        except ReadError:
            return None
        return document if document.kind in READ else None

    def _shown(self, path: str) -> str:
        """Return a path as the user writes those of the unit: from the current folder, or absolute."""
        return _shown(path, os.path.isabs(self.unit.files[0][1].path))

    def _judge(self, start: Entry) -> int:
        """Judge one run; return the steps that its walk took."""
        from mpslint.engine import check_run
        from mpslint.session.targeting import target_for

        run = run_of(self.project, start)
        if run is None:
            return 0
        entry = run.parts[start.script].document
        configuration = configuration_for(entry.path, self.options)
        target = target_for(entry, configuration, self.options.target, self.options.observed)
        walked = check_run(run, target, rules_for("", configuration, self.options), self.options.with_plans, self.opened.keys())
        for path, found in walked.findings.items():
            self.findings.setdefault(path, []).extend(found)
        steps = walked.evidence.facts.steps if walked.evidence is not None else 0
        if walked.evidence is not None and self.options.with_plans:
            self.runs.setdefault(start.launch or start.script, []).append(walked.evidence)
        elif walked.evidence is not None:
            walked.evidence.facts.release()
        return steps

    def result(self, found: Found, alone: FileResult) -> FileResult:
        """Return what came out of one file: what it says by itself, and what its runs say of it beside that."""
        path = full_path(found.path)
        document = self.project.document(path)
        if document is None or alone.problem:
            return alone
        from mpslint.engine import Checked
        from mpslint.session.targeting import target_for

        configuration = configuration_for(found.path, self.options)
        wanted = {rule.id for rule in rules_for(document.path, configuration, self.options)}
        threshold = self.options.severity or configuration.severity
        checked = alone.checked
        if checked is None:
            target = target_for(document, configuration, self.options.target, self.options.observed)
            checked = Checked(document, target, (), (), ())
        said = (*checked.findings, *checked.silenced)
        known = {(one.rule, one.span) for one in said}
        if document.kind not in (Kind.PYTHON, Kind.NOTEBOOK):  # of a key and of its value one is enough
            lines = {(one.rule, document.line_at(one.span.start)) for one in said}
            known |= {(one.rule, one.span) for one in self.findings.get(path, ()) if (one.rule, document.line_at(one.span.start)) in lines}
        more = [one for one in self.findings.get(path, ()) if one.rule in wanted and one.severity.rank <= threshold.rank]
        more = list({(one.rule, one.span): one for one in reversed(more) if (one.rule, one.span) not in known}.values())
        runs = tuple(self.runs.get(path, ()))
        is_whole = len(runs) >= sum(len(one.plans) for one in checked.evidence[:1])
        own = checked.evidence[1:] if runs and (is_whole or document.kind is not Kind.SHELL) else checked.evidence
        evidence = (*runs, *own) if runs else checked.evidence
        if not more and evidence is checked.evidence:
            return alone
        return FileResult(found.path, _with_findings(replace(checked, evidence=evidence), more))


def _with_findings(checked: Checked, more: Sequence[Finding]) -> Checked:
    """Return what a check of a file gave together with what a run found in it, apart from what its comments silence."""
    from mpslint.program.parse import parse_program
    from mpslint.rule.suppression import silence

    document = checked.document
    bodies = [(document.python, parse_program(document, document.python).body)]
    silenced = silence(document, bodies, more)
    own = [one for one in checked.findings if one.span.start not in silenced.used]  # a comment that silences something is of use
    findings = sorted([*own, *silenced.kept], key=lambda one: (one.span.start, one.rule))
    return replace(checked, findings=tuple(findings), silenced=(*checked.silenced, *silenced.silenced))
