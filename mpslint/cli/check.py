"""`mpslint check`: say what will go wrong."""

from __future__ import annotations

import contextlib
import os
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from mpslint.cli._options import file_options, options_of, paths_of
from mpslint.cli._output import show
from mpslint.cli._progress import progress
from mpslint.cli._say import EXIT_CLEAN, EXIT_UNREADABLE, complain
from mpslint.core.finding import UsageError
from mpslint.core.inert import inert
from mpslint.core.outside import tree_around
from mpslint.core.own_folder import kept_name, user_caches
from mpslint.core.record import record
from mpslint.report.formats import format_names
from mpslint.report.records import CheckReport
from mpslint.report.terminal import terminal
from mpslint.report.text import counted, print_problems
from mpslint.session.session import Options, configuration_for, files_of, rules_of
from mpslint.session.view import FAILING, FileView, exit_code, view
from mpslint.source.files import FoundFile

if TYPE_CHECKING:
    from mpslint.session.cache import FindingsCache

    _Choice = click.Choice[str]
else:
    _Choice = click.Choice  # before click 8.2 it takes no type

JSON, SARIF = "json", "sarif"


ELSEWHERE = {
    "--fix": "`mpslint fix` shows the rewrite, and `mpslint fix --apply` writes it",
    "--show-fixes": "`mpslint fix` shows each fix and writes nothing without --apply",
    "--diff": "`mpslint fix --diff` prints the rewrite as a patch",
    "--extend-exclude": "--exclude adds to what the configuration excludes",
    "--target-version": "--torch, --transformers and --macos name the versions to check for",
}
"""Options that users of other linters know."""
OTHER_FORMATS = {
    **dict.fromkeys(("pylint", "parsable"), "concise prints one line a finding"),
    **dict.fromkeys(("full", "grouped"), "without --format the report is whole, with source and fix"),
    **dict.fromkeys(("json-lines", "jsonl"), "json is one document"),
    **dict.fromkeys(("checkstyle", "azure"), "junit and sarif are what most CI systems read"),
}
"""Formats that users of other linters know."""


@record(frozen=True, slots=True)
class Asked:
    """What is to become of what is found, as the command line says it."""

    output_format: str | None
    output: str | None
    quiet: bool
    statistics: bool
    fail_on: str
    baseline: Path | None
    write_baseline: Path | None
    add_ignore: str | None
    jobs: int | None
    no_cache: bool
    cache_dir: Path | None
    verbose: bool
    whole_run: bool


class _Format(_Choice):
    """The formats of a report; one that another linter has is answered with what does the same here."""

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the name of a format. Raises BadParameter, with a hint, for any other."""
        if value in OTHER_FORMATS:
            self.fail(f"there is no {value!r}; {OTHER_FORMATS[value]}. Formats: {', '.join(self.choices)}.", param, ctx)
        return super().convert(value, param, ctx)


class _Check(click.Command):
    """A command in which `--add-ignore` takes a reason only after an equals sign, so that it never swallows a path."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the command line. Raises UsageError for what other tools call so, with its name here."""
        for argument in args[: args.index("--")] if "--" in args else args:
            option = argument.split("=")[0]
            if option in ELSEWHERE:
                raise UsageError(f"check has no {option}; {ELSEWHERE[option]}")
        return super().parse_args(ctx, [f"{argument}=" if argument == "--add-ignore" else argument for argument in args])


@click.command(cls=_Check, short_help="Say what will go wrong on a Mac, and why.")
@file_options
@click.option("--format", "--output-format", "output_format", type=_Format(format_names()), help="Format of the report; default: text.")
@click.option("-o", "--output", "--output-file", metavar="FILE", help="Write the report to a file.")
@click.option("-q", "--quiet", is_flag=True, help="One line a finding.")
@click.option("-v", "--verbose", is_flag=True, help="Also say, on standard error, what was read, by which configuration and how fast.")
@click.option("--statistics", is_flag=True, help="How often each rule was found, instead of the findings; in every format.")
@click.option("--show-files", is_flag=True, help="List the files that would be checked, and check nothing.")
@click.option("--whole-run", is_flag=True, help="Also report the other files that the runs of the named ones read.")
@click.option("--watch", "-w", is_flag=True, help="Check again whenever a file changes; needs mpslint[watch].")
@click.option(
    "--fail-on", type=click.Choice(list(FAILING)), default="warning", show_default=True, help="Least severity that makes the exit code 1."
)
@click.option("--exit-zero", is_flag=True, help="The same as --fail-on never.")
@click.option("--baseline", type=click.Path(path_type=Path), help="Report only what this file does not hold.")
@click.option(
    "--write-baseline", type=click.Path(path_type=Path), help="Write everything that is found into this file, and report nothing."
)
@click.option("--add-ignore", metavar="[=REASON]", help="Write a comment that silences each finding, and report nothing.")
@click.option("-j", "--jobs", type=click.IntRange(1), help="Processes; default: one per core on large runs.")
@click.option("--no-cache", is_flag=True, help="Don't use or write the cache of findings.")
@click.option(
    "--cache-dir",
    type=click.Path(file_okay=False, path_type=Path),
    envvar="MPSLINT_CACHE_DIR",
    help="Folder that holds the cache; default: the user's cache folder.",
)
def command(**values: Any) -> None:
    """Report what will crash, run out of memory or train wrong on a Mac, with the line, the cause and a fix.

    PATH is a script, a notebook, a shell script, a .env file, a Dockerfile or a configuration file (YAML, JSON), or a folder of such
    files, by default the current one; - is standard input. mpslint never runs it.

    \b
    Examples:
      mpslint check train.ipynb
      mpslint check src/ notebooks/ --severity warning
      mpslint check train.py --torch 2.9 --transformers 4.57 --memory 16GB
      cat train.py | mpslint check - --stdin-filename train.py
      mpslint check . --select MPS1,MPS5 --format json
      mpslint check . --statistics
      mpslint check . --watch
      mpslint check launch.sh --whole-run
      mpslint check . --format sarif --output mpslint.sarif
      mpslint check . --write-baseline mpslint-baseline.json
      mpslint check . --baseline mpslint-baseline.json

    Inside GitHub Actions, findings also become annotations, unless --format is given.

    \b
    Exit codes: 0 nothing wrong (notes don't count), 1 errors or warnings, 2 usage or configuration, 3 a file couldn't be read.
    """
    only_list, is_watched = values.pop("show_files"), values.pop("watch")
    if values.pop("exit_zero"):
        values["fail_on"] = "never"
    asked = Asked(**{name: values.pop(name) for name in Asked.__slots__})
    _refuse_contradictions(asked)
    options, paths = options_of(values), paths_of(values)
    if only_list:
        for found in files_of(paths, options):
            click.echo(inert(found.path) if sys.stdout.isatty() else found.path)
        sys.exit(EXIT_CLEAN)
    if is_watched:
        from mpslint.cli._watch import watch

        watch(paths, lambda: _check_once(asked, options, paths))
    sys.exit(_check_once(asked, options, paths))


def _check_once(asked: Asked, options: Options, paths: Sequence[str]) -> int:
    """Check the files below some paths, report what is found, and return the exit code."""
    start = time.monotonic()
    files = list(files_of(paths, options))
    if asked.whole_run:
        from mpslint.session.units import files_of_runs

        files = files_of_runs(files, options)
    if not files:
        complain(f"mpslint: no file to check in {', '.join(paths)}")
    if asked.add_ignore is not None:
        from mpslint.cli._baseline import add_ignores

        return add_ignores(files, options, asked.add_ignore)
    rules = rules_of(files, options) if asked.output_format == SARIF else ()
    report = CheckReport(_views(files, options, asked), rules, tree_around(os.curdir), asked.quiet, paths)
    if asked.write_baseline is not None:
        from mpslint.cli._baseline import write

        write(asked.write_baseline, report)
        return EXIT_UNREADABLE if any(file.problem for file in report.files) else EXIT_CLEAN
    if asked.baseline is not None:
        from mpslint.cli._baseline import without_known

        report = without_known(asked.baseline, report, options)
    known = _what_fits(files, options)
    is_unfit = any(is_too_big for _, is_too_big in known)
    show(replace(report, is_unfit=is_unfit), asked.output_format, asked.output, asked.statistics)
    print_problems(report.files)
    if asked.output_format in (None, "text") and not (asked.quiet or asked.statistics or asked.output):
        for line, _ in known:
            terminal().wrapped(line)
    if asked.verbose:
        _print_verbose(files, options, time.monotonic() - start)
    code = exit_code(report.files, asked.fail_on)
    return max(code, int(is_unfit and asked.fail_on != "never"))


def _what_fits(files: list[FoundFile], options: Options) -> list[tuple[str, bool]]:
    """Return which micro-batches fit, of the files for which that was worked out before, one line each, and whether theirs is too big."""
    with contextlib.suppress(OSError):
        kept = {name[: len(kept_name(""))] for name in os.listdir(user_caches() / "mpslint" / "results")}
        if named := [found.path for found in files if found.is_named and kept and kept_name(found.path) in kept]:
            from mpslint.verify.cache import known_fits

            return known_fits(named, options)
    return []


def _print_verbose(files: list[FoundFile], options: Options, seconds: float) -> None:
    """Print, on standard error, how much was read, by which configuration files and how fast."""
    configurations = dict.fromkeys(str(configuration_for(found.path, options).path or "none: defaults") for found in files)
    for path in configurations:
        complain(f"mpslint: configuration: {path}")
    complain(f"mpslint: {counted(len(files), 'file')} in {seconds:.2f} s; `mpslint config FILE` shows the effective configuration of one")


def _refuse_contradictions(asked: Asked) -> None:
    if asked.baseline is not None and asked.write_baseline is not None:
        raise UsageError("--baseline leaves findings out, --write-baseline writes them down: give one of the two")
    if asked.add_ignore is not None and (asked.baseline or asked.write_baseline) is not None:
        option = "--baseline" if asked.baseline is not None else "--write-baseline"
        raise UsageError(f"--add-ignore writes a comment for every finding, {option} sets findings aside: give one of the two")


def _views(files: list[FoundFile], options: Options, asked: Asked) -> list[FileView]:
    """Check files: through the cache where there are several, with a progress bar where it takes long."""
    from mpslint.session.running import check_files

    is_full = asked.output_format == JSON and not asked.statistics
    take = view
    if is_full:
        from mpslint.report.machine import full_view as take
    options = replace(options, with_plans=is_full)
    cache = _cache(files, options, asked.cache_dir, is_full) if not asked.no_cache and len(files) > 1 else None
    try:
        with progress(len(files), "Checking") as advance:
            return list(check_files(files, options, asked.jobs, cache, take, advance, lambda line: complain(f"mpslint: {line}")))
    finally:
        if cache is not None and (problem := cache.save()):
            complain(f"mpslint: findings are not cached: {problem}")


def _cache(files: list[FoundFile], options: Options, chosen: Path | None, is_full: bool) -> FindingsCache | None:
    """Return the cache of a project, read; None, saying why, where there is no place for one."""
    from mpslint.session.cache import FileKeys, FindingsCache, cache_folder

    try:
        folder = cache_folder(configuration_for(files[0].path, options).folder, chosen)
    except OSError as error:
        complain(f"mpslint: findings are not cached: {error.strerror or error}")
        return None
    cache = FindingsCache(folder, FileKeys(options).of, "reports" if is_full else "findings")
    cache.load()
    return cache
