"""`mpslint check`: say what will go wrong."""

from __future__ import annotations

import sys
from typing import Any

import click

from mpslint.cli._options import file_options, options_of
from mpslint.cli._progress import with_progress
from mpslint.session import Options, check_file, configuration_for, dependencies, files_of
from mpslint.source.files import Found
from mpslint.view import FileView, exit_code, view


@click.command(short_help="Say what will go wrong on a Mac, and why.")
@file_options
@click.option("--format", "output_format", type=click.Choice(["text", "json"]), default="text", show_default=True, help="How to report.")
@click.option("-q", "--quiet", is_flag=True, help="One line a finding.")
@click.option("--statistics", is_flag=True, help="How often each rule was found, instead of the findings.")
@click.option("--exit-zero", is_flag=True, help="Exit with 0 whatever was found.")
@click.option("-j", "--jobs", type=click.IntRange(1), help="Processes; by default one a core where there is work enough.")
@click.option("--no-cache", is_flag=True, help="Neither use nor write the cache (.mpslint_cache).")
def command(output_format: str, quiet: bool, statistics: bool, exit_zero: bool, jobs: int | None, no_cache: bool, **values: Any) -> None:
    """Say what will crash, run out of memory or train wrong on a Mac, with the line, the cause and a fix.

    PATH is a script, a notebook, a shell script or .env file, or a folder of them; - is standard input. Nothing of it is run.

    \b
    Examples:
      mpslint check train.ipynb
      mpslint check src/ notebooks/ --severity warning
      mpslint check train.py --torch 2.9 --transformers 4.57 --memory 16GB
      cat train.py | mpslint check - --stdin-filename train.py
      mpslint check . --select MPS1,MPS5 --format json

    \b
    Exit codes: 0 nothing wrong (notes do not count), 1 errors or warnings, 2 usage or configuration, 3 something could not be read.
    """
    options = options_of(values)
    files = list(files_of(values["paths"], options))
    if output_format == "json":
        import json

        from mpslint.report.machine import as_json

        results = list(with_progress((check_file(found, options) for found in files), len(files), "Checking"))
        click.echo(json.dumps(as_json(results), indent=2, ensure_ascii=False))
        sys.exit(0 if exit_zero else exit_code(view(result) for result in results))
    from mpslint.report.terminal import terminal
    from mpslint.report.text import print_problems, print_report, print_statistics

    views = _views(files, options, jobs, no_cache)
    if statistics:
        print_statistics(terminal(), views)
    else:
        print_report(terminal(), views, quiet)
    print_problems(views)
    sys.exit(0 if exit_zero else exit_code(views))


def _views(files: list[Found], options: Options, jobs: int | None, no_cache: bool) -> list[FileView]:
    """Check files: through the cache where there are several, with a progress bar where it takes long."""
    from mpslint.running import check_files

    cache = None
    if not no_cache and len(files) > 1:
        from mpslint.cache import Cache, cache_folder

        root = configuration_for(files[0].path, options).folder
        cache = Cache(cache_folder(root), lambda path: dependencies(path, options))
        cache.load()
    views = list(with_progress(check_files(files, options, jobs, cache), len(files), "Checking"))
    if cache is not None:
        cache.save()
    return views
