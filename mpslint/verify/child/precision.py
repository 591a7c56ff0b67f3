"""Autocast and gradient scaling of foreign code: what they do on the machine that the run is for, and what it asked for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch

from mpslint.verify.child.replaced import replaces
from mpslint.verify.child.torch_patches import Report
from mpslint.verify.emulator.autocast import Casts
from mpslint.verify.job import Device
from mpslint.verify.platform import precision_outcome
from mpslint.verify.spec import VerifiedMac

HALVES = {torch.float16: "fp16", torch.bfloat16: "bf16"}


@dataclass(slots=True)
class Precision:
    """The autocasts and scalers that the code asked for."""

    half: str = ""
    line: str = ""
    """The user's line of the last autocast."""
    is_scaled: bool = False


def note_precision(machine: VerifiedMac, report: Report, device: Device, casts: Casts, user_line: Callable[[], str]) -> Precision:
    """Have autocast and GradScaler say what they do on the machine; return what was asked for.

    Where the run is emulated, autocast for MPS is on as on the machine, and `casts` are forgotten where it ends. The CPU that stands in for
    MPS computes in float32.
    """
    asked = Precision()
    autocast = torch.amp.autocast_mode.autocast

    @replaces(autocast, "__init__")
    def noted(init: Any, self: Any, device_type: str, dtype: Any = None, enabled: bool = True, cache_enabled: Any = None) -> None:
        half = dtype or (torch.bfloat16 if device_type == "cpu" else torch.float16)
        self.wanted = (device_type, half, enabled)
        if device_type == "mps" and device == "emulated":
            works = half in HALVES and precision_outcome("autocast", HALVES[half], machine).does == "works"
            init(self, device_type, half, enabled and works, cache_enabled)
        elif device_type == "mps" and device == "cpu":
            init(self, "cpu", torch.bfloat16, False, cache_enabled)
        else:
            init(self, device_type, dtype, enabled, cache_enabled)

    @replaces(autocast, "__enter__")
    def entered(enter: Any, self: Any) -> Any:
        device_type, dtype, is_enabled = getattr(self, "wanted", ("", None, False))
        if is_enabled and torch.is_grad_enabled():
            asked.line = user_line()
            _judge_autocast(device_type, HALVES.get(dtype, "") if dtype is not None else "", machine, report, asked)
        return enter(self)

    @replaces(torch, "clear_autocast_cache")
    def cleared(clear: Any) -> None:
        casts.weights.clear()
        clear()

    _note_scaler(machine, report, asked)
    return asked


def _judge_autocast(device_type: str, half: str, machine: VerifiedMac, report: Report, asked: Precision) -> None:
    if device_type in ("cuda", "cpu"):
        said = "is switched off, because CUDA is not there" if device_type == "cuda" else "casts nothing that is on MPS"
        report("silent-float32", "error", f'autocast("{device_type}") {said}: the run silently computes in float32')
        return
    if device_type != "mps" or not half:
        return
    outcome = precision_outcome("autocast", half, machine)
    if outcome.does == "raises":
        report("autocast", "error", outcome.text)
    elif outcome.does == "ignored":
        report("silent-float32", "error", outcome.text)
    else:
        asked.half = half


def _note_scaler(machine: VerifiedMac, report: Report, asked: Precision) -> None:

    @replaces(torch.amp.GradScaler, "scale")
    def noted(scale: Any, self: Any, outputs: Any) -> Any:
        if self.is_enabled() and getattr(self, "_device", "") == "mps":
            asked.is_scaled = True
            outcome = precision_outcome("grad_scaler", "any", machine)
            if outcome.does == "raises":
                report("grad-scaler", "error", outcome.text)
        return scale(self, outputs)
