"""`mpslint fix`: rewrite to the safe equivalent."""

from __future__ import annotations

import shlex
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from mpslint.cli._options import file_options, options_of, paths_of
from mpslint.cli._progress import with_progress
from mpslint.finding import MpslintError, ReadError, Severity, UsageError
from mpslint.rewrite.apply import Fixed
from mpslint.session import Options, configuration_for, files_of, fix_file
from mpslint.source.files import STANDARD_INPUT, Found
from mpslint.source.writer import write_file


@click.command(short_help="Rewrite to the safe equivalent.")
@file_options
@click.option("--apply", is_flag=True, help="Write the rewrite; without it, show it.")
@click.option("--unsafe", is_flag=True, help="Also fixes that change the run: shorter sequences, another optimizer.")
@click.option("--fit", is_flag=True, help="Work out which batch fits the Mac (seconds to minutes; needs mpslint[verify]).")
@click.option("--diff", "as_diff", is_flag=True, help="Print a plain unified diff of the files, for `git apply` or `patch -p1`.")
@click.option("--backup", is_flag=True, help="Keep each changed file's old text in FILE.orig.")
@click.option("-q", "--quiet", is_flag=True, help="Print nothing but problems.")
def command(apply: bool, unsafe: bool, fit: bool, as_diff: bool, backup: bool, quiet: bool, **values: Any) -> None:
    """Rewrite a script or notebook so that it trains the same on a Mac, and touch nothing else.

    Shows the rewrite as a diff; --apply writes it. Only safe fixes are made unless --unsafe is given. With - the result goes to
    standard output.

    \b
    Examples:
      mpslint fix train.ipynb
      mpslint fix train.ipynb --apply
      mpslint fix . --diff > mac.patch
      mpslint fix train.py --unsafe --select MPS3
      mpslint fix train.ipynb --fit --memory 16GB

    \b
    Exit codes: 0 nothing left, 1 errors or warnings left (or, without --apply, something to do), 2 usage, 3 could not read or write.
    """
    if apply and not values["paths"]:
        raise UsageError("--apply writes: name the files or folders that it may write to, such as .")
    options = options_of(values)
    files = list(files_of(paths_of(values), options))
    results: list[Fixed] = []
    code = 0
    for found in with_progress(files, len(files), "Fixing"):
        try:
            may = unsafe or configuration_for(found.path, options).unsafe
            fixed = fix_file(found, _fitted(found, options, may) if fit else options, may)
            if apply and fixed.is_changed and found.path != STANDARD_INPUT:
                write_file(found.path, fixed.original, fixed.data, backup)
        except UsageError:
            raise
        except MpslintError as error:
            click.echo(f"mpslint: {error}", err=True)
            code = 3
            continue
        except Exception as error:
            from mpslint.running import mistake_in

            click.echo(f"mpslint: {mistake_in(found.path, error)}", err=True)
            code = 3
            continue
        results.append(fixed)
    if code == 0:
        left = any(f.severity is not Severity.NOTE for fixed in results for f in fixed.after.findings)
        code = 1 if left or (not apply and any(fixed.is_changed for fixed in results)) else 0
    _show(results, options, apply, unsafe, as_diff, quiet)
    sys.exit(code)


def _fitted(found: Found, options: Options, unsafe: bool) -> Options:
    """Return the options with the largest batch of the file's run that its Mac takes; unchanged, saying why, where nobody can tell."""
    from mpslint.verify.files import Asked, largest_batch_of

    try:
        fit, mac = largest_batch_of(found, Asked((found.path,), options, unsafe=unsafe))
    except ReadError as error:
        click.echo(f"mpslint: --fit: {error}", err=True)
        return options
    said = f"micro-batches of at most {fit}" if fit else "not even one sample at a time"
    click.echo(f"{found.path}: the tensors of {said} fit a Mac with {mac} GB", err=True)
    return replace(options, largest_batch=fit)


def _show(results: list[Fixed], options: Options, apply: bool, unsafe: bool, as_diff: bool, quiet: bool) -> None:
    """Print the result of standard input, or the diffs and the summary."""
    from mpslint.report.diff import print_fixed, print_left, summary
    from mpslint.report.terminal import terminal
    from mpslint.rewrite.diff import unified_diff

    from_stdin = [fixed for fixed in results if fixed.before.document.path in (STANDARD_INPUT, options.stdin_filename)]
    if as_diff:
        for fixed in results:
            text = unified_diff(fixed.before.document.path, fixed.original, fixed.data)
            sys.stdout.buffer.write(text.encode("utf-8", "surrogateescape"))
        return
    if apply and from_stdin:
        sys.stdout.buffer.write(from_stdin[0].data)
        return
    if quiet or not results:
        return
    out = terminal()
    for fixed in results:
        print_fixed(out, fixed)
    for fixed in results:
        print_left(out, fixed)
    out.line(summary(results, apply, unsafe))
    changed = [fixed.before.document.path for fixed in results if fixed.is_changed]
    if apply and changed and _in_git(changed[0]):
        shown = f"{shlex.join(changed[:3])}{' ...' if len(changed) > 3 else ''}"
        out.line(f"See it with: git diff -- {shown}   Undo all changes since the last commit with: git restore -- {shown}")


def _in_git(path: str) -> bool:
    """Return whether git keeps the file, so that it can show and undo the change."""
    try:
        done = subprocess.run(
            ["git", "ls-files", "--error-unmatch", Path(path).name], cwd=Path(path).resolve().parent, capture_output=True, timeout=5
        )
    except (OSError, subprocess.SubprocessError):
        return False
    return done.returncode == 0
