"""How a real GPU and this process tell their memory."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import dataclass

import psutil
import torch

from mpslint.core.finding import ReadError


def resident() -> int:
    """Return the bytes of memory that this process holds."""
    return int(psutil.Process().memory_info().rss)


@dataclass(frozen=True, slots=True)
class Gauge:
    """How one kind of GPU tells its memory: live and driver bytes now, and the peak since the last reset, else what is live."""

    live: Callable[[], int]
    driver: Callable[[], int]
    synchronize: Callable[[], None]
    reset_peak: Callable[[], None]
    peak: Callable[[], int]


def mps_gauge() -> Gauge:
    """Return the gauge of Apple's GPU. Raises ReadError when there is none that can be used."""
    mps = torch.mps
    if not torch.backends.mps.is_available():
        raise ReadError("this machine has no MPS device; without --backend the run is emulated")
    limit = mps.recommended_max_memory() if hasattr(mps, "recommended_max_memory") else 1
    if limit <= 0:
        raise ReadError("this Mac's MPS recommends 0 bytes of memory, as virtual machines without a GPU do: it cannot be used")
    reset, peak = lambda: None, mps.current_allocated_memory
    with contextlib.suppress(AttributeError, RuntimeError, AssertionError, NotImplementedError):  # before 2.13, asking is an internal error
        torch.accelerator.max_memory_allocated()
        reset, peak = torch.accelerator.reset_peak_memory_stats, torch.accelerator.max_memory_allocated
    return Gauge(mps.current_allocated_memory, mps.driver_allocated_memory, mps.synchronize, reset, peak)


def cuda_gauge() -> Gauge:
    """Return the gauge of an NVIDIA GPU. Raises ReadError when there is none."""
    if not torch.cuda.is_available():
        raise ReadError("this machine has no CUDA device; without --backend the run is emulated")
    cuda = torch.cuda
    return Gauge(cuda.memory_allocated, cuda.memory_reserved, cuda.synchronize, cuda.reset_peak_memory_stats, cuda.max_memory_allocated)
