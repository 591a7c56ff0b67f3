"""`mpslint report`: the body of an issue, with paths and tokens taken out."""

from __future__ import annotations

import getpass
import os
import platform
import traceback
from pathlib import Path
from typing import TYPE_CHECKING

import click

from mpslint.cli._say import complain, standard_input
from mpslint.core.finding import Finding, MpslintError, ReadError, UsageError
from mpslint.source.writer import write_whole

if TYPE_CHECKING:
    from mpslint.diagnose import Diagnosis, Log
    from mpslint.estimate.timing import Chip
    from mpslint.report.measurement import Predicted
    from mpslint.verify.last import MeasuredRun

_TAIL_LINES, _TAIL_CHARACTERS, _READ_CHARACTERS = 60, 6_000, 40_000
_SOURCES = (".py", ".pyw", ".sh", ".bash", ".zsh", ".yaml", ".yml", ".toml", ".env")
"""Names of sources end so; every other file is a log."""


@click.command(name="report", short_help="Print the body of an issue.")
@click.argument("file", required=False, type=click.Path(path_type=Path, allow_dash=True), metavar="[FILE|-]")
@click.option("-o", "--output", type=click.Path(path_type=Path), help="Write to this file in place of standard output.")
@click.option(
    "--source", "sources", multiple=True, metavar="FILE", help="A script or notebook: what check finds in it is added. Repeatable."
)
@click.option(
    "--measurement",
    is_flag=True,
    help="Print the numbers of the last `mpslint run` on this Mac as YAML, beside what mpslint predicts for it.",
)
@click.option("--no-torch", is_flag=True, help="Do not import torch (in a child process) to ask it about MPS.")
def command(file: Path | None, output: Path | None, sources: tuple[str, ...], measurement: bool, no_torch: bool) -> None:
    """Print the body of an issue: the diagnosis of FILE, versions, machine, settings, findings, and what the last verify measured.

    FILE is a log, a traceback or a notebook, as for mpslint diagnose. For a script, the report contains the findings of
    check and the settings of its training, never the source. Without FILE it contains the environment only.

    Nothing is sent: the report is printed, or written with -o. Known forms of secrets, names in paths, host names, e-mail and network
    addresses are taken out; read the rest before you post it.

    \b
    Examples:
      mpslint report train.log
      mpslint report train.py
      mpslint report train.log --source train.py
      mpslint report train.ipynb -o issue.md
      mpslint report
      mpslint report --measurement -o measurement.yaml

    \b
    Exit codes: 0 printed, 2 usage, 3 unreadable.
    """
    from mpslint.diagnose.diagnosis import Explained
    from mpslint.diagnose.issue_report import IssueReport
    from mpslint.doctor import examine
    from mpslint.report.issue import issue_body
    from mpslint.verify.last import last_runs

    if measurement:
        if file is not None or sources:
            raise UsageError("--measurement is about the last run that `mpslint run` watched: it takes no file")
        _write(_measured(), output)
        return
    if file is not None and str(file) != "-" and file.suffix.lower() in _SOURCES:
        file, sources = None, (str(file), *sources)
    log, diagnosis = _diagnosed(file)
    unknown = diagnosis is not None and (diagnosis.outcome is Explained.UNKNOWN or bool(diagnosis.unknown))
    findings, settings, mistakes = _checked(diagnosis, file, sources)
    body = issue_body(
        IssueReport(
            examination=examine(ask_torch=not no_torch),
            diagnosis=diagnosis,
            findings=findings,
            runs=last_runs(),
            tail=_tail(log.text) if log is not None and unknown else "",
            names=_names(),
            home=str(Path.home()),
            settings=settings,
            mistakes=mistakes,
        )
    )
    _write(body, output)


def _measured() -> str:
    """Return what the last watched run measured on this Mac, as YAML, beside what is predicted of its script."""
    from mpslint.doctor.machine import examine_machine, gpu_cores
    from mpslint.estimate.timing import chip_of
    from mpslint.report.measurement import measurement
    from mpslint.verify.last import last_run

    run = last_run()
    if run is None or run.device != "mps":
        raise ReadError("no training was measured on this Mac yet: run `mpslint run train.py` for 20 steps or more, then ask again")
    machine, cores = examine_machine(), gpu_cores()
    chip = chip_of(machine.chip, cores)
    return measurement(run, machine, chip, cores, _predicted(run, chip))


def _predicted(run: MeasuredRun, chip: Chip | None) -> Predicted:
    """Return what mpslint predicts of a script; what can't be worked out, such as the plan of a loop of its own, is left out."""
    from mpslint.core.versions import parse_version
    from mpslint.estimate.timing import macs_of, step_time
    from mpslint.report.measurement import Predicted
    from mpslint.source.files import FoundFile
    from mpslint.verify.files import estimate_file
    from mpslint.verify.last import emulated_memory
    from mpslint.verify.start import AskedFiles

    memory = emulated_memory(run.script)
    try:
        estimated = estimate_file(FoundFile(run.script), AskedFiles((run.script,)), macs=macs_of(()))
    except (ReadError, UsageError) as error:
        complain(f"mpslint: the work of a step isn't in it: {error}")
        return Predicted(memory=memory)
    work = estimated.known.work
    time = step_time(work, chip, parse_version(run.torch)) if work is not None and chip is not None else None
    return Predicted(work, time, estimated.known.estimates[0].composition.peak, memory)


def _diagnosed(file: Path | None) -> tuple[Log | None, Diagnosis | None]:
    """Return the log that the command line names and its diagnosis, or nothing when it names none."""
    from mpslint.diagnose import diagnose, log_of_bytes, read_log

    if file is None:
        return None, None
    log = log_of_bytes(standard_input(), "<stdin>") if str(file) == "-" else read_log(file)
    return log, diagnose(log)


def _checked(
    diagnosis: Diagnosis | None, file: Path | None, sources: tuple[str, ...]
) -> tuple[tuple[tuple[str, Finding], ...], tuple[tuple[str, str, str, str], ...], tuple[str, ...]]:
    """Return what check finds in the sources that are named, and in a notebook that is its own source, and the settings of their runs.

    Where mpslint itself goes wrong over one, the traceback is what the issue is about.
    """
    from mpslint.diagnose.joining import observed_versions
    from mpslint.report.plan import written_settings
    from mpslint.session.session import Options, check_file
    from mpslint.source.files import find_files

    own = [str(file)] if file is not None and file.suffix.lower() == ".ipynb" and not sources else []
    options = Options(observed=observed_versions(diagnosis) if diagnosis is not None else {}, with_plans=True)
    placed, settings, mistakes = [], [], []
    for found in find_files([*sources, *own]):
        try:
            result = check_file(found, options)
        except MpslintError:
            raise
        except Exception:  # a mistake of mpslint's own
            mistakes.append(traceback.format_exc())
            continue
        if result.checked is None:
            if result.path in sources:
                raise ReadError(result.problem)
            continue
        document = result.checked.document
        for finding in result.findings:
            place = document.place(finding.span.start)
            placed.append((f"{Path(document.path).name}, {place.words}", finding))
        settings += written_settings(result.checked)
    return tuple(placed), tuple(settings), tuple(mistakes)


def _tail(text: str) -> str:
    """Return the last lines of a log, without colours and secrets: a secret that is cut in two would not be known any more."""
    from mpslint.diagnose.compact import strip_escapes
    from mpslint.diagnose.scrubbing import scrub

    end = text[-_READ_CHARACTERS:]
    whole = end if len(end) == len(text) else end.partition("\n")[2]
    scrubbed = scrub(strip_escapes(whole), _names(), str(Path.home()))
    return "\n".join(scrubbed.splitlines()[-_TAIL_LINES:])[-_TAIL_CHARACTERS:]


def _names() -> tuple[str, ...]:
    """Return the names that say who and where this is."""
    try:
        user = getpass.getuser()
    except (KeyError, OSError):
        user = ""
    try:
        import pwd

        full = pwd.getpwuid(os.getuid()).pw_gecos.split(",")[0]
    except (ImportError, KeyError):
        full = ""
    common = {"root", "user", "runner", "ubuntu", "localhost", "local", "vm", "home", "nobody", "docker"}
    found = (platform.node(), platform.node().split(".")[0], user, full)
    return tuple(name for name in found if name and name.lower() not in common)


def _write(body: str, output: Path | None) -> None:
    if output is None:
        click.echo(body, nl=False)
        return
    write_whole(str(output), body.encode("utf-8", "backslashreplace"))
    complain(f"mpslint: wrote {output}. Nothing was sent; read it before you post it.")
