"""Makes a build of torch with CUDA what the macOS wheels are, one without: Linux's usual wheel is built with CUDA, and the machine may have
a GPU."""

from __future__ import annotations

import sys
from typing import Any

import torch

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
