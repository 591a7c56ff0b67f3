"""The work of a run's steps, counted by a child process and kept: what an estimate of its time starts from."""

from __future__ import annotations

from mpslint.core.finding import ReadError
from mpslint.estimate.step import StepWork
from mpslint.verify.cache import Cache
from mpslint.verify.job import Job
from mpslint.verify.process import Limits
from mpslint.verify.record import from_data
from mpslint.verify.spec import Machine, RunSpec
from mpslint.verify.work import do_job


def work_of(spec: RunSpec, machine: Machine, *, use_cache: bool = True) -> StepWork:
    """Return the work of a mean step. Raises ReadError saying why it cannot be counted (no torch, unknown model, ...)."""
    job = Job("work", machine, (spec,))
    cache = Cache.here() if use_cache else None
    data = cache.get(job) if cache is not None else None
    if data is None:
        answer = do_job(job, Limits(seconds=300))
        if answer.problem:
            raise ReadError(answer.problem)
        data = answer.data
        if cache is not None:
            cache.put(job, data)
    return from_data(StepWork, data)
