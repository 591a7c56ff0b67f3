"""verify without a file's own code: what a plan or a specification describes is written as a script, which the same runner executes."""

from __future__ import annotations

import platform
import threading
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from mpslint.core.data import from_data, to_json
from mpslint.core.finding import ReadError
from mpslint.verify.assumed import without_invented_failures
from mpslint.verify.cache import ResultsCache, configuration_here, name_of
from mpslint.verify.calibrations import keep_run
from mpslint.verify.generate import in_force, script_of
from mpslint.verify.job import HORIZON, STANDING
from mpslint.verify.outcome import Check, RunResult
from mpslint.verify.process import at_once
from mpslint.verify.report import VerifyReport
from mpslint.verify.script import ScriptOptions, run_own
from mpslint.verify.spec import RunSpec, Shape, quantiles, train_shapes, worst_shape
from mpslint.verify.verdict import check_run, decide
from mpslint.verify.work import Progress

RECORDED = 20
"""Steps that really run at most."""
RUNNING: defaultdict[str, threading.Lock] = defaultdict(threading.Lock)
"""One lock for each script: as written and as rewritten may be the same, and one of them waits for what the other keeps."""


def verify_specs(before: RunSpec, after: RunSpec | None, options: ScriptOptions, progress: Progress | None = None) -> VerifyReport:
    """Return the report on a run as written and, where there is one, as rewritten."""
    is_same = after is not None and replace(after, name=before.name) == before
    specs = [before] if after is None or is_same else [before, after]
    done = at_once(lambda spec: _judged(spec, options, progress), specs)
    if after is not None and is_same:
        done.append((replace(done[0][0], name=after.name), done[0][1]))
    if len(done) > 1 and is_one(done[0][0], done[1][0]):
        done[1] = replace(done[1][0], notes=(*done[1][0].notes, "both are one run, which was done once")), done[1][1]
    return VerifyReport(
        before.model,
        options.machine,
        tuple(result for result, _ in done),
        tuple(decide(result.name, checks) for result, checks in done),
        (_same_batch(before, after),) if after is not None else (),
    )


def is_one(before: RunResult, after: RunResult) -> bool:
    """Return whether two results are of one run, its seconds included."""
    return bool(before.steps) and replace(after, name=before.name, settings_steps=before.settings_steps) == before


def _judged(spec: RunSpec, options: ScriptOptions, progress: Progress | None) -> tuple[RunResult, list[Check]]:
    """Return one run and its checks, without failures that only its drawn lengths make."""
    result, checks = run_spec(spec, options, progress)
    return result, without_invented_failures(spec, result, checks, lambda others: [run_spec(one, options) for one in others])


def _same_batch(before: RunSpec, after: RunSpec) -> Check:
    """Return whether the rewrite trains on as many samples in each optimizer step."""
    if before.effective_batch == after.effective_batch:
        return Check("same training", "pass", f"an optimizer step takes {before.effective_batch} samples before and after")
    said = f"an optimizer step takes {after.effective_batch} samples in place of {before.effective_batch}"
    return Check("same training", "fail", said)


def run_spec(spec: RunSpec, options: ScriptOptions, progress: Progress | None = None) -> tuple[RunResult, list[Check]]:
    """Return one run and its checks."""
    is_auto = options.backend == "auto"
    if is_auto:
        options = replace(options, backend="mps" if platform.system() == "Darwin" else "emulated")
    try:
        result = result_of(spec, run_steps(spec, options.horizon), options, progress)
    except ReadError as error:
        if is_auto and options.backend == "mps":
            result, checks = run_spec(spec, replace(options, backend="emulated"), progress)
            return replace(result, notes=(f"emulated: {error}", *result.notes)), checks
        return RunResult(spec.name, options.backend), [Check("starts", "not run", str(error))]
    result = replace(result, name=spec.name, settings_steps=spec.steps)
    if result.backend == "mps" and not result.failure:
        times = [one.seconds for one in result.trained]
        keep_run(spec.digest(), result.backend, result.versions.get("torch", ""), times)
    return result, list(check_run(result, options.machine, spec, spec.steps))


def result_of(spec: RunSpec, steps: Sequence[Sequence[Shape]], options: ScriptOptions, progress: Progress | None = None) -> RunResult:
    """Return what the runner gives for the script of a run, or gave before. Raises ReadError saying why there is nothing.

    No exception of such a script says anything about a Mac but one that MPS is known to raise.
    """
    text = script_of(in_force(spec, options.machine), steps)
    variables = {"PYTORCH_ENABLE_MPS_FALLBACK": "1"} if spec.has_fallback else {}
    if spec.high_watermark is not None:
        variables["PYTORCH_MPS_HIGH_WATERMARK_RATIO"] = str(spec.high_watermark)
    readable = (Path(spec.model),) if Path(spec.model).is_dir() else ()
    own = replace(options, steps=RECORDED, horizon=len(steps), name=spec.name, readable=readable, environment=variables)
    cache = ResultsCache.here() if options.use_cache and options.backend in ("auto", "emulated") else None
    here = configuration_here(spec.model) if spec.config is None else []
    name = name_of(text, to_json((options.machine, variables, options.aim, options.sizes)), *here)
    with RUNNING[name]:
        result = cache.read(name, RunResult) if cache is not None else None
        if result is None:
            answer = run_own(text, own, progress)
            if answer.problem:
                raise ReadError(answer.problem)
            result = from_data(RunResult, answer.data)
            if cache is not None:
                cache.write(name, result)
    if result.failure and not (result.is_raised_on_mps and options.aim == "run"):
        raise ReadError(f"the script of the run cannot be run here: {result.failure}")
    return result


def run_steps(spec: RunSpec, count: int) -> list[list[Shape]]:
    """Return the steps of a run, of which the second has the longest samples."""
    first, *others = train_shapes(spec, max(count - 1, 1))
    return [first, [worst_shape(spec)] * spec.accumulation, *others]


def work_steps(spec: RunSpec) -> list[list[Shape]]:
    """Return the steps in which the work of a mean step is counted, the first one left out; then those that the run takes."""
    first, *drawn = train_shapes(spec, HORIZON)
    chosen = quantiles([shape for step in drawn[:60] for shape in step], STANDING)
    counted = (chosen * STANDING)[:STANDING]
    return [first, *([shape] * spec.accumulation for shape in counted), *drawn]
