"""Verify the user's own script or notebook: a copy of it runs, shortened,
once emulated and once on the CPU for its values."""

from __future__ import annotations

import os
import re
import shutil
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

from mpslint.core.finding import UsageError
from mpslint.core.inert import inert
from mpslint.core.knowledge import platform_data
from mpslint.core.scratch import scratch_folder
from mpslint.verify.confinement import tools
from mpslint.verify.confinement.choice import confinement
from mpslint.verify.confinement.room import Room, environment_in, named_by, visible_children
from mpslint.verify.job import Backend, Device, Job, ScriptRun
from mpslint.verify.outcome import Check, RunResult
from mpslint.verify.process import ChildLimits
from mpslint.verify.record import from_data
from mpslint.verify.report import VerifyReport
from mpslint.verify.spec import VerifiedMac
from mpslint.verify.values import alone
from mpslint.verify.verdict import check_run, decide
from mpslint.verify.work import Answer, Lodging, Progress, do_job

EXTENDED = 3
"""A run that was too short to tell is done once more, so many times longer."""
USUAL_STEPS = 2000
"""How many optimizer steps a run is taken to mean when its code does not say."""
LARGEST_FILE = 32 * 2**20
LARGEST_COPY = 256 * 2**20
MOST_FILES = 5000
LEFT_OUT = {
    ".git",
    "__pycache__",
    ".venv",
    "venv",
    "node_modules",
    ".ipynb_checkpoints",
    "wandb",
    "lightning_logs",
    "mlruns",
}
CERTAIN_ERRORS = (
    "KeyboardInterrupt",
    "NameError",
    "UnboundLocalError",
    "SyntaxError",
    "IndentationError",
    "FileNotFoundError",
    "ModuleNotFoundError",
)
"""Exceptions that no missing value can cause."""
ON_TWO_LAYERS = "has two layers on the CPU"


@dataclass(frozen=True, slots=True)
class ScriptOptions:
    """How a script is run: for which Mac, on which backend, how short, within which limits."""

    machine: VerifiedMac = field(default_factory=VerifiedMac)
    backend: Literal["auto"] | Backend = "auto"
    steps: int = 20
    arguments: tuple[str, ...] = ()
    limits: ChildLimits = field(default_factory=ChildLimits)
    assumptions: tuple[str, ...] = ()
    """What had to be assumed of the Mac."""
    evaluation_batches: int = 4
    readable: tuple[Path, ...] = ()
    """What the script may read beside its own folder."""
    passed: tuple[str, ...] = ()
    """Names of variables of the environment that it gets."""
    name: str = "as written"
    """What reports call the run."""
    rewritten: Mapping[Path, bytes] = field(default_factory=dict)
    """What files of the run hold instead of what they hold on disk."""


def verify_script(path: Path, options: ScriptOptions, progress: Progress | None = None) -> VerifyReport:
    """Return the report on a script or notebook, as it is. The file itself, and all beside it,
    are left as they were."""
    report = _verify_once(path, options, progress)
    if any(check.status == "inconclusive" and check.name == "live memory" for verdict in report.verdicts for check in verdict.checks):
        longer = replace(options, steps=options.steps * EXTENDED)
        return replace(_verify_once(path, longer, progress), seconds=report.seconds)
    return report


def _verify_once(path: Path, options: ScriptOptions, progress: Progress | None) -> VerifyReport:
    start = time.monotonic()
    chosen: dict[str, tuple[Device, ...]] = {"auto": ("emulated", "cpu"), "emulated": ("emulated",), "cpu": ("cpu",)}
    devices = chosen.get(options.backend, ("real",))
    results: list[RunResult] = []
    problems: list[Answer] = []
    with scratch_folder("script-") as scratch:
        for device in devices:
            room = _room(path, Path(scratch) / device, device, options)
            copied = copy_beside(path, room.folder / "copy")
            rewrite(path.parent, copied.parent, options.rewritten)
            answer = _explained(_run(path, copied, room, device, options, progress), room, options)
            if answer.problem:
                problems.append(answer)
                if answer.kind == "expected" or (device == "emulated" and answer.kind == "stopped"):
                    break
                continue
            try:
                results.append(from_data(RunResult, answer.data))
            except UsageError as error:
                problems.append(Answer(problem=f"the run gave a result that is none: {inert(str(error))[:200]}", kind="expected"))
                break
            if results[-1].stopped:
                break
            why = unfit_for_cpu(results[-1], options)
            if why:
                problems += [Answer(problem=why)] if "cpu" in devices[1:] else []
                break
    seconds = time.monotonic() - start
    if not results:
        return VerifyReport(str(path), options.machine, problem=_explain(problems), seconds=seconds)
    checks = [*_judge(results, options), *(Check("values", "not run", answer.problem) for answer in problems)]
    verdict = decide(options.name, checks)
    problem = f"{verdict.reason} ({place})" if (place := results[-1].failure_line) else verdict.reason
    return VerifyReport(
        str(path),
        options.machine,
        tuple(results),
        (verdict,),
        problem=problem if verdict.status == "not run" else "",
        seconds=seconds,
    )


def unfit_for_cpu(result: RunResult, options: ScriptOptions) -> str:
    """Return why the values of an emulated run cannot be computed here, empty when they can."""
    if any(trouble.name == "endless" for trouble in result.troubles):
        return "the run does not end by itself"
    peak = max((record.peak for record in result.steps), default=0)
    if result.backend == "emulated" and peak > options.limits.memory // 2:
        return "the run is too large to be computed within the memory limit"
    return ""


def _room(path: Path, folder: Path, device: Device, options: ScriptOptions) -> Room:
    """Return the room in which a script runs: it reads its own folder and what the user names, and changes its copy only."""
    folders = [] if path.resolve().parent == Path.home().resolve() else visible_children(path.parent)
    devices = list(map(Path, platform_data("confinement")["readable"]["cuda"])) if device == "real" and options.backend == "cuda" else []
    room = Room(folder, (*folders, *named_by(options.arguments), *options.readable), tuple(devices))
    room.build()
    return room


def _run(path: Path, copied: Path, room: Room, device: Device, options: ScriptOptions, progress: Progress | None) -> Answer:
    script = ScriptRun(
        str(copied),
        path.name,
        options.arguments,
        device,
        options.steps,
        options.evaluation_batches,
        str(room.folder),
    )
    named: Backend = "emulated" if options.backend == "auto" else options.backend
    backend: Backend = named if device == "real" else "emulated" if device == "emulated" else "cpu"
    job = Job("script", options.machine, backend=backend, script=script)
    limits = {"MPSLINT_SECONDS": str(options.limits.seconds), "MPSLINT_MEMORY": str(options.limits.memory)}
    environment = {**environment_in(room, options.passed), **limits}
    lodging = Lodging(room, confinement(), environment, room.folder.parent)
    return do_job(job, options.limits, progress, "emulated" if device == "emulated" else device, lodging)


REFUSED = "verify "
"""How the lines begin that say what verify does not let the code do (child/sandbox.py)."""
ABSOLUTE = re.compile(r"(?<![\w.])/[^\s'\":,;)]+")
OF_ENVIRONMENT = re.compile(r"^KeyError: '(\w+)'$")


def _explained(answer: Answer, room: Room, options: ScriptOptions) -> Answer:
    """Return an answer; a failure over what the confinement withholds is no verdict on the code: it says how to grant that."""
    said = str(answer.data.get("failure") or "") if not answer.problem else answer.problem
    variable = OF_ENVIRONMENT.match(said)
    if variable and variable[1] in os.environ and variable[1] not in options.passed:
        why = f"the code reads the environment variable {variable[1]}, which it does not get: --pass-env {variable[1]} passes it"
        return Answer(problem=why, kind="expected", ended=answer.ended)
    if said.startswith(REFUSED):
        return answer
    granted = (room.folder, *tools.readable(room))
    for text in ABSOLUTE.findall(said):
        path = Path(text)
        if path.exists() and not any(path.is_relative_to(one) for one in granted):
            why = f"the code reads {inert(text)}, which it may not: --allow-read {inert(text)} allows it"
            return Answer(problem=why, kind="expected", ended=answer.ended)
    return answer


def _explain(problems: list[Answer]) -> str:
    if not problems:
        return "nothing was run"
    first = problems[0]
    if first.kind in ("died", "unexpected"):
        last = [line for line in first.ended.output.strip().splitlines() if line.strip()][-1:]
        return first.problem + (f" ({last[0][:200]})" if last and last[0] not in first.problem else "")
    return first.problem


def copy_beside(path: Path, folder: Path) -> Path:
    """Copy a script and what lies beside it, as far as it is small; return the copy. Large files are linked,
    and cannot be written."""
    folder.mkdir(parents=True)
    total = 0
    for source in _files(path.parent):
        target = folder / source.relative_to(path.parent)
        target.parent.mkdir(parents=True, exist_ok=True)
        size = source.stat().st_size
        total += size
        if size > LARGEST_FILE or total > LARGEST_COPY:
            target.symlink_to(source.resolve())
        else:
            shutil.copyfile(source, target)
    copied = folder / path.name
    if not copied.is_file():
        shutil.copyfile(path, copied)
    return copied


def rewrite(folder: Path, copy: Path, rewritten: Mapping[Path, bytes]) -> None:
    """Write what is rewritten of the files in a folder into its copy; files outside of the folder stay as they are."""
    root = folder.resolve()
    for path, data in rewritten.items():
        if path.resolve().is_relative_to(root):
            target = copy / path.resolve().relative_to(root)
            target.unlink(missing_ok=True)
            target.write_bytes(data)


def _files(folder: Path) -> Iterator[Path]:
    """Yield the files below a folder, hidden and generated ones left out, up to a bound."""
    count = 0
    for place, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if name not in LEFT_OUT and not name.startswith(".")]
        for name in names:
            path = Path(place) / name
            if name.startswith(".") or not path.is_file() or path.is_symlink():
                continue
            count += 1
            if count > MOST_FILES:
                return
            yield path


def _judge(results: list[RunResult], options: ScriptOptions) -> list[Check]:
    """Return the checks of all runs of a script, taken together."""
    emulated = next((result for result in results if result.backend == "emulated"), None)
    real = next((result for result in results if result.backend != "emulated"), None)
    checks: list[Check] = []
    if emulated is not None:
        doubt = doubt_of(emulated, real)
        told = replace(emulated, failure="") if doubt else emulated
        checks += check_run(told, options.machine, None, emulated.settings_steps or USUAL_STEPS)
        if doubt:
            checks = [check for check in checks if check.name != "starts"]
            checks.insert(0, Check("starts", "inconclusive", doubt, line=emulated.failure_line))
    if real is not None:
        if emulated is None:
            checks += check_run(real, options.machine, None, real.settings_steps or USUAL_STEPS)
        elif real.failure and not (emulated.failure and _kind(emulated) == _kind(real)):
            checks.append(_failed_on_cpu(real))
        checks.append(alone(real))
    return checks


def _kind(result: RunResult) -> str:
    """Return the class of the exception that ended a run."""
    return result.failure.partition(":")[0]


def doubt_of(emulated: RunResult, real: RunResult | None) -> str:
    """Return why the exception of an emulated run says nothing about a Mac; empty when it does, or when there is none.

    It does where MPS is known to raise it, or where the same code raises the same with values, on the CPU.
    """
    if not emulated.failure or emulated.is_raised_on_mps:
        return ""
    if real is not None and _kind(real) == _kind(emulated):
        return ""
    if real is None and emulated.failure.startswith(CERTAIN_ERRORS):
        return ""
    other = "on the CPU the code goes on" if real is not None and not real.failure else "without a run on the CPU its cause is open"
    return f"only the emulation raises {emulated.failure}: its tensors carry no values, and {other}. This is a limit of mpslint"


def _failed_on_cpu(real: RunResult) -> Check:
    """Return what an exception means that only the run on the CPU raised."""
    said = next((pattern for pattern in platform_data("raised")["of_the_stand_in"] if re.search(pattern, real.failure)), None)
    if said is not None or any(change.endswith(ON_TWO_LAYERS) for change in real.changes):
        why = f"the run on the CPU stops with {real.failure}, which comes from how mpslint shortens it: values are not known"
        return Check("values", "inconclusive", why, line=real.failure_line)
    return Check("values", "fail", f"on the CPU: {real.failure}", line=real.failure_line)
