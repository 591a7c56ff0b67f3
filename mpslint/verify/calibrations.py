"""What was measured on this machine, kept in the user's cache folder: rates by torch version, and steps of real runs."""

from __future__ import annotations

import contextlib
import hashlib
import json
import re
import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import TypeVar

from mpslint.core.data import from_data, to_data
from mpslint.core.finding import ReadError
from mpslint.core.own_folder import OwnFolder, user_caches
from mpslint.doctor.machine import examine_machine
from mpslint.estimate.calibration import Calibration, Here, calibrated, measured
from mpslint.estimate.step import StepWork
from mpslint.verify.cache import ResultsCache
from mpslint.verify.job import Job
from mpslint.verify.process import ChildLimits
from mpslint.verify.spec import VerifiedMac
from mpslint.verify.work import do_job

RATES, STEPS = "rates-", "steps-"
_OURS = re.compile(r"(rates|steps)-[\w.-]+\.json")
FILE = "file:"
WARM_UP = 3
"""Steps at the start of a run that compile graphs and load data for the first time."""
FEWEST = 8
"""Warm steps that say something."""
SECONDS = 120


@dataclass(frozen=True, slots=True)
class MeasuredSteps:
    """A real run on this machine: which, and the seconds of one of its warm optimizer steps."""

    run: str
    """The digest of a run's spec, or `file:` with the absolute path of a script."""
    device: str
    machine: str
    torch: str
    date: str
    steps: int
    seconds: float
    """The median of a step."""
    off: float
    """Half of what lies between the 10th and the 90th percentile, as a share of the median."""


Record = TypeVar("Record", Calibration, MeasuredSteps)


def folder() -> OwnFolder:
    """Return where measurements are kept. Raises OSError where this user has no folder for caches."""
    return OwnFolder(user_caches(), ("mpslint", "calibration"))


def calibrate() -> Calibration:
    """Measure the rates of this machine in a process of its own, and keep them. Raises ReadError saying why not."""
    machine = examine_machine()
    answer = do_job(Job(VerifiedMac(origin=machine.chip)), ChildLimits(seconds=SECONDS))
    if answer.problem:
        raise ReadError(f"the machine cannot be calibrated: {answer.problem}")
    found = from_data(Calibration, answer.data)
    _keep(RATES, f"{found.device}-{found.machine}-{found.torch}", found)
    return found


def keep_steps(found: MeasuredSteps) -> None:
    """Keep the steps of a real run; a folder that cannot be written to is no reason to stop."""
    name = hashlib.sha256(f"{found.run} {found.machine}".encode()).hexdigest()[:16]
    with contextlib.suppress(OSError):
        _keep(STEPS, name, found)


def keep_run(run: str, device: str, torch: str, times: Sequence[float]) -> None:
    """Keep what the steps of a real run on a GPU took, in seconds; nothing where too few are warm, or on a CPU."""
    found = warm_times(times)
    if device == "cpu" or found is None:
        return
    middle, low, high = found
    date = datetime.now(timezone.utc).strftime("%Y-%m-%d")
    steps = len(_warm(times))
    keep_steps(MeasuredSteps(run, device, examine_machine().chip, torch.partition("+")[0], date, steps, middle, (high - low) / 2 / middle))


def warm_times(times: Sequence[float]) -> tuple[float, float, float] | None:
    """Return the median of the warm ones of a run's steps, and their 10th and 90th percentile, in seconds; None where too few are warm."""
    warm = _warm(times)
    if len(warm) < FEWEST:
        return None
    tenths = statistics.quantiles(warm, n=10)
    return statistics.median(warm), tenths[0], tenths[-1]


def _warm(times: Sequence[float]) -> list[float]:
    return [seconds for seconds in times[max(WARM_UP, len(times) // 5) :] if seconds > 0]


def kept() -> tuple[Calibration, ...]:
    """Return the rates that are kept, the newest first; files of another version of mpslint are left out."""
    return tuple(_read(RATES, Calibration))


def kept_steps(run: str = "") -> tuple[MeasuredSteps, ...]:
    """Return the measured steps that are kept, of one run where it is named."""
    return tuple(one for one in _read(STEPS, MeasuredSteps) if not run or one.run == run)


def here_of(work: StepWork, spec: str, file: str) -> Here | None:
    """Return the time of a step on this machine: as a real run of it took, else from the newest rates; None where nothing is kept."""
    for one in (one for one in kept_steps() if one.run in (spec, FILE + file)):
        return measured(one.seconds, one.off, one.machine, one.device, f"in {one.steps} steps on {one.date}, torch {one.torch}")
    rates = next(iter(kept()), None)
    return calibrated(work, rates) if rates is not None else None


def forget() -> int:
    """Remove what is kept; return how many measurements that were. Raises OSError where that cannot be."""
    count = sum(1 for _ in _files(""))
    folder().remove(lambda name: _OURS.fullmatch(name) is not None)
    return count


def _read(prefix: str, kind: type[Record]) -> list[Record]:
    found = (ResultsCache(folder()).read(path.name, kind) for path in _files(prefix))
    return sorted((one for one in found if one is not None), key=lambda one: one.date, reverse=True)


def _files(prefix: str) -> Iterator[Path]:
    with contextlib.suppress(OSError):  # without a home nothing was kept
        own = folder()
        found = sorted(own.path.glob(f"{prefix}*.json")) if own.is_ours() else []
        yield from (path for path in found if _OURS.fullmatch(path.name))


def _keep(prefix: str, name: str, record: Calibration | MeasuredSteps) -> None:
    slug = re.sub(r"[^\w.]+", "-", name).strip("-").lower()
    folder().write(f"{prefix}{slug}.json", (json.dumps(to_data(record), indent=1, sort_keys=True) + "\n").encode())
