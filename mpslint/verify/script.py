"""Verify the user's own script or notebook: a copy of it runs, shortened,
once emulated and once on the CPU for its values."""

from __future__ import annotations

import math
import os
import platform
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Literal

from mpslint.core.data import from_data
from mpslint.core.finding import UsageError
from mpslint.core.inert import inert
from mpslint.core.knowledge import platform_data
from mpslint.core.scratch import scratch_folder
from mpslint.verify.confinement.choice import readable
from mpslint.verify.confinement.room import Beside, Room, data_sets, environment_in, lend_data_sets, look_beside, named_by
from mpslint.verify.job import Backend, Device, HowRun, Job, ScriptRun
from mpslint.verify.outcome import Check, RunResult, with_fits
from mpslint.verify.process import ChildLimits
from mpslint.verify.report import VerifyReport
from mpslint.verify.spec import VerifiedMac
from mpslint.verify.verdict import alone, check_run, decide
from mpslint.verify.work import Answer, Lodging, Progress, do_job
from mpslint.verify.workplace import Workplace, beside, make_copy, project_of

ATTEMPTS = 4
"""How often a script is started, each time from a folder that has what it lacked in the last."""
EXTENDED = 3
"""A run that was too short to tell is done once more, so many times longer."""
MORE_STEPS_TELL = ("live memory", "compiled graphs")
"""Checks that a longer run may settle."""
USUAL_STEPS = 2000
"""How many optimizer steps a run is taken to mean when its code does not say."""
DEVICES: Mapping[str, tuple[Device, ...]] = {"auto": ("emulated", "cpu"), "emulated": ("emulated",), "cpu": ("cpu",)}
ON_TWO_LAYERS = "has two layers on the CPU"


@dataclass(frozen=True, slots=True)
class ScriptOptions(HowRun):
    """How a script is run: for which Mac, on which backend, how short, within which limits."""

    machine: VerifiedMac = field(default_factory=VerifiedMac)
    backend: Literal["auto"] | Backend = "auto"
    limits: ChildLimits = field(default_factory=ChildLimits)
    readable: tuple[Path, ...] = ()
    """What the script may read beside its own folder."""
    passed: tuple[str, ...] = ()
    """Names of variables of the environment that it gets."""
    name: str = "as written"
    """What reports call the run."""
    rewritten: Mapping[Path, bytes] = field(default_factory=dict)
    """What files of the run hold instead of what they hold on disk."""
    use_cache: bool = True
    """Whether results of scripts that mpslint itself wrote are kept."""
    sizes: tuple[int, ...] = ()
    """The Macs, by GB of memory, for which the largest micro-batch is looked for; none where it isn't."""


def run_own(text: str, options: ScriptOptions, progress: Progress | None = None) -> Answer:
    """Return what a script gives whose text mpslint itself wrote, on one device."""
    device: Device = "emulated" if options.backend in ("auto", "emulated") else "real"
    with scratch_folder("script-") as scratch:
        path = Path(scratch) / "plan" / "run.py"
        path.parent.mkdir()
        path.write_text(text, encoding="utf-8")
        return _attempt(beside(path), Path(scratch), device, options, progress)[1]


def verify_script(path: Path, options: ScriptOptions, progress: Progress | None = None) -> VerifyReport:
    """Return the report on a script or notebook, as it is. The file itself, and all beside it, are left as they were.

    On a Mac it runs on MPS; where that can't be used, and on every other machine, it is emulated.
    """
    if options.backend == "auto" and platform.system() == "Darwin":
        measured = verify_script(path, replace(options, backend="mps"), progress)
        if measured.runs:
            return measured
    report = _verify_once(path, options, progress)
    open_checks = [check for one in report.verdicts if one.status == "inconclusive" for check in one.checks if check.status == one.status]
    tells = (check.name in MORE_STEPS_TELL and check.step is None for check in open_checks)  # growth that is known needs no more of them
    if options.plays and any(tells):  # a run that fails fails whatever else is seen
        return _verify_once(path, replace(options, steps=options.steps * EXTENDED), progress)
    return report


def _verify_once(path: Path, options: ScriptOptions, progress: Progress | None) -> VerifyReport:
    devices = DEVICES.get(options.backend, ("real",))
    results: list[RunResult] = []
    problems: list[Answer] = []
    with scratch_folder("script-") as scratch:
        place = beside(path)
        for device in devices:
            if results and results[0].failure:  # whether the CPU gets past that decides about it
                options = replace(options, values=math.inf)
            place, answer = _attempt(place, Path(scratch), device, options, progress)
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
            if results[-1].out_of_memory and options.sizes and not results[-1].fits:  # too early to show which do
                answer = _attempt(place, Path(scratch) / "fit", device, replace(options, aim="fit"), progress)[1]
                found = RunResult("", "") if answer.problem else from_data(RunResult, answer.data)
                results[-1] = with_fits(results[-1], found)
            if results[-1].stopped:
                break
            why = unfit_for_cpu(results[-1], options)
            if why:
                problems += [Answer(problem=why)] if "cpu" in devices[1:] else []
                break
    if not results:
        return VerifyReport(str(path), options.machine, problem=_explain(problems[0]))
    checks = [*_judge(results, options), *(Check("values", "not run", answer.problem) for answer in problems)]
    verdict = decide(options.name, checks)
    problem = f"{verdict.reason} ({line})" if (line := results[-1].failure_line) else verdict.reason
    return VerifyReport(str(path), options.machine, tuple(results), (verdict,), problem=problem if verdict.status == "not run" else "")


def unfit_for_cpu(result: RunResult, options: ScriptOptions) -> str:
    """Return why the values of an emulated run cannot be computed here, empty when they can."""
    if any(trouble.name == "endless" for trouble in result.troubles):
        return "the run does not end by itself"
    peak = max([result.largest_peak, *(record.peak for record in result.steps)])
    if result.backend == "emulated" and peak > options.limits.memory // 2:
        return "the run is too large to be computed within the memory limit"
    return ""


def _attempt(
    place: Workplace, scratch: Path, device: Device, options: ScriptOptions, progress: Progress | None
) -> tuple[Workplace, Answer]:
    """Run a script, elsewhere in its project where it lacks what lies there; return where it ran and what came of it."""
    for number in range(ATTEMPTS):
        room = _room(place, scratch / f"{device}{number or ''}", options)
        copied = make_copy(place, room.folder / "copy", options.rewritten)
        answer = _run(place, copied, room, device, options, progress)
        if answer.lack is not None and answer.lack.kind == "rows":
            options = replace(options, sizes=(), lacks_rows=answer.problem)
            continue
        other = place.suited(answer.lack) if answer.lack is not None else None
        if other is None:
            break
        place = other
    return place, _explained(answer, place, room, options)


def _room(place: Workplace, folder: Path, options: ScriptOptions) -> Room:
    """Return the room in which a script runs: it reads its own folder and what the user names, and changes its copy only."""
    found = Beside() if place.root.resolve() == Path.home().resolve() else look_beside(place.root, project_of(place.script))
    devices = list(map(Path, platform_data("confinement")["readable"]["cuda"])) if options.backend == "cuda" else []  # a Mac has none
    cached = [data_sets()] if data_sets().is_dir() else []
    room = Room(folder, (*named_by(options.arguments), *options.readable, *cached), found, tuple(devices))
    room.build()
    lend_data_sets(room)
    return room


def _run(place: Workplace, copied: Path, room: Room, device: Device, options: ScriptOptions, progress: Progress | None) -> Answer:
    copy = room.folder / "copy"
    script = ScriptRun(
        str(copied),
        place.shown,
        device,
        str(room.folder),
        str(copy),
        str(place.copied(place.folder, copy)),
        tuple(str(place.copied(folder, copy)) for folder in place.imports),
        place.package,
        place.told,
        **{one.name: getattr(options, one.name) for one in fields(HowRun)},
    )
    backend: Backend = options.backend if device == "real" and options.backend != "auto" else "cpu" if device == "cpu" else "emulated"
    job = Job(options.machine, backend, script, memory_sizes=options.sizes)
    limits = {"MPSLINT_SECONDS": str(options.limits.seconds), "MPSLINT_MEMORY": str(options.limits.memory)}
    passed = (*options.passed, *platform_data("confinement")["environment"]["cuda"]) if options.backend == "cuda" else options.passed
    environment = {**environment_in(room, passed), **limits}
    return do_job(job, options.limits, progress, device, Lodging(room, environment))


REFUSED = "verify "
"""How the lines begin that say what verify does not let the code do (child/sandbox.py)."""
ABSOLUTE = re.compile(r"(?<![\w.])/[^\s'\":,;)]+")
OF_ENVIRONMENT = re.compile(r"^KeyError: '(\w+)'$")


def _explained(answer: Answer, place: Workplace, room: Room, options: ScriptOptions) -> Answer:
    """Return an answer; a failure over what the confinement withholds is no verdict on the code: it says how to grant that."""
    if answer.lack is not None and answer.lack.kind == "arguments":
        last = [line.strip() for line in answer.ended.output.splitlines() if line.strip()][-1:]
        printed = f" (it printed: {inert(last[0])[:200]})" if last else ""
        return replace(answer, problem=answer.problem.replace("; if it needs", f"{printed}; if it needs"))
    if answer.lack is not None and (above := place.out_of_reach(answer.lack)) is not None:
        said = answer.problem.replace("isn't on this machine", "lies outside of the folder that verify copies")
        return replace(answer, problem=f"{said}: run mpslint in {above}")
    said = str(answer.data.get("failure") or "") if not answer.problem else answer.problem
    variable = OF_ENVIRONMENT.match(said)
    if variable and variable[1] in os.environ and variable[1] not in options.passed:
        why = f"the code reads the environment variable {variable[1]}, which it does not get: --pass-env {variable[1]} passes it"
        return Answer(problem=why, kind="expected", ended=answer.ended)
    if said.startswith(REFUSED):
        return answer
    granted = (room.folder, *readable(room))
    for text in ABSOLUTE.findall(said):
        path = Path(text)
        if path.exists() and not any(path.is_relative_to(one) for one in granted):
            why = f"the code reads {inert(text)}, which it may not: --allow-read {inert(text)} allows it"
            return Answer(problem=why, kind="expected", ended=answer.ended)
    return answer


def _explain(first: Answer) -> str:
    """Return why nothing was run; of a process that died, with the last line that it printed."""
    if first.kind in ("died", "unexpected"):
        last = [line for line in first.ended.output.strip().splitlines() if line.strip()][-1:]
        return first.problem + (f" ({last[0][:200]})" if last and last[0] not in first.problem else "")
    return first.problem


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
        checks.append(alone(real, emulated))
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
    got_there = real is not None and not real.failure and len(real.trained) >= len(emulated.trained)
    if not got_there and emulated.failure.startswith(tuple(platform_data("raised")["without_values"])):
        return ""
    short = real is not None and not real.failure
    not_there = "the run on the CPU was ended before" if short else "without a run on the CPU its cause is open"
    other = "on the CPU the code goes on" if got_there else not_there
    return f"only the emulation raises {emulated.failure}: its tensors carry no values, and {other}. This is a limit of mpslint"


def _failed_on_cpu(real: RunResult) -> Check:
    """Return what an exception means that only the run on the CPU raised."""
    said = next((pattern for pattern in platform_data("raised")["of_the_stand_in"] if re.search(pattern, real.failure)), None)
    if said is not None or any(change.endswith(ON_TWO_LAYERS) for change in real.changes):
        why = f"the run on the CPU stops with {real.failure}, which comes from how mpslint shortens it: values are not known"
        return Check("values", "inconclusive", why, line=real.failure_line)
    return Check("values", "fail", f"on the CPU: {real.failure}", line=real.failure_line)
