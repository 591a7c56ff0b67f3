"""The files that the command line asks about, and how each is read: within its run, as it is and as fix would rewrite it."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from mpslint.core.finding import MpslintError
from mpslint.rewrite.apply import Fixed
from mpslint.session.fixing import fix_unit
from mpslint.session.session import Options as Session
from mpslint.session.session import files_of, fix_file
from mpslint.session.units import files_of_runs, graph_of, units_of
from mpslint.source.files import FoundFile as FoundFile
from mpslint.verify.reading import runs_of

WRITTEN, REWRITTEN = "as written", "as rewritten"


@dataclass(frozen=True, slots=True)
class AskedFiles:
    """What the command line asks for about files: which, for what Mac, which of their runs, and how much may be rewritten."""

    paths: tuple[str, ...] = ()
    session: Session = field(default_factory=Session)
    plan: int | None = None
    unsafe: bool = False


def files(asked: AskedFiles) -> Iterator[FoundFile]:
    """Yield the files that are meant: those named, and of folders those with a training run, among them what can't be read, so that it is
    reported. Raises UsageError for a configuration that is wrong."""
    for found in files_of(asked.paths, asked.session):
        with contextlib.suppress(MpslintError):
            if not found.is_named and not runs_of(fix_file(found, asked.session, unsafe=False).before):
                continue
        yield found


def read_file_within(found: FoundFile, asked: AskedFiles) -> Fixed:
    """Return a file as it is and as fix would rewrite it, each within its run, whose other files are rewritten with it.

    Raises ReadError, FixError, UsageError.
    """
    return read_files_within(found, asked)[found.path]


def read_files_within(found: FoundFile, asked: AskedFiles) -> dict[str, Fixed]:
    """Return the same of each file that is rewritten together with a file, by path. Raises the same, for that file."""
    session = replace(asked.session, with_plans=True)
    of_run = files_of_runs([replace(found, is_named=True)], session)
    units = units_of(graph_of(of_run, session), list(enumerate(of_run)))
    own = next(unit for unit in units if unit.files[0][0] == 0)
    outcomes = dict(fix_unit(own, session, asked.unsafe))
    outcome = outcomes[0]
    if isinstance(outcome, MpslintError):
        raise outcome
    return {of_run[index].path: one for index, one in outcomes.items() if not isinstance(one, MpslintError)}
