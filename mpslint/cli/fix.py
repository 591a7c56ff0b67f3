"""`mpslint fix`: rewrite to the safe equivalent."""

from __future__ import annotations

import contextlib
import os
import shlex
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from mpslint.cli._options import file_options, options_of, paths_of
from mpslint.cli._output import said_lost
from mpslint.cli._progress import progress
from mpslint.cli._say import commands_stopped, complain
from mpslint.core.collection import collect_if_due, collected_when_due
from mpslint.core.finding import MpslintError, ReadError, Severity, UsageError
from mpslint.core.outside import read_file, repository_of
from mpslint.core.signals import signals_later
from mpslint.rewrite.apply import Fixed
from mpslint.session.fixing import fix_unit
from mpslint.session.session import Options, files_of
from mpslint.session.units import FilesTogether, graph_of, units_of
from mpslint.source.files import STANDARD_INPUT, FoundFile
from mpslint.source.temporary import remove_leftovers
from mpslint.source.writer import FileChange, write_files

if TYPE_CHECKING:
    from mpslint.verify.cache import KnownEstimate


@click.command(short_help="Rewrite to the safe equivalent.")
@file_options
@click.option("--apply", is_flag=True, help="Write the rewrite; without it, show it.")
@click.option("--unsafe", is_flag=True, help="Also fixes that change the run: shorter sequences, another optimizer.")
@click.option("--this-mac-only", is_flag=True, help="Write the short form: nothing but this Mac runs the code.")
@click.option("--fit", is_flag=True, help="Work out which batch fits the Mac (seconds to minutes; needs mpslint[verify]).")
@click.option("--diff", "as_diff", is_flag=True, help="Print a plain unified diff of the files, for `git apply` or `patch -p1`.")
@click.option("--backup", is_flag=True, help="Keep each changed file's old text in FILE.orig.")
@click.option("-q", "--quiet", is_flag=True, help="Print nothing but problems.")
@click.option("--exit-zero", is_flag=True, help="Exit with 0 whatever is left, unless something could not be read or written.")
@click.option("--no-cache", is_flag=True, expose_value=False, help="As in check: fix never uses the cache of findings.")
@click.option("--show-fixes", is_flag=True, expose_value=False, help="The default: show each fix.")
@click.option("--fix-only", is_flag=True, help="Print one line a fix, and don't report, or fail for, what is left.")
def command(
    apply: bool,
    unsafe: bool,
    this_mac_only: bool,
    fit: bool,
    as_diff: bool,
    backup: bool,
    quiet: bool,
    exit_zero: bool,
    fix_only: bool,
    **values: Any,
) -> None:
    """Rewrite a script or notebook so that it trains the same on a Mac. Bytes outside the edits don't change.

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
    if this_mac_only:
        options = replace(options, overrides=(*options.overrides, "this-mac-only=true"))
    paths = paths_of(values)
    files = _files(paths, options, apply)
    results: list[Fixed] = []
    unfit: list[Fixed] = []
    problems: list[str] = []
    with progress(len(files), "Fixing") as advance, _said_when_interrupted(apply, results), collected_when_due():
        for outcomes in _worked(files, options, unsafe, fit, unfit):
            problems += [outcome for _, outcome in outcomes if isinstance(outcome, str)]
            done = [(found, outcome) for found, outcome in outcomes if not isinstance(outcome, str)]
            with signals_later():  # a file that is written is counted
                if apply and (problem := _written(done, backup)):
                    problems.append(problem)
                else:
                    results += [fixed for _, fixed in done]
            advance(len(outcomes))
            collect_if_due()
    order = {found.path: index for index, found in enumerate(files)}
    results.sort(key=lambda fixed: order.get(fixed.before.document.path, 0))
    for problem in dict.fromkeys(problems):
        complain(f"mpslint: {problem}")
    left = not fix_only and any(f.severity is not Severity.NOTE for fixed in results for f in fixed.after.findings)
    is_open = left or unfit or (not apply and any(fixed.is_changed for fixed in results))
    _show(results, options, apply, unsafe, as_diff, quiet, fix_only, is_fit=not unfit)
    is_invalid = any(fixed.before.document.unread for fixed in results)
    sys.exit(3 if problems or is_invalid else 1 if is_open and not exit_zero else 0)


def _files(paths: Sequence[str], options: Options, apply: bool) -> list[FoundFile]:
    """Return the files to fix, after taking away what an earlier run left beside those that are written; say where there is none."""
    files = list(files_of(paths, options))
    if not files:
        complain(f"mpslint: no file to fix in {', '.join(paths)}")
        if apply and STANDARD_INPUT in paths:  # whose text replaces that of the editor
            sys.stdout.buffer.write(options.stdin)
    for folder in {os.path.dirname(os.path.realpath(one.path)) for one in files if apply and one.path != STANDARD_INPUT}:
        remove_leftovers(folder)
    return files


@contextlib.contextmanager
def _said_when_interrupted(apply: bool, results: Sequence[Fixed]) -> Iterator[None]:
    """Say, where Ctrl-C or the system ends the work, how many files are written by then."""
    try:
        yield
    except (KeyboardInterrupt, SystemExit):
        if apply and (done := sum(fixed.is_changed for fixed in results)):
            complain(f"mpslint: ended early, after writing {done} file{'' if done == 1 else 's'}")
        raise


def _worked(
    files: list[FoundFile], options: Options, unsafe: bool, fit: bool, unfit: list[Fixed]
) -> Iterator[list[tuple[FoundFile, Fixed | str]]]:
    """Yield files that are fixed together, each with what came of it, or the line that says why nothing did; what doesn't fit its Mac even
    so is added to `unfit`."""
    units = units_of(graph_of(files, options), list(enumerate(files)))
    if fit:  # each file has a batch of its own that fits
        units = [FilesTogether((one,), unit.entries) for unit in units for one in unit.files]
    for unit in units:
        try:
            known = _fitted(unit.files[0][1], options, unsafe) if fit else None
            session = replace(options, largest_batch=known.largest) if known is not None else options
            outcomes = sorted(fix_unit(unit, session, unsafe), key=lambda outcome: outcome[0])
            if known is not None:
                unfit += [one for _, one in outcomes if not isinstance(one, MpslintError) and _is_unfit(one, known)]
            yield [(files[index], str(one) if isinstance(one, MpslintError) else one) for index, one in outcomes]
        except MpslintError:
            raise
        except Exception as error:  # a mistake of mpslint's own costs these files, with a line that says so, not all others
            from mpslint.session.running import mistake_in

            yield [(found, mistake_in(found.path, error)) for _, found in unit.files]


def _written(done: Sequence[tuple[FoundFile, Fixed]], backup: bool) -> str:
    """Write files that were fixed together, all of them or none; return why none was written, or ''."""
    changes = [
        FileChange(found.path, fixed.original, fixed.data, found.top)
        for found, fixed in done
        if fixed.is_changed and found.path != STANDARD_INPUT
    ]
    try:
        lost = write_files(changes, backup)
    except MpslintError as error:
        return str(error)
    for change, lines in zip(changes, lost, strict=True):
        said_lost(change.path, lines)
    return ""


def _fitted(found: FoundFile, options: Options, unsafe: bool) -> KnownEstimate | None:
    """Return what is estimated of a file, with the largest batch that its Mac takes; None, saying why, where nobody can tell."""
    from mpslint.verify.files import estimate_file
    from mpslint.verify.start import AskedFiles

    try:
        known = estimate_file(found, AskedFiles((found.path,), options, unsafe=unsafe)).known
    except ReadError as error:
        complain(f"mpslint: --fit: {str(error).replace('verify FILE', f'verify {found.path}')}")
        return None
    complain(f"{found.path}: {known.fits}")
    return known


def _is_unfit(fixed: Fixed, known: KnownEstimate) -> bool:
    """Return whether the batch of a run doesn't fit its Mac as it's rewritten, and say so."""
    from mpslint.verify.files import batch_of

    if (batch := batch_of(fixed, known)) <= known.largest:
        return False
    split = f"train on {known.largest} at a time and accumulate their gradients"
    how = split if known.largest else "use shorter samples or a smaller model"
    complain(f"{fixed.before.document.path}: the micro-batch of {batch} doesn't fit, and no fix splits it: {how}")
    return True


def _show(
    results: list[Fixed], options: Options, apply: bool, unsafe: bool, as_diff: bool, quiet: bool, fix_only: bool, *, is_fit: bool
) -> None:
    """Print the result of standard input, or the diffs and the summary; beside a patch, on standard error, only what is left."""
    from mpslint.report.diff import print_fixed, print_fixes, print_left, summary
    from mpslint.report.terminal import terminal
    from mpslint.rewrite.diff import unified_diff

    from_stdin = [fixed for fixed in results if fixed.before.document.path in (STANDARD_INPUT, options.stdin_filename)]
    if as_diff:
        with commands_stopped() as stream:
            for fixed in results:
                text = unified_diff(fixed.before.document.path, fixed.original, fixed.data)
                stream.write(text.encode("utf-8", "surrogateescape"))
    elif apply and from_stdin:
        sys.stdout.buffer.write(from_stdin[0].data)
        return
    if quiet or not results:
        return
    out = terminal(sys.stderr if as_diff else None)
    changed = [fixed.before.document.path for fixed in results if fixed.is_changed]
    for fixed in () if as_diff else results:
        (print_fixes if fix_only else print_fixed)(out, fixed)
    if fix_only:
        if changed and not as_diff:
            out.wrapped(summary(results, apply, unsafe=True))
        return
    said: set[tuple[str, str]] = set()
    for fixed in results:
        print_left(out, fixed, said, apply)
    if not as_diff if changed else is_fit:  # a patch says itself what it changes
        out.wrapped(summary(results, apply, unsafe))
    if apply and changed and not as_diff and _in_git(changed[0]):
        shown = f"{shlex.join(changed[:3])}{' ...' if len(changed) > 3 else ''}"
        out.line(f"See it with: git diff -- {shown}   Undo all changes since the last commit with: git restore -- {shown}")


def _in_git(path: str) -> bool:
    """Return whether git keeps the file, so that it can show and undo the change.

    Asked of git's index, not of git: a repository configures what git runs (`core.fsmonitor`), and it may be a stranger's.
    """
    real = os.path.realpath(path)
    root = repository_of(os.path.dirname(real))
    if root is None:
        return False
    name = os.fsencode(os.path.relpath(real, root).replace(os.sep, "/"))
    entry = min(len(name), 0xFFF).to_bytes(2, "big") + name + b"\0"
    try:
        return entry in read_file(os.path.join(root, ".git", "index"))
    except ReadError:
        return False
