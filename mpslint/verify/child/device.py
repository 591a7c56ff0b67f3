"""How a real GPU and this process tell their memory; and torch without CUDA, which a Mac hasn't."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

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


OWN = ("_cuda_", "_cudnn_", "_nccl_")
"""How the names begin that torch has for CUDA alone. Without them its own functions answer, and raise, as in a build without CUDA."""
CLASSES = ("Stream", "ExternalStream", "Event", "CUDAGraph")
"""Classes that reach the driver before torch asks whether there is CUDA."""


def leave_cuda_out() -> None:
    """Have torch in this process be without CUDA, also where the code then sets CUDA_VISIBLE_DEVICES. There is no way back."""
    built: Any = torch._C
    module: Any = torch
    for name in [name for name in dir(built) if name.startswith(OWN)]:
        delattr(built, name)
    built._has_cuda = built._has_cudnn = False
    module.version.cuda = None
    module.backends.cudnn.version = lambda: None
    for name in CLASSES:
        setattr(torch.cuda, name, module._utils._dummy_type(name))
    distributed: Any = sys.modules.get("torch.distributed.distributed_c10d")
    if distributed is not None:
        distributed._NCCL_AVAILABLE = False
    give_accelerator(None)


def give_accelerator(device: torch.device | None) -> None:
    """Have torch say that `device` is its accelerator: a build with CUDA says "cuda" without a GPU, too."""
    built: Any = torch._C
    accelerator: Any = torch.accelerator
    built._get_accelerator = lambda *args: device or torch.device("cpu")
    accelerator.current_accelerator = lambda *args, **kwargs: device
    accelerator.is_available = lambda: device is not None
    accelerator.device_count = lambda: int(device is not None)
