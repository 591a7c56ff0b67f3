"""How a real GPU and this process tell their memory."""

from __future__ import annotations

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
    accelerator = getattr(torch, "accelerator", None)
    has_peak = accelerator is not None and hasattr(accelerator, "max_memory_allocated") and _has_peak_statistics()
    reset = torch.accelerator.reset_peak_memory_stats if has_peak else lambda: None
    peak = torch.accelerator.max_memory_allocated if has_peak else mps.current_allocated_memory
    return Gauge(mps.current_allocated_memory, mps.driver_allocated_memory, mps.synchronize, reset, peak)


def _has_peak_statistics() -> bool:
    """Return whether torch.accelerator can tell MPS's peak: since 2.13; before, asking is an internal error."""
    try:
        torch.accelerator.max_memory_allocated()
    except (RuntimeError, AssertionError, NotImplementedError):
        return False
    return True


def cuda_gauge() -> Gauge:
    """Return the gauge of an NVIDIA GPU. Raises ReadError when there is none."""
    if not torch.cuda.is_available():
        raise ReadError("this machine has no CUDA device; without --backend the run is emulated")
    cuda = torch.cuda
    return Gauge(cuda.memory_allocated, cuda.memory_reserved, cuda.synchronize, cuda.reset_peak_memory_stats, cuda.max_memory_allocated)
