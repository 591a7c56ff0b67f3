"""`--watch`: check again whenever something changes below the paths."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from typing import NoReturn

import click

from mpslint.cli._say import complain, complain_of_passed_over, end_if_lost
from mpslint.core.finding import MpslintError, UsageError
from mpslint.core.folders import forget_disk
from mpslint.session.configuration import FILES
from mpslint.source.files import STANDARD_INPUT
from mpslint.source.reader import kind_of


def watch(paths: Sequence[str], check: Callable[[], int]) -> NoReturn:
    """Check now and after each change of a file that a check reads, until Ctrl-C. Raises UsageError without watchfiles."""
    try:
        import watchfiles
    except ModuleNotFoundError:
        raise UsageError("--watch needs watchfiles: pip install 'mpslint[watch]'") from None
    if STANDARD_INPUT in paths:
        raise UsageError("--watch: standard input does not change; name a file or folder")
    missing = [path for path in paths if not os.path.exists(path)]
    if missing:
        raise UsageError(f"--watch: {missing[0]}: no such file or folder")
    _check(check)
    for _ in watchfiles.watch(*paths, watch_filter=lambda change, path: _matters(path), raise_interrupt=True):
        forget_disk()
        if sys.stdout.isatty():
            click.clear()
        _check(check)
    sys.exit()


def _matters(path: str) -> bool:
    """Return whether a change of a file can change what is found."""
    name = os.path.basename(path)
    parts = path.split(os.sep)
    is_pin = name.endswith((".txt", ".lock", ".toml", ".cfg")) or name in FILES
    return (kind_of(path) is not None or is_pin) and not any(part.startswith((".git", ".mpslint_cache", ".venv")) for part in parts[:-1])


def _check(check: Callable[[], int]) -> None:
    """Check once; what is wrong with the configuration is said, and the next change may mend it."""
    try:
        check()
    except MpslintError as error:
        complain(f"mpslint: {error}")
    complain_of_passed_over()
    end_if_lost()
    complain("Watching for changes; Ctrl-C ends it.")
