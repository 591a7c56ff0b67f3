"""Which operators of a run have no MPS kernel in the Target's torch, fall back to the CPU,
or hit a case that a kernel refuses."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Mapping, Sequence
from types import FrameType
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from mpslint.verify.emulator.remembered import makes_new_tensors
from mpslint.verify.emulator.watch import op_name
from mpslint.verify.outcome import Trouble
from mpslint.verify.platform import cpu_operators, missing_operators, special_cases

EVERYWHERE = torch._C.DispatchKey.CompositeExplicitAutograd
"""The key of what is made of other operators on every device, below autograd and what sees it."""


def is_everywhere(func: Any) -> bool:
    """Return whether an operator is made of others on every device."""
    return bool(torch._C._dispatch_has_kernel_for_dispatch_key(func.name(), EVERYWHERE.name))


class Inside(TorchDispatchMode):
    """Notes the operators that one is made of, below what a mode around it sees: `_cummax_helper` in `cummax`."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.names: list[str] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.names.append(op_name(func))
        if not is_everywhere(func):
            return func(*args, **(kwargs or {}))
        with self:
            return func._op_dk(EVERYWHERE, *args, **(kwargs or {}))


def inside(name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Sequence[str]:
    """Return an operator and those that PyTorch makes it of on every device, whose kernels run for it."""
    base, _, overload = name.partition(".")
    func = getattr(getattr(torch.ops.aten, base, None), overload or "default", None)
    if func is None or not makes_new_tensors(func) or not is_everywhere(func):
        return (name,)
    seen = Inside()
    with seen, contextlib.suppress(RuntimeError):  # not all run without values
        func(*args, **kwargs)
    return seen.names


class Coverage:
    """Looks at every call; each trouble is kept once for each place of the user's code.

    `user_files` are the user's files, by absolute path, and how a report names them.
    """

    def __init__(self, version: str, user_files: Mapping[str, str] | None = None) -> None:
        self.version, self.user_files, self.is_fallback_on = version, user_files or {}, False
        self.troubles: dict[tuple[str, str], Trouble] = {}
        self._kernels: dict[str, Sequence[str]] = {}
        """The operators whose kernels run for each that was seen."""
        self._missing = missing_operators(version)
        self._fallback = frozenset(cpu_operators(version))
        self._cases: dict[str, list[Mapping[str, Any]]] = {}
        for case in special_cases(version):
            for op in case["ops"]:
                self._cases.setdefault(op, []).append(case)

    def falls_back(self, name: str) -> bool:
        """Return whether an operator runs on the CPU."""
        return name in self._fallback or (self.is_fallback_on and any(one in self._missing for one in self._kernels.get(name, (name,))))

    def see(self, name: str, args: tuple[Any, ...], kwargs: dict[str, Any], made: list[torch.Tensor]) -> None:
        """Look at one call."""
        if name not in self._kernels:
            self._kernels[name] = inside(name, args, kwargs)
        missing = next((one for one in self._kernels[name] if one in self._missing), None)
        if missing is not None:
            self._miss(missing)
        elif name in self._fallback:
            self.report(name, "warning", f"{name} has no MPS kernel and runs on the CPU, at every step")
        cases = self._cases.get(name) or self._cases.get(name.split(".")[0], [])
        if any(tensor.dtype in RARE for tensor in made):
            cases = [*cases, *self._cases.get("*", [])]
        for case in cases:
            if PREDICATES[case["check"]](args, made):
                self.report(case["name"], case["severity"], _fill(case["message"], name, args, made))

    def report(self, name: str, severity: str, message: str, line: str = "") -> None:
        """Keep a trouble at the user's line, unless the same was seen there."""
        line = line or self.user_line()
        self.troubles.setdefault((name, line), Trouble(name, severity, message, line))

    def _miss(self, name: str) -> None:
        first = self._missing[name]
        later = f"torch {first} brings one" if first else "no torch up to 2.15 brings one"
        if self.is_fallback_on:
            self.report(name, "warning", f"aten::{name} has no MPS kernel in torch {self.version} and falls back to the CPU ({later})")
        else:
            self.report(name, "error", f"NotImplementedError: aten::{name} has no MPS kernel in torch {self.version}; {later}")

    def user_line(self) -> str:
        """Return `file:line` of the innermost frame that is the user's own code, empty when there is none."""
        return line_in(self.user_files, sys._getframe(1)) if self.user_files else ""


def line_in(files: Mapping[str, str], frame: FrameType | None) -> str:
    """Return `file:line` of the innermost frame, from one outwards, whose code is in one of some files; empty when there is none."""
    while frame is not None:
        if (shown := files.get(frame.f_code.co_filename)) is not None:
            return f"{shown}:{frame.f_lineno}"
        frame = frame.f_back
    return ""


def _fill(message: str, name: str, args: tuple[Any, ...], made: list[torch.Tensor]) -> str:
    """Return a message with what is known of the call filled in."""
    shapes = " to ".join(str(tuple(tensor.shape)) for tensor in [*(a for a in args[:1] if isinstance(a, torch.Tensor)), *made[:1]])
    size = max((tensor.numel() * tensor.element_size() for tensor in made), default=0)
    rows = args[0].shape[-1] if args and isinstance(args[0], torch.Tensor) and args[0].dim() else 0
    dtype = str(made[0].dtype).removeprefix("torch.") if made else ""
    return message.format(op=f"aten::{name}", dtype=dtype, shapes=shapes, size=f"{size / 2**30:.1f} GiB", rows=rows)


Predicate = Callable[[tuple[Any, ...], list[torch.Tensor]], bool]
RARE = frozenset({torch.float64, torch.complex128, torch.bfloat16})
"""Dtypes that MPS has not in every version, whatever the operator."""


def always(args: tuple[Any, ...], made: list[torch.Tensor]) -> bool:
    """Every call of the operator."""
    return True


def makes(dtype: torch.dtype) -> Predicate:
    """Return the predicate of calls that make a tensor of a dtype."""
    return lambda args, made: any(tensor.dtype is dtype for tensor in made)


def pools_unevenly(args: tuple[Any, ...], made: list[torch.Tensor]) -> bool:
    """Adaptive pooling to sizes that do not divide the input's."""
    wanted = [args[1]] if isinstance(args[1], int) else list(args[1])
    given = list(args[0].shape[-len(wanted) :])
    return any(size % target and target % size for size, target in zip(given, wanted, strict=False))


def lstm_projects(args: tuple[Any, ...], made: list[torch.Tensor]) -> bool:
    """nn.LSTM with proj_size: the hidden and the cell state differ in width."""
    hidden = args[1]
    return bool(hidden[0].shape[-1] != hidden[1].shape[-1])


def lstm_drops_out(args: tuple[Any, ...], made: list[torch.Tensor]) -> bool:
    """nn.LSTM with several layers and dropout, in training."""
    layers, dropout, training = args[4], args[5], args[6]
    return layers > 1 and dropout > 0 and bool(training)


def convolves_to_many_channels(args: tuple[Any, ...], made: list[torch.Tensor]) -> bool:
    """A convolution with more than 65536 output channels."""
    return bool(made[0].dim() > 2 and made[0].shape[1] > 65536)


def transposes_3d_in_half(args: tuple[Any, ...], made: list[torch.Tensor]) -> bool:
    """A transposed 3-D convolution in half precision."""
    return bool(args[6]) and args[0].dim() == 5 and args[0].dtype in (torch.float16, torch.bfloat16)


def makes_over_4_gib(args: tuple[Any, ...], made: list[torch.Tensor]) -> bool:
    """One tensor of more than 2^32 bytes."""
    return any(tensor.numel() * tensor.element_size() > 2**32 for tensor in made)


def multiplies_the_worst_rows(args: tuple[Any, ...], made: list[torch.Tensor]) -> bool:
    """A weight gradient over 32,767 or 32,768 rows, both sides at least 16 wide."""
    return multiplies_many_rows(args, made) and bool(args[0].shape[1] <= 32768)


def multiplies_many_rows(args: tuple[Any, ...], made: list[torch.Tensor]) -> bool:
    """A weight gradient over 32,767 rows or more, both sides at least 16 wide."""
    left, right = args[0], args[1]
    return bool(left.shape[1] >= 32767 and left.shape[0] >= 16 and right.shape[1] >= 16)


PREDICATES: dict[str, Predicate] = {
    check.__name__: check
    for check in (
        always, pools_unevenly, lstm_projects, lstm_drops_out, convolves_to_many_channels, transposes_3d_in_half, makes_over_4_gib,
        multiplies_many_rows, multiplies_the_worst_rows,
    )
} | {f"makes_{dtype}".replace("torch.", ""): makes(dtype) for dtype in RARE}  # fmt: skip
