"""Verify the user's own script or notebook: a copy of it runs, shortened,
once emulated and once on the CPU for its values."""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

from mpslint.verify.job import Backend, Device, Job, ScriptRun
from mpslint.verify.outcome import Check, RunResult
from mpslint.verify.process import Limits
from mpslint.verify.record import from_data
from mpslint.verify.report import Report
from mpslint.verify.spec import Machine
from mpslint.verify.values import alone
from mpslint.verify.verdict import check_run, decide
from mpslint.verify.work import Answer, Progress, do_job

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
EMULATION_ERRORS = (
    "ZeroDivisionError",
    "OverflowError",
    "AssertionError",
    "IndexError",
    "FloatingPointError",
    "StopIteration",
)


@dataclass(frozen=True, slots=True)
class ScriptOptions:
    """How a script is run: for which Mac, on which backend, how short, within which limits."""

    machine: Machine = field(default_factory=Machine)
    backend: Literal["auto"] | Backend = "auto"
    steps: int = 20
    arguments: tuple[str, ...] = ()
    limits: Limits = field(default_factory=Limits)
    assumptions: tuple[str, ...] = ()
    """What had to be assumed of the Mac."""
    evaluation_batches: int = 4


def verify_script(path: Path, options: ScriptOptions, progress: Progress | None = None) -> Report:
    """Return the report on a script or notebook, as it is. The file itself, and all beside it,
    are left as they were."""
    report = _verify_once(path, options, progress)
    if any(check.status == "inconclusive" and check.name == "live memory" for verdict in report.verdicts for check in verdict.checks):
        longer = replace(options, steps=options.steps * EXTENDED)
        return replace(_verify_once(path, longer, progress), seconds=report.seconds)
    return report


def _verify_once(path: Path, options: ScriptOptions, progress: Progress | None) -> Report:
    start = time.monotonic()
    chosen: dict[str, tuple[Device, ...]] = {"auto": ("emulated", "cpu"), "emulated": ("emulated",), "cpu": ("cpu",)}
    devices = chosen.get(options.backend, ("real",))
    results: list[RunResult] = []
    problems: list[Answer] = []
    with tempfile.TemporaryDirectory(prefix="mpslint-script-") as scratch:
        for device in devices:
            sandbox = Path(scratch) / device
            copied = copy_beside(path, sandbox / "copy")
            answer = _run(path, copied, sandbox, device, options, progress)
            if answer.problem:
                problems.append(answer)
                if answer.kind == "expected" or (device == "emulated" and answer.kind == "stopped"):
                    break
                continue
            results.append(from_data(RunResult, answer.data))
            why = unfit_for_cpu(results[-1], options)
            if why:
                problems += [Answer(problem=why)] if "cpu" in devices[1:] else []
                break
    seconds = time.monotonic() - start
    if not results:
        return Report(str(path), options.machine, problem=_explain(problems), seconds=seconds)
    checks = [*_judge(results, options), *(Check("values", "not run", answer.problem) for answer in problems)]
    return Report(str(path), options.machine, tuple(results), (decide("as written", checks),), seconds=seconds)


def unfit_for_cpu(result: RunResult, options: ScriptOptions) -> str:
    """Return why the values of an emulated run cannot be computed here, empty when they can."""
    if any(trouble.name == "endless" for trouble in result.troubles):
        return "the run does not end by itself"
    peak = max((record.peak for record in result.steps), default=0)
    if result.backend == "emulated" and peak > options.limits.memory // 2:
        return "the run is too large to be computed within the memory limit"
    return ""


def _run(path: Path, copied: Path, sandbox: Path, device: Device, options: ScriptOptions, progress: Progress | None) -> Answer:
    home = sandbox / "tmp"
    home.mkdir(parents=True)
    script = ScriptRun(
        str(copied),
        path.name,
        options.arguments,
        device,
        options.steps,
        options.evaluation_batches,
        str(sandbox),
    )
    named: Backend = "emulated" if options.backend == "auto" else options.backend
    backend: Backend = named if device == "real" else "emulated" if device == "emulated" else "cpu"
    job = Job("script", options.machine, backend=backend, script=script)
    environment = {
        "TMPDIR": str(home),
        "HF_DATASETS_CACHE": str(home / "datasets"),
        "MPSLINT_SECONDS": str(options.limits.seconds),
        **_caches(home),
    }
    return do_job(job, options.limits, progress, "emulated" if device == "emulated" else device, copied.parent, environment)


def _caches(home: Path) -> dict[str, str]:
    """Return where libraries may write what they otherwise keep in the user's home."""
    names = {
        "MPLCONFIGDIR": "matplotlib",
        "TORCHINDUCTOR_CACHE_DIR": "inductor",
        "NUMBA_CACHE_DIR": "numba",
        "TRITON_CACHE_DIR": "triton",
    }
    return {name: str(home / folder) for name, folder in names.items()}


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
        emulated = _doubtful(emulated, real)
        horizon = emulated.settings_steps or USUAL_STEPS
        checks += check_run(emulated, options.machine, None, horizon)
        if emulated.failure_doubtful:
            checks = [check for check in checks if check.name != "starts"]
            checks.append(
                Check(
                    "starts",
                    "inconclusive",
                    f"without values the code stops: {emulated.failure_doubtful}",
                    line=emulated.failure_line,
                )
            )
    if real is not None:
        if emulated is None:
            checks += check_run(real, options.machine, None, real.settings_steps or USUAL_STEPS)
        elif real.failure and not emulated.failure:
            checks.append(Check("values", "fail", f"on the CPU: {real.failure}", line=real.failure_line))
        checks.append(alone(real))
    return checks


def _doubtful(emulated: RunResult, real: RunResult | None) -> RunResult:
    """Return the emulated run; an exception that only neutral values can have caused is marked as such."""
    if not emulated.failure or real is None or real.failure or not emulated.failure.startswith(EMULATION_ERRORS):
        return emulated
    return replace(emulated, failure="", failure_doubtful=emulated.failure)
