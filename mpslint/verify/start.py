"""The files that the command line asks about, and what `verify FILE` runs: it, or the script that it starts, with its arguments."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from mpslint.config.makefile import read_makefile
from mpslint.config.shell import read_shell, read_snippets
from mpslint.core.finding import MpslintError, ReadError
from mpslint.core.knowledge import platform_data
from mpslint.facts.facts import Flag
from mpslint.facts.values import Known
from mpslint.project.launch import Launch, launches_in
from mpslint.project.run import full_path
from mpslint.rewrite.apply import Fixed
from mpslint.session.fixing import fix_unit
from mpslint.session.session import Options as Session
from mpslint.session.session import files_of, fix_file
from mpslint.session.units import files_of_runs, graph_of, units_of
from mpslint.source.document import Document, Kind
from mpslint.source.files import FoundFile as FoundFile
from mpslint.verify.from_plan import TrainingRun
from mpslint.verify.reading import runs_of

LASTING, INLINE = ("shell", "magic", "dotenv"), "inline"
"""Styles of writes to the environment: those that reach what is started afterwards, and that which reaches one command."""


@dataclass(frozen=True, slots=True)
class Start:
    """How a run is started."""

    script: Path
    arguments: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    said: tuple[str, ...] = ()
    """What the reader should know of it, one line each."""


def start_of(document: Document, path: str, runs: Sequence[TrainingRun], words: Sequence[str]) -> Start:
    """Return how the run of a file is started; `runs` are the training runs that were read in it, the one that is meant first, and `words`
    the arguments of a script that is named itself. Raises ReadError for a file that starts nothing.
    """
    begun = next((one.evidence.document.started for one in runs), None)
    script = full_path(begun.document.path) if begun is not None else ""
    own = document.kind in (Kind.PYTHON, Kind.NOTEBOOK)
    launches = launches_in(document, full_path(path)) if not own or script not in ("", full_path(path)) else []
    launch = next((one for one in launches if one.script == script), launches[0] if launches else None)
    if launch is None and own:
        return Start(Path(path), tuple(words), dict(_set(document)))
    if launch is None:
        raise ReadError(f"{path}: starts no Python file of its project by itself: name the script, with its arguments after --")
    arguments, said = _given(launch, path)
    return Start(Path(launch.script), arguments, {**dict(_set(document, launch)), **dict(_handed_on(launch))}, (said,))


def _given(launch: Launch, path: str) -> tuple[tuple[str, ...], str]:
    """Return the arguments of a launch, and what is said of them. Raises ReadError where a word isn't known."""
    words = [one.value.value if isinstance(one.value, Known) else None for one in launch.given]
    if None in words:
        before = next((str(word) for word in reversed(words[: words.index(None)]) if word is not None), "")
        where = f" (the word after {before})" if before else ""
        raise ReadError(
            f"{path}: an argument of {Path(launch.script).name} isn't known before the shell runs{where}: "
            f"name the script itself, with its arguments after --"
        )
    arguments = tuple(map(str, words))
    said = f"{Path(path).name} starts {Path(launch.script).name}" + (f" with {' '.join(arguments)}" if arguments else "")
    return arguments, said


def _set(document: Document, launch: Launch | None = None) -> Iterator[tuple[str, str]]:
    """Yield the variables that a file sets: for all that comes after, before a launch of its own where that is given, or for it alone."""
    if document.kind is Kind.MAKEFILE:
        facts = read_makefile(document.text)
    else:
        facts = read_shell(document.text) if document.kind is Kind.SHELL else read_snippets(document.snippets)
    end = (launch.launcher or launch.command).span.start if launch is not None else len(document.text)
    begin = max((one.span.end for one in facts.commands if one.span.end <= end), default=0)
    for write in facts.environment:
        reaches = write.style in LASTING or (write.style == INLINE and launch is not None and write.start >= begin)
        if reaches and write.start < end and isinstance(write.value, Known):
            yield write.name, str(write.value.value)


def _handed_on(launch: Launch) -> Iterator[tuple[str, str]]:
    """Yield the variables by which a launcher hands its own options to the script."""
    command = launch.launcher
    if command is not None and command.words:
        for option, variable in platform_data("launchers")["handed_on"].get(command.words[0], {}).items():
            if option in command.flags and (text := _text(command.flags[option])) is not None:
                yield variable, text


def _text(flag: Flag) -> str | None:
    """Return the value of an option or variable as the environment holds it."""
    value = flag.value.value if isinstance(flag.value, Known) else None
    return None if value is None else str(value).lower() if isinstance(value, bool) else str(value)


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
