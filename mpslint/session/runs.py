"""What comes out of files that are checked together, because one run reads them."""

from __future__ import annotations

import functools
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field, replace
from types import MappingProxyType
from typing import TYPE_CHECKING

from mpslint.core.collection import collect_if_due
from mpslint.core.finding import Finding, Related, Span
from mpslint.core.record import record
from mpslint.program.unreached import read
from mpslint.project.launch import COMMAND_LINE_FILE, Entry, command_line, is_unwritten
from mpslint.project.resolve import checkouts_of, is_out_of
from mpslint.project.run import Project, Run, full_path, run_of
from mpslint.session.agreement import (
    USED_ELSEWHERE,
    PlaceOfRule,
    by_place,
    each_once,
    fixed_as_one,
    from_one_end,
    left_to_reader,
    with_runs,
)
from mpslint.session.launched import Visit, is_used_elsewhere, visited, without_strangers
from mpslint.session.session import FileResult, Options, check_file, configuration_around, configuration_for, files_of, rules_for
from mpslint.session.units import FilesTogether, document_of, graph_of, units_of
from mpslint.session.view import shown_path
from mpslint.source.document import Document, Kind
from mpslint.source.files import FoundFile

if TYPE_CHECKING:
    from mpslint.engine import Checked
    from mpslint.settings.evidence import Evidence
    from mpslint.target.target import Target

STARTERS = (Kind.SHELL, Kind.MAKEFILE)
"""What only starts runs: where all of them are followed, it has no plan of its own."""
STARTS = "starts the run"
LINES_TYPED = 10_000
"""Lines that a notebook may gain while its runs are judged again and again."""
MOST_STEPS = 100_000
"""Steps that walks of the runs of one group take together."""


def check_paths(paths: Sequence[str], options: Options) -> Iterator[FileResult]:
    """Check files and folders, each file within the runs that read it; yield the results in the order of the files."""
    files = list(files_of(paths, options))
    units = units_of(graph_of(files, options), list(enumerate(files)))
    results = dict(pair for unit in units for pair in check_unit(unit, options))
    yield from (results[index] for index in range(len(files)))


def check_unit(unit: FilesTogether, options: Options) -> Iterator[tuple[int, FileResult]]:
    """Yield what came out of each file of a unit. Raises UsageError when options or configuration are wrong."""
    checked = Runs(unit, options)
    checked.judge()
    checked.project.trees.clear()  # a file by itself has its own, whose lines count from 1
    for index, found in unit.files:
        known = checked.project.documents.get(full_path(found.path))
        yield index, checked.result(found, check_file(found, options, bool(unit.reads.get(index)), known))
    del checked.project  # which refers back: the collector doesn't look at what it set aside before


@record(frozen=True, eq=False)
class _Judged:
    """What the walk of one run gives, by the absolute paths of its files."""

    target: Target
    findings: Mapping[str, tuple[Finding, ...]]
    ruled_out: frozenset[PlaceOfRule]
    as_one: set[str]
    """Rules whose fixes are made all or none."""
    beyond: Mapping[str, tuple[Finding, ...]]
    """What is found in files that are not of the unit, where fixes will be made."""
    visit: Visit | None = None
    steps: int = 0


@record(eq=False)
class Runs:
    """The runs of a unit, and what they gave: judged as often as files change."""

    unit: FilesTogether
    options: Options
    most_steps: int | None = None
    """Where somebody waits, fewer than MOST_STEPS."""
    is_fixing: bool = False
    """Whether fixes will be made, which reach the files of the unit only."""
    opened: dict[str, FoundFile] = field(default_factory=dict)
    findings: dict[str, list[Finding]] = field(default_factory=dict)
    runs: dict[str, list[Evidence]] = field(default_factory=dict)
    """The evidence of the runs that each file starts, where plans are asked for."""
    beyond: dict[str, Checked] = field(default_factory=dict)
    """What the runs say of files that are not of the unit, where fixes will be made: a fix must not cause an error there either."""
    tied: list[set[PlaceOfRule]] = field(default_factory=list)
    """Of each run, the places whose fixes are made all or none."""
    ruled_out: set[PlaceOfRule] = field(default_factory=set)
    """Places where a file by itself gives a finding, and a run shows that there is none."""
    by_default: dict[str, list[Finding]] = field(default_factory=dict)
    """What is found in a script that nothing but itself starts."""
    visits: dict[str, list[Visit]] = field(default_factory=dict)
    """What launch lines led through, by script."""
    reached: set[str] = field(default_factory=set)
    """Files that are read by the run of another one."""
    left_out: dict[Entry, tuple[str, ...]] = field(default_factory=dict)
    """The files of the runs that were not followed, as those before took all steps."""
    changed: Mapping[str, Document] = field(default_factory=dict)
    """Documents that count for what lies on the disk."""
    judged: dict[Entry, tuple[Mapping[str, Document | None], _Judged]] = field(default_factory=dict)
    """What runs gave while they are fixed, with the texts of all files that they read then."""

    @functools.cached_property
    def project(self) -> Project:
        """The files of the runs, each read once as long as it doesn't change."""
        return Project(self._read)

    @functools.cached_property
    def checkouts(self) -> tuple[str, ...]:
        """The folders in which the files lie that the runs read."""
        return checkouts_of(self.opened)

    def judge(self, changed: Mapping[str, Document] = MappingProxyType({})) -> None:
        """Judge the runs; `changed` are Documents, by absolute path, that count for what lies on the disk."""
        for path in {*changed, *self.changed}:
            if changed.get(path) is not self.changed.get(path):
                self.project.renew(path)
        self.changed, self.findings, self.beyond, self.runs, self.left_out, self.tied = changed, {}, {}, {}, {}, []
        self.reached = set()
        self.ruled_out, self.visits, self.by_default = set(), {}, {}
        if not self.project.next_line > 1:
            self._prepare()
        left = MOST_STEPS if self.most_steps is None else self.most_steps
        for entry in self.unit.entries:
            if left < 0:
                self.left_out[entry] = self.project.closure(entry)  # what is left of a large group is judged file by file
                continue
            left -= self._judge(entry)
            collect_if_due()
        for path, found in self.by_default.items():  # what launch lines lead through without it, only an option that none gives leads to
            visits = self.visits.get(path, ())
            known = {place for visit in visits for place in visit.found}
            kept = [one for one in found if (one.rule, one.span) in known or not any(one.span in visit for visit in visits)]
            self.findings.setdefault(path, []).extend(kept)
        self.findings = from_one_end(self.findings, self._shown_at)
        self.findings = fixed_as_one(self.findings, self.tied, self._shown_at, self.opened.keys())

    def _prepare(self) -> None:
        from mpslint.settings.dialects import load_dialects

        self.opened = {full_path(found.path): found for _, found in self.unit.files}
        self.project.known = load_dialects().roots
        started = [one.script for one in self.unit.entries if one.script.endswith(".ipynb")]
        notebooks = [document for script in started if (document := self.project.document(script))]
        longest = max([len(notebook.line_starts) for notebook in notebooks], default=0)
        self.project.next_line = longest + LINES_TYPED

    def _read(self, path: str) -> Document | None:
        if path in self.changed:
            return self.changed[path]
        if is_unwritten(path):
            entry = next(one for one in self.unit.entries if one.launch == path)
            return read(COMMAND_LINE_FILE, command_line(entry.script, entry.words)[1].encode("utf-8", "surrogateescape"), Kind.SHELL)
        found = self.opened.get(path) or FoundFile(self._shown(path), is_named=False)
        if path not in self.opened and is_out_of(self.checkouts, path):
            return None
        return document_of(found, self.options)

    def _shown(self, path: str) -> str:
        """Return a path as the user writes those of the unit: from the current folder, or absolute."""
        return shown_path(path, os.path.isabs(self.unit.files[0][1].path))

    def _judge(self, start: Entry) -> int:
        """Judge one run, by what it gave before where none of its files has changed; return the steps that its walk took."""
        from mpslint.engine import Checked

        run = run_of(self.project, start)
        if run is None:
            return 0
        files = {path: self.project.document(path) for path in run.parts}
        read, one = self.judged.get(start, ({}, None))
        if one is None or read.keys() != files.keys() or any(read[path] is not document for path, document in files.items()):
            one = self._walked(start, run)
            if self.is_fixing:
                self.judged[start] = files, one
        self.ruled_out |= one.ruled_out
        self.reached.update(run.parts.keys() - {start.script})
        self.tied.append({(path, at.rule, at.span) for path, found in one.findings.items() for at in found if at.rule in one.as_one})
        for path, found in one.findings.items():
            if path == start.shown_at == start.script:
                self.by_default.setdefault(path, []).extend(found)
                continue
            entries = () if start.shown_at == path else (_starting(run),)
            self.findings.setdefault(path, []).extend(replace(each, entries=entries) for each in found)
        for path in sorted(one.beyond):
            before = self.beyond[path].findings if path in self.beyond else ()
            self.beyond[path] = Checked(run.parts[path].document, one.target, (*before, *one.beyond[path]), (), ())
        if one.visit is not None:
            self.visits.setdefault(start.script, []).append(one.visit)
        return one.steps

    def _walked(self, start: Entry, run: Run) -> _Judged:
        """Return what a walk of a run gives."""
        from mpslint.engine import check_run
        from mpslint.session.targeting import target_for

        entry = run.parts[start.script].document
        configured = configuration_for if start.script in self.opened else configuration_around
        configuration = configured(entry.path, self.options)
        target = target_for(entry, configuration, self.options.target, self.options.observed)
        rules = rules_for("", configuration, self.options)
        walked = check_run(run, target, rules, self.opened.keys(), not self.is_fixing)
        said = {one.rule for found in walked.findings.values() for one in found}
        as_one = {rule.id for rule in rules if rule.id in said and rule.as_one}
        beyond: dict[str, tuple[Finding, ...]] = {}
        if self.is_fixing and not self.opened.keys() >= run.parts.keys():
            whole = check_run(run, target, rules, looks_ahead=False, evidence=walked.evidence).findings
            beyond = {path: found for path, found in whole.items() if path not in self.opened}
        if walked.evidence is None:
            return _Judged(target, walked.findings, walked.ruled_out, as_one, beyond)
        own = frozenset((one.rule, one.span) for one in walked.findings.get(start.script, ()))
        visit, steps = Visit(visited(run, walked.evidence), own), walked.evidence.facts.steps
        if self.options.with_plans:
            self.runs.setdefault(start.shown_at, []).append(walked.evidence)
        else:
            walked.evidence.facts.release()
        return _Judged(target, walked.findings, walked.ruled_out, as_one, beyond, visit, steps)

    def _shown_at(self, path: str, span: Span) -> str:
        document = self.project.document(path)
        return f"{document.path}:{document.place(span.start).line}" if document is not None else path

    def result(self, found: FoundFile, alone: FileResult) -> FileResult:
        """Return what came out of one file: what it says by itself, and what its runs say of it beside that."""
        path = full_path(found.path)
        document = self.project.document(path)
        if document is None or alone.problem:
            return alone
        from mpslint.engine import Checked
        from mpslint.session.targeting import target_for

        configuration = configuration_for(found.path, self.options)
        rules = rules_for(document.path, configuration, self.options)
        ids = {one.rule for one in self.findings.get(path, ())}
        wanted, as_one = {rule.id for rule in rules}, {rule.id for rule in rules if rule.id in ids and (rule.as_one or rule.leads_to)}
        threshold = self.options.severity or configuration.severity
        checked = alone.checked
        if checked is None:
            target = target_for(document, configuration, self.options.target, self.options.observed)
            checked = Checked(document, target, (), (), ())
        if document.kind is Kind.SHELL:
            checked = replace(checked, findings=without_strangers(checked.findings, path, self.project))
        visits = self.visits.get(path, ())
        of_runs = [left_to_reader(one, USED_ELSEWHERE) if is_used_elsewhere(one, visits) else one for one in self.findings.get(path, ())]
        same = by_place(of_runs)
        # What goes wrong now, by a run, awaits no fix.
        alone_now = [one for one in checked.findings if not one.awaits or all(other.awaits for other in same.get((one.rule, one.span), ()))]
        left = {(rule, span) for where, rule, span in self.ruled_out if where == path} - same.keys()
        alone_now = [one for one in alone_now if (one.rule, one.span) not in left]
        # By itself a script speaks of options that no line gives.
        alone_now = [one for one in alone_now if (one.rule, one.span) in same or not any(one.span in visit for visit in visits)]
        alone_now = [left_to_reader(one, USED_ELSEWHERE) if is_used_elsewhere(one, visits) else one for one in alone_now]
        if path in self.reached:  # a run that doesn't call a function doesn't show what it meets there
            unsure = {rule.id for rule in rules if rule.as_one or rule.leads_to}
            alone_now = [left_to_reader(one) if one.rule in unsure and (one.rule, one.span) not in same else one for one in alone_now]
        is_held = any(one.awaits and (one.rule, one.span) not in same for one in alone_now)
        checked = replace(checked, findings=tuple(with_runs(one, same.get((one.rule, one.span), ()), as_one, is_held) for one in alone_now))
        said = (*checked.findings, *checked.silenced)
        known = {(one.rule, one.span) for one in said}
        # Of a key and of its value one is enough.
        lines = {(one.rule, document.line_at(one.span.start)) for one in said if _is_written(document, one.span)}
        known |= {(one.rule, one.span) for one in of_runs if (one.rule, document.line_at(one.span.start)) in lines}
        more = [one for one in of_runs if one.rule in wanted and one.severity.rank <= threshold.rank]
        unknown = [one for one in more if (one.rule, one.span) not in known]
        worst: dict[tuple[str, Span], Finding] = {}
        for one in sorted(unknown, key=lambda one: one.severity.rank):
            worst.setdefault((one.rule, one.span), one)
        same = by_place(unknown)
        more = [with_runs(one, same[key], as_one) for key, one in worst.items()]
        runs = tuple(self.runs.get(path, ()))
        is_whole = len(runs) >= sum(len(one.plans) for one in checked.evidence[:1])
        is_own = any(one.document.started is not None and one.document.started.document.path == document.path for one in runs)
        own = checked.evidence[1:] if is_own or (runs and is_whole and document.kind in STARTERS) else checked.evidence
        evidence = (*runs, *own) if runs else checked.evidence
        left_out = {**self.unit.left_out, **self.left_out}
        scripts = tuple(dict.fromkeys(self._shown(one.script) for one, files in left_out.items() if path in files))
        if not more and evidence is checked.evidence:
            return replace(alone, checked=checked if alone.checked is not None else None, left_out=scripts)
        return FileResult(found.path, _with_findings(replace(checked, evidence=evidence), more), left_out=scripts)


def _is_written(document: Document, span: Span) -> bool:
    """Return whether a place is not in Python: in a configuration file, a shell script, or the line of a notebook."""
    return document.kind not in (Kind.PYTHON, Kind.NOTEBOOK) or any(span in snippet.span for snippet in document.snippets)


def _starting(run: Run) -> Related:
    """Return what starts a run: the line of a shell script, or the script itself, without a line."""
    if run.command is not None and not is_unwritten(run.launch):
        place = run.document.place(run.command.span.start)
        return Related(Span(0, 0), STARTS, place.path or run.document.path, place.line, place.column)
    return Related(Span(0, 0), STARTS, run.parts[run.script].document.path)


def _with_findings(checked: Checked, more: Sequence[Finding]) -> Checked:
    """Return what a check of a file gave together with what a run found in it, apart from what its comments silence."""
    from mpslint.program.parse import parse_program
    from mpslint.rule.suppression import silence

    document = checked.document
    bodies = [(document.python, parse_program(document, document.python).body)]
    silenced = silence(document, bodies, more)
    own = [one for one in checked.findings if one.span.start not in silenced.used]  # a comment that silences something is of use
    findings = sorted(each_once([*own, *silenced.kept]), key=lambda one: (one.span.start, one.rule))
    return replace(checked, findings=tuple(findings), silenced=(*checked.silenced, *silenced.silenced))
