"""A run that stands for a Mac sees no CUDA, whatever build of torch and whatever GPU are here.

No GPU is needed: a build with CUDA and its driver are imitated by the functions that torch asks.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from mpslint.verify.process import ChildLimits
from mpslint.verify.script import ScriptOptions, verify_script

pytest.importorskip("torch")

WITH_CUDA = """\
import torch

torch._C._cuda_getDeviceCount = lambda: 2
torch._C._cuda_init = lambda: None
torch._C._cuda_getDevice = torch._C._cuda_getCurrentDevice = lambda: 0
torch._C._has_cuda = torch._C._has_cudnn = True
torch._C._accelerator_getAccelerator = lambda: torch.device("cuda")
torch.version.cuda = "13.0"
torch.cuda._device_count_nvml = lambda: 2
import torch.distributed.distributed_c10d
torch.distributed.distributed_c10d._NCCL_AVAILABLE = True
assert torch.cuda.is_available() and torch.cuda.device_count() == 2 and torch.distributed.is_nccl_available()
"""
"""What a build with CUDA answers on a machine with two GPUs."""

ASKED = """\
import os

from mpslint.verify.child.device import leave_cuda_out

leave_cuda_out()
os.environ.update(CUDA_VISIBLE_DEVICES="0", PYTORCH_NVML_BASED_CUDA_CHECK="1")
print([
    torch.cuda.is_available(), torch.cuda.device_count(), torch.version.cuda, torch.backends.cuda.is_built(),
    torch.backends.cudnn.is_available(), torch.backends.cudnn.version(), torch.cuda.is_bf16_supported(), torch.distributed.is_nccl_available(),
    torch.accelerator.current_accelerator(), torch.accelerator.is_available(), torch.get_device_module().__name__,
    torch.amp.GradScaler("cuda").is_enabled(),
])
for use in (
    lambda: torch.zeros(2, device="cuda"), lambda: torch.zeros(2).cuda(), lambda: torch.nn.Linear(2, 2).to("cuda:0"),
    torch.cuda.current_device, torch.cuda.synchronize, lambda: torch.cuda.get_device_name(0), torch.cuda.mem_get_info, torch.cuda.Stream,
    torch.cuda.Event, torch.cuda.CUDAGraph, lambda: torch.cuda.set_device(0),
):
    try:
        use()
        print("nothing raised")
    except (AssertionError, RuntimeError, AttributeError) as error:
        print(type(error).__name__)
layer = torch.nn.Linear(2, 2)
layer(torch.randn(3, 2)).sum().backward()
torch.optim.AdamW(layer.parameters()).step()
torch.manual_seed(1)
torch.cuda.empty_cache()
"""


def test_a_build_with_cuda_answers_as_one_without() -> None:
    """Questions are answered, and uses raise, as in the macOS wheels; the CPU works as ever."""
    done = subprocess.run(
        [sys.executable, "-c", WITH_CUDA + ASKED], cwd=Path(__file__).parents[2], capture_output=True, text=True, check=False
    )

    said = done.stdout.splitlines()
    assert said[:1] == ["[False, 0, None, False, False, None, False, False, None, False, 'torch.cpu', False]"], done.stderr
    assert said[1:] == ["AssertionError"] * 7 + ["RuntimeError"] * 3 + ["AttributeError"], done.stderr
    assert done.returncode == 0, done.stderr


SCRIPT = """\
import os

import torch
from torch import nn

said = [torch.cuda.is_available(), torch.cuda.device_count(), torch.version.cuda, torch.accelerator.current_accelerator().type]
assert said == [False, 0, None, "mps"], said
assert torch.get_device_module() is torch.mps
assert "CUDA_VISIBLE_DEVICES" not in os.environ
try:
    torch.Generator(device="cuda")
except RuntimeError:
    pass
else:
    raise ValueError("a generator of CUDA")
device = torch.device("cuda" if torch.cuda.is_available() else "mps")
model = nn.Linear(4, 2).to(device)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(20):
    loss = model(torch.randn(8, 4, device=device)).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""


def test_a_script_sees_a_mac(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It trains on MPS, and gets no variable that chooses among GPUs."""
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0")
    (tmp_path / "train.py").write_text(SCRIPT, encoding="utf-8")

    report = verify_script(tmp_path / "train.py", ScriptOptions(limits=ChildLimits(seconds=90)))

    assert report.status == "pass", [check for verdict in report.verdicts for check in verdict.checks]
