"""The work of a run's steps, counted by a child process and kept: what an estimate of its time starts from."""

from __future__ import annotations

from mpslint.core.finding import ReadError
from mpslint.estimate.step import StepWork
from mpslint.verify.cache import ResultsCache
from mpslint.verify.job import Job
from mpslint.verify.process import ChildLimits
from mpslint.verify.record import from_data
from mpslint.verify.spec import RunSpec, VerifiedMac
from mpslint.verify.work import do_job


def work_of(spec: RunSpec, machine: VerifiedMac, *, only_kept: bool = False) -> StepWork:
    """Return the work of a mean step. Raises ReadError saying why it cannot be counted (no torch, unknown model, ...)."""
    job = Job("work", machine, (spec,))
    cache = ResultsCache.here()
    data = cache.get(job)
    if data is None:
        if only_kept:
            raise ReadError("it has not been worked out before")
        answer = do_job(job, ChildLimits(seconds=300))
        if answer.problem:
            raise ReadError(answer.problem)
        data = answer.data
        cache.put(job, data)
    return from_data(StepWork, data)
