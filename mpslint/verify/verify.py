"""verify: runs of a spec, before and after, and the report on them."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from types import MappingProxyType

from mpslint.verify.assumed import without_invented_failures
from mpslint.verify.cache import ResultsCache
from mpslint.verify.calibrations import keep_run
from mpslint.verify.job import Backend, Job
from mpslint.verify.outcome import Backing, Check, RunResult, Verdict
from mpslint.verify.process import ChildLimits, stopping_runs
from mpslint.verify.record import from_data, to_json
from mpslint.verify.report import VerifyReport
from mpslint.verify.spec import RunSpec, VerifiedMac
from mpslint.verify.values import judge_values
from mpslint.verify.verdict import check_run, decide
from mpslint.verify.work import Answer, Progress, do_job, do_jobs

NOTHING: Mapping[str, Answer] = MappingProxyType({})
EXTENDED = 3
"""A run that was too short to tell is done once more, so many times longer."""


@dataclass(frozen=True, slots=True)
class VerifyOptions:
    """How much is run, and where."""

    machine: VerifiedMac = field(default_factory=VerifiedMac)
    backend: Backend = "emulated"
    falls_back: bool = False
    """Whether a run is emulated when its backend turns out not to be there."""
    steps: int = 200
    values: bool = True
    value_steps: int = 4
    limits: ChildLimits = field(default_factory=ChildLimits)
    use_cache: bool = True


def verify_specs(before: RunSpec, after: RunSpec | None, options: VerifyOptions, progress: Progress | None = None) -> VerifyReport:
    """Return the report on a run as written and, where there is one, as rewritten."""
    start = time.monotonic()
    is_same = after is not None and replace(after, name=before.name) == before
    specs = [before] if after is None or is_same else [before, after]
    known = _done_together(specs, options, progress)
    with ThreadPoolExecutor(max_workers=max(1, min(3, os.cpu_count() or 1))) as pool, stopping_runs():
        runs = [pool.submit(run_spec, spec, options, progress, known) for spec in specs]
        values = pool.submit(_values, specs, options, progress, known) if options.values else None
        done = [future.result() for future in runs]
        done = [
            (result, without_invented_failures(spec, result, checks, lambda others: _run_together(others, options, progress)))
            for spec, (result, checks) in zip(specs, done, strict=True)
        ]
        compared = values.result() if values is not None else []
    if after is not None and is_same:
        done.append((replace(done[0][0], name=after.name), done[0][1]))
        compared += [replace(run, name=after.name) for run in compared if isinstance(run, RunResult)]
    results = [result for result, _ in done]
    verdicts = [decide(result.name, checks) for result, checks in done]
    verdicts, comparison = _with_values(verdicts, compared)
    return VerifyReport(
        before.model,
        options.machine,
        (*results, *(run for run in compared if isinstance(run, RunResult))),
        tuple(verdicts),
        tuple(comparison),
        seconds=time.monotonic() - start,
    )


def _run_together(specs: Sequence[RunSpec], options: VerifyOptions, progress: Progress | None) -> list[tuple[RunResult, list[Check]]]:
    """Return some runs and their checks, done by one process."""
    known = _done_together(specs, replace(options, values=False), progress)
    return [run_spec(spec, options, progress, known) for spec in specs]


def run_spec(
    spec: RunSpec, options: VerifyOptions, progress: Progress | None, known: Mapping[str, Answer] = NOTHING
) -> tuple[RunResult, list[Check]]:
    """Return one run and its checks, from what is known of it where something is; a run too short to tell is extended once by itself."""
    result = _run(spec, options, options.steps, progress, known)
    checks = list(check_run(result, options.machine, spec, result.settings_steps or spec.steps))
    if any(check.status == "inconclusive" for check in checks) and not result.failure:
        result = _run(spec, options, options.steps * EXTENDED, progress, known)
        checks = list(check_run(result, options.machine, spec, result.settings_steps or spec.steps))
    return result, checks


def _run(spec: RunSpec, options: VerifyOptions, steps: int, progress: Progress | None, known: Mapping[str, Answer]) -> RunResult:
    is_emulated = options.backend == "emulated"
    job = _emulation(spec, options, steps) if is_emulated else Job("device", options.machine, (spec,), steps, options.backend)
    answer = _cached(job, options, progress, spec.name, known)
    if answer.problem and not is_emulated and options.falls_back:
        run = _run(spec, replace(options, backend="emulated", falls_back=False), steps, progress, known)
        return replace(run, notes=(f"emulated: {answer.problem}", *run.notes))
    if answer.problem:
        return RunResult(spec.name, options.backend, failure="" if answer.kind else answer.problem, notes=(answer.problem,))
    result = replace(from_data(RunResult, answer.data), name=spec.name)
    if result.backend == "mps" and not result.failure:
        keep_run(
            spec.digest(), result.backend, result.versions.get("torch", ""), [one.seconds for one in result.steps if one.what == "train"]
        )
    return result


def _done_together(specs: Sequence[RunSpec], options: VerifyOptions, progress: Progress | None) -> dict[str, Answer]:
    """Return what the first runs of a report gave, by their jobs, done by one process: importing torch takes longer than most of them.

    A job that died may have been ended by another one, so it is left to be done alone.
    """
    if options.backend != "emulated":
        return {}
    cache = ResultsCache.here() if options.use_cache else None
    jobs = {to_json(job): (job, name) for job, name in _first_jobs(specs, options) if cache is None or cache.get(job) is None}
    if not jobs:
        return {}
    answers = do_jobs(list(jobs.values()), options.limits, progress)
    for (job, _), answer in zip(jobs.values(), answers, strict=True):
        if cache is not None and not answer.problem:
            cache.put(job, answer.data)
    return {key: answer for key, answer in zip(jobs, answers, strict=True) if answer.kind != "died"}


def _first_jobs(specs: Sequence[RunSpec], options: VerifyOptions) -> Iterator[tuple[Job, str]]:
    """Yield the jobs of a report that nothing has to be known for, and the names of their progress."""
    for spec in specs:
        yield _emulation(spec, options, options.steps), spec.name
    if options.values:
        yield _values_job(specs, options), "values"


def _emulation(spec: RunSpec, options: VerifyOptions, steps: int) -> Job:
    """Return the job of emulating a run. Runs that differ only in what no memory depends on have the same."""
    return Job("emulate", options.machine, (replace(spec, name="", averages=False, shapes="known"),), steps, "emulated")


def _values_job(specs: Sequence[RunSpec], options: VerifyOptions) -> Job:
    return Job("values", options.machine, tuple(specs), options.value_steps, "cpu")


def _cached(job: Job, options: VerifyOptions, progress: Progress | None, name: str, known: Mapping[str, Answer]) -> Answer:
    """Have a job done, unless the same was done just now, or before with the same versions."""
    done = known.get(to_json(job)) if known else None
    if done is not None:
        return done
    cache = ResultsCache.here() if options.use_cache and job.backend in ("emulated", "cpu") else None
    kept = cache.get(job) if cache is not None else None
    if kept is not None:
        return Answer(kept)
    answer = do_job(job, options.limits, progress, name)
    if cache is not None and not answer.problem:
        cache.put(job, answer.data)
    return answer


def _values(
    specs: Sequence[RunSpec], options: VerifyOptions, progress: Progress | None, known: Mapping[str, Answer]
) -> list[RunResult | str]:
    """Return the runs of reduced models on the CPU, or the line that says why there are none."""
    answer = _cached(_values_job(specs, options), options, progress, "values", known)
    if answer.problem:
        return [answer.problem]
    return [from_data(RunResult, data) for data in answer.data["runs"]]


def _with_values(verdicts: list[Verdict], compared: Sequence[RunResult | str]) -> tuple[list[Verdict], list[Check]]:
    """Return the verdicts with what the values add to each, and the checks that compare both runs."""
    runs = [run for run in compared if isinstance(run, RunResult)]
    if not runs:
        said = [Check("values", "not run", str(line), (Backing("backend", "cpu"),)) for line in compared]
        return [_joined(verdict, said) for verdict in verdicts], []
    own, both = judge_values(runs)
    return [_joined(verdict, checks) for verdict, checks in zip(verdicts, own, strict=False)], both


def _joined(verdict: Verdict, more: list[Check]) -> Verdict:
    return decide(verdict.name, [*verdict.checks, *more])
