"""The memory estimate of a run: what its peak is made of, and the largest micro-batch that each Mac takes."""

from __future__ import annotations

from collections.abc import Sequence

from mpslint.core.finding import ReadError
from mpslint.target.macs import macs
from mpslint.verify.cache import ResultsCache
from mpslint.verify.job import Job
from mpslint.verify.outcome import Estimate
from mpslint.verify.process import ChildLimits
from mpslint.verify.record import from_data
from mpslint.verify.spec import RunSpec, VerifiedMac
from mpslint.verify.work import do_job


def estimate_spec(spec: RunSpec, machine: VerifiedMac | None = None, sizes: Sequence[int] = (), *, only_kept: bool = False) -> Estimate:
    """Return the estimate of one run. Raises ReadError saying why, when it cannot be made (no torch, unknown model,
    ...)."""
    job = Job("estimate", machine or VerifiedMac(), (spec,), memory_sizes=tuple(sizes) or macs().listed)
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
    return from_data(Estimate, data)


def largest_batch(spec: RunSpec, machine: VerifiedMac) -> int:
    """Return the largest micro-batch of a run that the Mac takes; 0 when not even one sample does. Raises ReadError saying why not."""
    return estimate_spec(spec, machine, (machine.memory_gb,)).fits[0].largest_batch
