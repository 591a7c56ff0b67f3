"""`mpslint check`: say what will go wrong."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from mpslint.cli import EXIT_CLEAN, EXIT_UNREADABLE
from mpslint.cli._options import file_options, options_of, paths_of
from mpslint.cli._output import show
from mpslint.cli._progress import with_progress
from mpslint.finding import UsageError
from mpslint.record import record
from mpslint.report.formats import format_names
from mpslint.report.records import Report, repository_root
from mpslint.report.terminal import terminal
from mpslint.report.text import print_problems, print_statistics
from mpslint.session import Options, configuration_for, files_of, rules_of
from mpslint.source.files import Found
from mpslint.view import FileView, exit_code, view

TEXT, JSON, SARIF = "text", "json", "sarif"


ELSEWHERE = {
    "--fix": "`mpslint fix` shows the rewrite, and `mpslint fix --apply` writes it",
    "--diff": "`mpslint fix --diff` prints the rewrite as a patch",
    "--output-format": "it is called --format here",
    "--output-file": "it is called --output here",
    "--extend-exclude": "--exclude adds to what the configuration excludes",
    "--extend-select": "--select replaces what the configuration selects; all rules are on unless it says otherwise",
    "--extend-ignore": "--ignore adds to what the configuration ignores",
}
"""Options that users of other linters know."""


@record(frozen=True, slots=True)
class Asked:
    """What is to become of what is found, as the command line says it."""

    output_format: str | None
    output: str | None
    quiet: bool
    statistics: bool
    exit_zero: bool
    baseline: Path | None
    write_baseline: Path | None
    add_ignore: str | None
    jobs: int | None
    no_cache: bool


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
@click.option("--format", "output_format", type=click.Choice(format_names()), help="How to report: as text by default.")
@click.option("-o", "--output", metavar="FILE", help="Write the report to a file.")
@click.option("-q", "--quiet", is_flag=True, help="One line a finding.")
@click.option("--statistics", is_flag=True, help="How often each rule was found, instead of the findings.")
@click.option("--exit-zero", is_flag=True, help="Exit with 0 whatever was found.")
@click.option("--baseline", type=click.Path(path_type=Path), help="Report only what this file does not hold.")
@click.option(
    "--write-baseline", type=click.Path(path_type=Path), help="Write everything that is found into this file, and report nothing."
)
@click.option("--add-ignore", metavar="[=REASON]", help="Write a comment that silences each finding, and report nothing.")
@click.option("-j", "--jobs", type=click.IntRange(1), help="Processes; by default one a core where there is work enough.")
@click.option("--no-cache", is_flag=True, help="Neither use nor write the cache (.mpslint_cache).")
def command(**values: Any) -> None:
    """Say what will crash, run out of memory or train wrong on a Mac, with the line, the cause and a fix.

    PATH is a script, a notebook, a shell script, a .env file, a Dockerfile or a configuration file (YAML, JSON), or a folder of such
    files, by default the current one; - is standard input. Nothing of it is run.

    \b
    Examples:
      mpslint check train.ipynb
      mpslint check src/ notebooks/ --severity warning
      mpslint check train.py --torch 2.9 --transformers 4.57 --memory 16GB
      cat train.py | mpslint check - --stdin-filename train.py
      mpslint check . --select MPS1,MPS5 --format json
      mpslint check . --format sarif --output mpslint.sarif
      mpslint check . --write-baseline mpslint-baseline.json
      mpslint check . --baseline mpslint-baseline.json

    Inside GitHub Actions the findings also become annotations, unless a format is asked for.

    \b
    Exit codes: 0 nothing wrong (notes do not count), 1 errors or warnings, 2 usage or configuration, 3 something could not be read.
    """
    asked = Asked(**{name: values.pop(name) for name in Asked.__slots__})
    _refuse_contradictions(asked)
    options, paths = options_of(values), paths_of(values)
    files = list(files_of(paths, options))
    if not files:
        click.echo(f"mpslint: no file to check in {', '.join(paths)}", err=True)
    if asked.add_ignore is not None:
        from mpslint.cli._add_ignore import add_ignores

        sys.exit(add_ignores(files, options, asked.add_ignore))
    report = _checked(files, options, asked, paths)
    if asked.write_baseline is not None:
        from mpslint.cli._baseline import write

        write(asked.write_baseline, report)
        sys.exit(EXIT_UNREADABLE if any(file.problem for file in report.files) else EXIT_CLEAN)
    if asked.baseline is not None:
        from mpslint.cli._baseline import without_known

        report = without_known(asked.baseline, report, options)
    if asked.statistics:
        print_statistics(terminal(), report.files)
    else:
        show(report, asked.output_format, asked.output)
    print_problems(report.files)
    sys.exit(EXIT_CLEAN if asked.exit_zero else exit_code(report.files))


def _refuse_contradictions(asked: Asked) -> None:
    """Raise UsageError for options that ask for two reports at once."""
    if asked.baseline is not None and asked.write_baseline is not None:
        raise UsageError("--baseline leaves findings out, --write-baseline writes them down: give one of the two")
    if asked.statistics and (asked.output is not None or asked.output_format not in (None, TEXT)):
        raise UsageError("--statistics is a report of its own: give it without --format and --output")


def _checked(files: list[Found], options: Options, asked: Asked, paths: Sequence[str]) -> Report:
    """Check files and return what a report needs: with training plans for JSON, with rules for SARIF."""
    root = str(repository_root(Path.cwd()))
    rules = rules_of(files, options) if asked.output_format == SARIF else ()
    return Report(_views(files, options, asked), rules, root, asked.quiet, paths)


def _views(files: list[Found], options: Options, asked: Asked) -> list[FileView]:
    """Check files: through the cache where there are several, with a progress bar where it takes long."""
    from mpslint.running import check_files

    is_full = asked.output_format == JSON
    take = view
    if is_full:
        from mpslint.report.machine import full_view as take
    options = replace(options, with_plans=is_full)
    cache = None
    if not asked.no_cache and len(files) > 1:
        from mpslint.cache import Cache, cache_folder
        from mpslint.cache_key import Keys

        root = configuration_for(files[0].path, options).folder
        cache = Cache(cache_folder(root), Keys(options).of, "reports" if is_full else "findings")
        cache.load()
    try:
        return list(with_progress(check_files(files, options, asked.jobs, cache, take), len(files), "Checking"))
    finally:
        if cache is not None:
            cache.save()
