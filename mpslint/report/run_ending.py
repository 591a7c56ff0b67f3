"""How a watched run ended, in words: the diagnosis of its error, joined with its source, curves and versions, and what prevents it."""

from __future__ import annotations

import contextlib
import io
import shlex
import signal
import sys
from collections.abc import Sequence
from dataclasses import replace

from rich.console import Console

from mpslint.core.versions import VersionRange, parse_version
from mpslint.diagnose import diagnose, log_of_bytes
from mpslint.diagnose.diagnosis import Diagnosis
from mpslint.diagnose.joining import Source, join
from mpslint.report.console import InertConsole, console
from mpslint.report.diagnosis import print_diagnosis, print_sources
from mpslint.report.terminal import Terminal, terminal
from mpslint.run.events import Observed, memory_log
from mpslint.run.script import Script
from mpslint.run.watcher import gib, limit_of
from mpslint.settings.setting import load_vocabulary

IN_NOTEBOOK = "%mpslint fix"
PLAIN_WIDTH = 110


def diagnosis_of(observed: Observed, script: Script) -> tuple[Diagnosis, list[Source]] | None:
    """Return what the error that ended a run means, and what explains it in the source; None for an error that isn't known."""
    diagnosis = diagnose(log_of_bytes(f"{memory_log(observed)}{observed.error}".encode("utf-8", "replace"), "this run"))
    if diagnosis.cause is None:
        return None  # a memory log alone says nothing of, say, a KeyError
    result = script.checked(observed)
    sources = [join(diagnosis, result)] if result is not None else []
    if script.notebook is not None:
        sources = [replace(source, fix_command=source.fix_command and IN_NOTEBOOK) for source in sources]
    return diagnosis, [source for source in sources if not source.problem]


def print_ending(observed: Observed, script: Script, words: Sequence[str]) -> bool:
    """Print the diagnosis of the error that ended a run to standard error; return whether it is known. `words` are the command."""
    found = diagnosis_of(observed, script)
    if found is None:
        return False
    with contextlib.redirect_stdout(sys.stderr):
        _print(*found, observed, words, terminal(), console())
    return True


def ending_text(observed: Observed, script: Script, words: Sequence[str]) -> str:
    """Return the same as plain text; '' for an error that isn't known, and where the run ended well."""
    found = diagnosis_of(observed, script) if observed.error else None
    if found is None:
        return ""
    written = io.StringIO()
    plain = InertConsole(
        file=written, force_jupyter=False, color_system=None, highlight=False, markup=False, emoji=False, width=PLAIN_WIDTH
    )
    _print(*found, observed, words, Terminal(written), plain)
    return written.getvalue()


def _print(diagnosis: Diagnosis, sources: list[Source], observed: Observed, words: Sequence[str], out: Terminal, wide: Console) -> None:
    out.line()
    print_diagnosis(diagnosis, wide)
    print_sources(out, sources)
    commands = prevention(diagnosis, sources, observed, words)
    if commands:
        out.line()
        out.line(("What prevents it", "bold"))
        for command in commands:
            out.line(f"  {command}")


def prevention(diagnosis: Diagnosis, sources: Sequence[Source], observed: Observed, words: Sequence[str]) -> list[str]:
    """Return the commands that would prevent the error: the source's fix, a variable, else an upgrade."""
    again = f"mpslint run {shlex.join(words)}" if words else ""
    commands = [source.fix_command for source in sources if source.fix_command]
    changes = diagnosis.cause.explanation.changes if diagnosis.cause is not None else ()
    variables = [
        f"{load_vocabulary()[name].title}={value}"
        for change in changes
        for name, value in change.settings.items()
        if name.startswith("environment.")
    ]
    if variables and again:
        return [*commands, f"{variables[0]} {again}"]
    if not commands:
        upgrades = [str(change.upgrade).replace(" ", "") for change in changes if _is_newer(change.upgrade, observed)]
        commands = [f"pip install --upgrade {shlex.quote(upgrade)}" for upgrade in upgrades[:1]]
    return [*commands, again] if commands and again else commands


def _is_newer(upgrade: VersionRange, observed: Observed) -> bool:
    """Return whether an upgrade is of torch, to versions that don't run here already."""
    version = parse_version(observed.torch.partition("+")[0]) if observed.torch else None
    here = {"torch": version} if version is not None else {}
    return bool(upgrade.terms) and set(upgrade.packages) <= set(here) and not upgrade.matches(here)


def told_of_unknown(observed: Observed, script: Script) -> str:
    """Return that the error which ended a run isn't one of MPS, with what check finds in the line that raised it."""
    return f"{observed.error_name} isn't an error that mpslint knows from MPS{script.found_at(observed, *observed.error_at)}"


def told_of_signal(number: int, observed: Observed) -> str:
    """Return what a signal says that ended the run without an error of its own, with the last memory; '' for one that a person sends."""
    if number in (signal.SIGINT, signal.SIGTERM, getattr(signal, "SIGHUP", 0), 0):
        return ""
    name = signal.Signals(number).name if number in set(signal.Signals) else f"signal {number}"
    killed = ": the system ends a process so when memory runs out" if name == "SIGKILL" else ""
    last = observed.steps[-1] if observed.steps else None
    if last is None or last.driver is None:
        return f"ended by {name}{killed}"
    limit = limit_of(observed)
    return f"ended by {name}{killed}; driver memory at step {last.number:,} was {gib(last.driver)}{f' of {gib(limit)}' if limit else ''}"
