"""One run of mpslint over many files: which files, which rules, which Target, and what came out of each file."""

from __future__ import annotations

import fnmatch
import itertools
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from mpslint.core.finding import ReadError, Severity, Span, UsageError
from mpslint.core.folders import folder_of
from mpslint.core.notices import forget, notice
from mpslint.core.outside import LARGEST_FILE, read_file
from mpslint.core.record import record
from mpslint.program.parse import parse_program
from mpslint.program.unreached import read
from mpslint.rule.frameworks import names_framework
from mpslint.session.configuration import Configuration, find_configuration, load_configuration, overridden
from mpslint.source.document import Document, Kind, Unread
from mpslint.source.files import STANDARD_INPUT, FoundFile, each_once, find_files, is_excluded
from mpslint.source.reader import MARKDOWN, is_text_notebook, kind_of

if TYPE_CHECKING:  # what follows is only loaded for a file that rules may have something to say about
    from mpslint.core.finding import Finding
    from mpslint.engine import Checked
    from mpslint.rewrite.apply import Fixed
    from mpslint.rewrite.ignores import Ignored
    from mpslint.rule.rule import Rule
    from mpslint.target.target import Target


@record(frozen=True)
class Options:
    """What the command line asks for; configuration files say what it leaves open."""

    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    severity: Severity | None = None
    exclude: tuple[str, ...] = ()
    force_exclude: bool = False
    target: Mapping[str, str] = field(default_factory=dict)
    """Versions by package, and `memory` and `chip`."""
    observed: Mapping[str, str] = field(default_factory=dict)
    """Versions that an error text gives away."""
    largest_batch: int | None = None
    """The largest micro-batch that the Mac takes, where that was worked out."""
    config: Path | None = None
    overrides: tuple[str, ...] = ()
    """Single settings (`target.torch=2.9`), which count for more than a configuration file."""
    isolated: bool = False
    with_plans: bool = False
    """Training plans are asked for, of every file that speaks of a run, whether rules have anything to say of it or not."""
    stdin: bytes = b""
    stdin_filename: str = ""
    stdin_kind: Kind | None = None
    """What standard input is read as, where somebody knows better than its name."""
    extend_select: tuple[str, ...] = ()
    """Rules beside those that `select`, here or in the configuration, names."""
    per_file_ignores: tuple[tuple[str, str], ...] = ()
    """(pattern, rule): patterns count from the working directory."""
    respect_gitignore: bool = True
    started: tuple[str, ...] = ()
    """The words with which the script that is named is started, where the user says them."""

    def selected(self, configuration: Configuration) -> tuple[str, ...]:
        """Return the words that choose rules; none of them means all rules but those on request."""
        return self.select or configuration.select


@record(frozen=True, eq=False)
class FileResult:
    """What came out of one file: a check, or the one line that says why there is none. Neither: it holds nothing that could matter."""

    path: str
    checked: Checked | None = None
    problem: str = ""
    hidden: tuple[Finding, ...] = ()
    """Findings below the severity that was asked for."""
    left_out: tuple[str, ...] = ()
    """Scripts whose runs read the file, and were not followed, as they would take too long."""

    @property
    def findings(self) -> tuple[Finding, ...]:
        """The findings, if the file could be read."""
        return self.checked.findings if self.checked is not None else ()


def configuration_for(path: str, options: Options) -> Configuration:
    """Return the configuration that holds for a path. Raises UsageError for a file that is wrong."""
    if path == STANDARD_INPUT:
        path = options.stdin_filename
    return configuration_in(path if os.path.isdir(path) else os.path.dirname(path), options)


def configuration_around(path: str, options: Options) -> Configuration:
    """Return the configuration that holds for a path which nobody asked about: the defaults where that is wrong, which is noted."""
    try:
        found = configuration_for(path, options)
        if found.written:
            _refuse_wrong(found)
    except UsageError as error:
        notice(str(error), f"{error} (a configuration that nobody asked about: the files there are judged by the defaults)")
        return Configuration()
    return found


def _refuse_wrong(configuration: Configuration) -> None:
    """Raise UsageError for a configuration with a rule, a folder of rules, a pattern or a version that doesn't exist."""
    from mpslint.session.targeting import target_for

    try:
        rules_for("", configuration, Options())
        target_for(Document(STANDARD_INPUT, Kind.PYTHON, ""), configuration, {})
        is_excluded(os.curdir, configuration.exclude, configuration.folder)
    except UsageError as error:
        raise UsageError(f"{configuration.path}: {str(error).removeprefix(f'{configuration.path}: ')}") from None


def configuration_in(folder: str, options: Options) -> Configuration:
    """Return the configuration that holds for what lies in a folder. Raises UsageError for a file that is wrong."""
    if options.isolated:
        found = Configuration()
    elif options.config is not None:
        found = load_configuration(options.config)
    else:
        found = find_configuration(folder)
    return overridden(found, options.overrides) if options.overrides else found


def files_of(paths: Sequence[str], options: Options) -> Iterator[FoundFile]:
    """Yield the files to check below some paths, without those that options and configuration exclude.

    What the configuration of the path excludes is left out, and of what lies deeper also what the nearest configuration there excludes.
    Each file comes once, as it was named first.
    """
    found = itertools.chain.from_iterable(_below(path, options) for path in paths)
    return each_once(found) if len(paths) > 1 else found


def _below(path: str, options: Options) -> Iterator[FoundFile]:
    configuration = configuration_for(path, options)
    exclude = (*configuration.exclude, *options.exclude)
    if path == STANDARD_INPUT and options.force_exclude and is_excluded(options.stdin_filename or path, exclude, configuration.folder):
        return
    folder, own = "", configuration
    is_nearest = options.config is None and not options.isolated
    for found in find_files([path], exclude, configuration.folder, options.force_exclude, options.respect_gitignore):
        if is_nearest and not found.is_named and (here := folder_of(found.path)) != folder:
            folder, own = here, configuration_in(here, options)
        if found.is_named or own is configuration or not is_excluded(found.path, own.exclude, own.folder):
            yield found


def read_bytes(found: FoundFile, options: Options, most: int = LARGEST_FILE) -> bytes:
    """Return the bytes of a file, or of standard input. Raises ReadError with the one line to show."""
    if found.problem:
        raise ReadError(f"{found.path}: {found.problem}")
    if found.path == STANDARD_INPUT:
        return options.stdin
    return read_file(found.path, most)


def open_document(found: FoundFile, data: bytes, options: Options) -> Document:
    """Return the Document of a file's bytes. Raises ReadError with the one line to show."""
    is_input = found.path == STANDARD_INPUT
    name = (options.stdin_filename or STANDARD_INPUT) if is_input else found.path
    kind, ending = (options.stdin_kind if is_input else None) or kind_of(name), Path(name).suffix
    if kind is None and ending and "py" not in ending and ending.lower() not in MARKDOWN:
        kinds = "Python, notebooks (.ipynb, .qmd, .md), shell scripts, Makefiles, YAML, JSON, .env files and Dockerfiles"
        raise ReadError(f"{name}: not a kind of file that mpslint checks, which are {kinds} (requirements count for the code beside them)")
    if kind is None and is_input and not ending:  # unnamed text; JSON can only be a notebook
        kind = Kind.NOTEBOOK if data.lstrip()[:1] == b"{" and b'"cells"' in data else Kind.PYTHON
    document = read(name, data, kind)
    return document if found.is_named or not document.language else replace(document, language="")  # nobody asked for this one


def check_file(found: FoundFile, options: Options, is_reached: bool = False, document: Document | None = None) -> FileResult:
    """Check one file; `is_reached` says that runs read it, which are judged beside it. `document` is its Document, if it is known.

    Raises UsageError when options or configuration are wrong, never for what the file holds.
    """
    try:
        data = read_bytes(found, options)
        configuration = configuration_for(options.stdin_filename or found.path, options)
        if not _may_matter(found, data, configuration, options):
            return _unread_only(found, data, configuration, options)
        return _checked(found, document or open_document(found, data, options), configuration, options, is_reached)
    except ReadError as error:
        forget(os.path.abspath(found.path))
        return FileResult(found.path, problem=str(error))
    except RecursionError:
        return FileResult(found.path, problem=f"{found.path}: too deeply nested to be checked")


def _may_matter(found: FoundFile, data: bytes, configuration: Configuration, options: Options) -> bool:
    """Return whether a file names what rules are about, or is not what its name says: then it is read after all, so that this is said."""
    is_notebook = kind_of(found.path) is Kind.NOTEBOOK and not is_text_notebook(found.path, data)
    broken = data.lstrip()[:1] != b"{" or data.rstrip()[-1:] != b"}" if is_notebook else b"\0" in data[:8192]
    return broken or names_framework_in(data, configuration, options)


def names_framework_in(data: bytes, configuration: Configuration, options: Options) -> bool:
    """Return whether a file names anything that rules are about: any may, where the user has rules, dialects or stubs of their own.

    Where rules are chosen, they are loaded, so that wrong names are said.
    """
    configured = configuration.select or configuration.ignore or configuration.per_file_ignores or any(configuration.own_folders())
    given = options.select or options.extend_select or options.ignore or options.per_file_ignores
    if (configured or given) and not rules_for("", configuration, options):
        return False
    return any(configuration.own_folders()) or names_framework(data)


def _unread_only(found: FoundFile, data: bytes, configuration: Configuration, options: Options) -> FileResult:
    """Return what cannot be read of a file that rules have nothing to say about, if the user named it, and of a notebook always."""
    if not found.is_named and kind_of(found.path) is not Kind.NOTEBOOK:
        return FileResult(found.path)
    document = open_document(found, data, options)
    if not found.is_named:
        return FileResult(found.path)
    unread = (*document.unread, *(parse_program(document, document.python).unread if document.python else ()))
    if document.kind is not Kind.PYTHON or options.target or configuration.target:
        return _checked(found, document, configuration, options)  # a Target that cannot be read is said
    return FileResult(found.path, problem=_problem(document, unread[0]) if unread else "")


def _checked(found: FoundFile, document: Document, configuration: Configuration, options: Options, is_reached: bool = False) -> FileResult:
    from mpslint.engine import check
    from mpslint.session.targeting import target_for

    rules = rules_for(document.path, configuration, options)
    target = target_for(document, configuration, options.target, options.observed)
    checked = check(document, target, rules, found.is_named, is_reached)
    problem = syntax_problem(checked, found.is_named)
    if problem:
        return FileResult(found.path, problem=problem)
    threshold = options.severity or configuration.severity
    kept = tuple(finding for finding in checked.findings if finding.severity.rank <= threshold.rank)
    hidden = tuple(finding for finding in checked.findings if finding.severity.rank > threshold.rank)
    return FileResult(found.path, replace(checked, findings=kept, silenced=()), hidden=hidden)


def _problem(document: Document, part: Unread) -> str:
    place = document.place(part.span.start)
    return f"{document.path}:{place.line}:{place.column}: {part.reason}"


def fix_file(found: FoundFile, options: Options, unsafe: bool, within: Callable[[Checked], Checked] = lambda checked: checked) -> Fixed:
    """Fix one file in memory; `within` adds what the runs around it say of it.

    Raises ReadError for one that cannot be read, FixError when a fix goes wrong, UsageError.
    """
    from mpslint.rewrite.apply import fix

    one = to_fix(found, options)
    return unless_unread(found, fix(one.document, one.target, one.rules, unsafe, one.is_asked, within), options)


def unless_unread(found: FoundFile, fixed: Fixed, options: Options) -> Fixed:
    """Return what fixing a file gave. Raises ReadError for a script that could not be parsed, where somebody wants to know."""
    configuration = configuration_for(options.stdin_filename or found.path, options)
    is_wanted = found.is_named or _may_matter(found, fixed.original, configuration, options)
    if is_wanted and (problem := syntax_problem(fixed.before, found.is_named)):
        raise ReadError(problem)
    return fixed


def syntax_problem(checked: Checked, is_named: bool = False) -> str:
    """Return the one line that says why a script, or a configuration file that was named, could not be read.

    It is '' for a notebook, which loses no more than a cell, and for a template, which isn't YAML before it is filled in.
    """
    document, unread = checked.document, checked.unread
    if document.kind in (Kind.YAML, Kind.JSON) and is_named and not any(one.facts.configs for one in checked.evidence):
        from mpslint.config.yaml_source import read_yaml_source

        config = read_yaml_source(document.text)
        is_template = "{{" in document.text or "{%" in document.text
        unread = (Unread(Span(config.problem_at, config.problem_at), config.problem),) if config.problem and not is_template else ()
    elif document.kind is not Kind.PYTHON:
        return ""
    return _problem(document, unread[0]) if unread else ""


def add_ignores_to(found: FoundFile, options: Options, reason: str, wanted: Callable[[Finding], bool] = lambda finding: True) -> Ignored:
    """Write comments that silence those of a file's findings that are wanted, in memory. Raises ReadError, FixError and UsageError."""
    from mpslint.rewrite.ignores import add_ignores

    one = to_fix(found, options)
    return add_ignores(one.document, one.target, one.rules, reason, lambda finding: one.is_asked(finding) and wanted(finding))


@record(frozen=True, slots=True, eq=False)
class ToFix:
    """A file that is to be fixed: by which rules, for which Target."""

    found: FoundFile
    document: Document
    target: Target
    rules: tuple[Rule, ...]
    least: Severity

    def is_asked(self, finding: Finding) -> bool:
        """Return whether a finding is severe enough to be asked for."""
        return finding.severity.rank <= self.least.rank


def to_fix(found: FoundFile, options: Options) -> ToFix:
    """Return what fixing a file takes. Raises ReadError."""
    from mpslint.session.targeting import target_for

    document = open_document(found, read_bytes(found, options), options)
    configuration = configuration_for(document.path, options)
    target = replace(target_for(document, configuration, options.target, options.observed), largest_batch=options.largest_batch)
    rules = rules_for(document.path, configuration, options)
    return ToFix(found, document, target, rules, options.severity or configuration.severity)


def rules_of(files: Iterable[FoundFile], options: Options) -> tuple[Rule, ...]:
    """Return every rule that some of the files are judged by."""
    rules = {rule.id: rule for found in files for rule in rules_for(found.path, configuration_for(found.path, options), options)}
    return tuple(sorted(rules.values(), key=lambda rule: rule.id))


def rules_for(path: str, configuration: Configuration, options: Options) -> tuple[Rule, ...]:
    """Return the rules to judge a file by. Raises UsageError for a rule that does not exist, naming the closest one, and for a mistake in
    a rule or a stub of the user's own."""
    from mpslint.rule.loading import load_rules
    from mpslint.rule.selection import refuse_unknown, select_rules

    where = configuration.path or "--config"
    for key, folder in configuration.own_folders():
        if not os.path.isdir(folder):
            raise UsageError(f"{where}: {key}: there is no folder {folder}")
    if configuration.stubs:
        from mpslint.program.stubs.library import library_of

        library_of(configuration.stubs).read_all()
    rules = load_rules(configuration.rules)
    written = (*configuration.select, *configuration.ignore, *(name for names in configuration.per_file_ignores.values() for name in names))
    refuse_unknown(rules, written, f"{where}: ")
    refuse_unknown(rules, tuple(rule for _, rule in options.per_file_ignores), "--per-file-ignores: ")
    ignored = (*configuration.ignore, *options.ignore, *ignored_in(path, configuration, options))
    return select_rules(rules, options.selected(configuration), ignored, options.extend_select)


def ignored_in(path: str, configuration: Configuration, options: Options) -> tuple[str, ...]:
    """Return what `per-file-ignores`, in the configuration and on the command line, names for a file."""
    configured = (
        rule for glob, names in configuration.per_file_ignores.items() if _is_named(path, glob, configuration.folder) for rule in names
    )
    return (*configured, *(rule for glob, rule in options.per_file_ignores if _is_named(path, glob, Path.cwd())))


def _is_named(path: str, glob: str, folder: Path) -> bool:
    """Return whether a pattern matches the name of a file or its path from a folder."""
    return fnmatch.fnmatch(Path(path).name, glob) or fnmatch.fnmatch(_relative(path, folder), glob)


def _relative(path: str, folder: Path) -> str:
    try:
        return Path(path).resolve().relative_to(folder.resolve()).as_posix()
    except ValueError:
        return path
