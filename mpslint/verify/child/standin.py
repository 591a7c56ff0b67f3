"""The device `mps` where there is none: every use of it is served by tensors without values, or by the CPU.

The user's code goes on seeing `mps:0`: devices are replaced on the way into torch and put back on the way out.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

from mpslint.verify.child.replaced import replaces
from mpslint.verify.emulator.autocast import Casts, taken_apart
from mpslint.verify.emulator.intercept import as_on_mps, neutral_number, to_host
from mpslint.verify.emulator.operators import Coverage

MPS = "mps"
CONVERT = "Cannot convert a {what} to {target} as the MPS framework doesn't support float64. Please use float32 instead."
ATTENTION = torch.nn.functional.multi_head_attention_forward.__name__
"""A function of Python code that calls matrix products."""


def is_mps(value: Any) -> bool:
    """Return whether a value names the MPS device, as an object or as text."""
    if isinstance(value, torch.device):
        return value.type == MPS
    return isinstance(value, str) and value in (MPS, f"{MPS}:0")


class StandIn(TorchFunctionMode):
    """Serves `mps` by `served`: "meta" when the run is emulated, "cpu" when its values are wanted."""

    def __init__(self, served: str, lstm: Callable[..., Any] | None = None, on_backward: Callable[[Any], None] | None = None) -> None:
        super().__init__()
        self.served = torch.device(served)
        self.is_emulated = served == "meta"
        self.lstm, self.on_backward = lstm, on_backward
        self.hosted: Callable[[torch.Tensor, torch.Tensor], None] = lambda source, copy: None
        self.casts: Casts | None = None
        """What autocast for MPS does, where the run is emulated: torch's own passes tensors without values by."""
        self.made: Callable[[str, Any, Any, Any], None] | None = None
        """Takes each operation that was done: its name, its arguments, and what it made."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if func is torch.device:
            return func(*args, **kwargs)
        name = getattr(func, "__name__", "")
        if self.is_emulated:
            special = SPECIAL.get(name)
            if special is not None and (name in MAKING or self.on_device(args[0])):
                answered = special(self, func, args, kwargs)
                if answered is not NotImplemented:
                    return answered
        if name == "backward" and self.on_backward is not None and args:
            self.on_backward(args[0])
        if func is torch._C._nn._parse_to:  # its answer is kept: Lightning's modules say by it where they are
            return func(*args, **kwargs)
        args = tuple(self.served if is_mps(value) else value for value in args)  # `x.to("mps")` gets here as a string
        if is_mps(kwargs.get("device")):
            self.refuse_float64(kwargs.get("dtype"))
            kwargs = {**kwargs, "device": self.served}
        if self.casts is not None and torch.is_autocast_enabled(MPS):
            if name == ATTENTION:
                with self:
                    return taken_apart(func, args, kwargs)
            args, kwargs = self.casts.of(name, torch.get_autocast_dtype(MPS), args, kwargs)
        if name == "lstm" and self.lstm is not None:
            return self.lstm(func, args, kwargs)
        out = func(*args, **kwargs)
        if self.made is not None:
            self.made(name, args, kwargs, out)
        return out

    def refuse_float64(self, dtype: torch.dtype | None, what: str = "MPS Tensor", target: str = "float64 dtype") -> None:
        """Raise what MPS raises when a float64 or complex128 tensor is asked of it."""
        if dtype in (torch.float64, torch.complex128):
            raise as_on_mps(TypeError(CONVERT.format(what=what, target=target)))

    def on_device(self, value: Any) -> bool:
        """Return whether a value is a tensor that stands for one on the Mac's GPU."""
        return isinstance(value, torch.Tensor) and value.is_meta


def _get(mode: StandIn, func: Any, args: Any, kwargs: Any) -> Any:
    """Answer `tensor.device`, `tensor.is_mps` and the like as on a Mac."""
    if func == DEVICE:
        return torch.device(MPS, 0)
    if func == IS_MPS:
        return True
    return False if func in (IS_META, IS_CPU) else NotImplemented


Tensor: Any = torch.Tensor
DEVICE, IS_MPS = Tensor.device.__get__, Tensor.is_mps.__get__
IS_META, IS_CPU = Tensor.is_meta.__get__, Tensor.is_cpu.__get__


def _to(mode: StandIn, func: Any, args: Any, kwargs: Any) -> Any:
    """Answer `tensor.to(...)`: towards the device, or from it to the CPU."""
    tensor, rest = args[0], list(args[1:])
    if not isinstance(tensor, torch.Tensor):
        return NotImplemented
    wanted = kwargs.get("dtype") or next((value for value in rest if isinstance(value, torch.dtype)), None)
    like = rest[0] if rest and isinstance(rest[0], torch.Tensor) else kwargs.get("other")
    given = kwargs.get("device", rest[0] if rest else None)
    if (is_mps(given) or (like is not None and mode.on_device(like))) and not isinstance(given, torch.dtype):
        final = wanted or (like.dtype if like is not None else tensor.dtype)
        mode.refuse_float64(final, *(("float64 Tensor", "MPS") if final == tensor.dtype else ()))
        options = {key: value for key, value in kwargs.items() if key in ("non_blocking", "copy", "memory_format")}
        return func(tensor, mode.served, final, **options)
    if mode.on_device(tensor):
        mode.refuse_float64(wanted)
        if like is not None or _is_cpu(given):
            return _host(mode, tensor, wanted or (like.dtype if like is not None else None))
    return NotImplemented


def _is_cpu(value: Any) -> bool:
    return (isinstance(value, torch.device) and value.type == "cpu") or value == "cpu"


def _host(mode: StandIn, tensor: torch.Tensor, dtype: torch.dtype | None = None) -> torch.Tensor:
    """Return the copy of a tensor in the process's own memory; one that has a graph is copied by an operator, which the graph gets too."""
    if tensor.requires_grad and torch.is_grad_enabled():
        return tensor.to("cpu", dtype or tensor.dtype)
    copy = to_host(tensor, dtype)
    mode.hosted(tensor, copy)
    return copy


def _numpy(mode: StandIn, func: Any, args: Any, kwargs: Any) -> Any:
    said = "can't convert mps:0 device type tensor to numpy. Use Tensor.cpu() to copy the tensor to host memory first."
    raise as_on_mps(TypeError(said))


def _list(mode: StandIn, func: Any, args: Any, kwargs: Any) -> Any:
    mode.hosted(args[0], args[0])
    return torch.full(tuple(args[0].shape), neutral_number(args[0].dtype), dtype=args[0].dtype).tolist()


def _format(mode: StandIn, func: Any, args: Any, kwargs: Any) -> Any:
    """Answer f"{loss:.4f}": what a number of its dtype gives."""
    return format(args[0].item(), args[1]) if args[0].dim() == 0 else NotImplemented


def _double(mode: StandIn, func: Any, args: Any, kwargs: Any) -> Any:
    mode.refuse_float64(torch.float64)


def _factory(mode: StandIn, func: Any, args: Any, kwargs: Any) -> Any:
    """Answer `torch.tensor(data, device="mps")`: the data's own float64 is refused as MPS refuses it."""
    if not is_mps(kwargs.get("device")):
        return NotImplemented
    with torch._C.DisableTorchFunction():
        made = torch.as_tensor(args[0], dtype=kwargs.get("dtype"), device="cpu")
        mode.refuse_float64(made.dtype, "float64 Tensor", "MPS")
    found = torch.empty(tuple(made.shape), dtype=made.dtype, device=mode.served)
    return found.requires_grad_(bool(kwargs.get("requires_grad", False)))


SPECIAL: dict[str, Callable[[StandIn, Any, Any, Any], Any]] = {
    "__get__": _get, "to": _to, "numpy": _numpy, "__array__": _numpy, "tolist": _list, "double": _double, "__format__": _format,
    "cpu": lambda mode, func, args, kwargs: _host(mode, args[0]), "get_device": lambda mode, func, args, kwargs: 0,
    "tensor": _factory, "as_tensor": _factory,
}  # fmt: skip
MAKING = ("to", "tensor", "as_tensor")
"""Those that also bring something to the device; the others are asked of a tensor that is there."""


def pickle_without_values() -> None:
    """Let tensors without values be pickled: of what says that it is on MPS, torch would copy the values."""

    @replaces(Tensor, "_reduce_ex_internal")
    def without_values(reduce: Any, self: Any, proto: Any) -> Any:
        with torch._C.DisableTorchFunction():
            if not self.is_meta:
                return reduce(self, proto)
            kept = (self.dtype, tuple(self.size()), self.stride(), self.requires_grad)
        return torch._utils._rebuild_meta_tensor_no_storage, kept


GATES = 6
"""Numbers kept for each hidden unit and time step: four gates, the cell state, the layer's output."""


class _Lstm(torch.autograd.Function):
    """Makes the outputs and the saved state of an LSTM, and gradients of the right shapes."""

    @staticmethod
    def forward(ctx: Any, layout: tuple[int, int, int, int], source: Any, hidden: Any, cell: Any, *weights: Any) -> Any:
        layers, directions, steps, batch = layout
        width = hidden.shape[-1]
        shape = (*source.shape[:-1], width * directions)
        saved = source.new_empty((layers * directions, steps, batch, GATES * width))
        ctx.save_for_backward(source, hidden, cell, saved, *weights)
        return source.new_empty(shape), torch.empty_like(hidden), torch.empty_like(cell)

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        source, hidden, cell, _, *weights = ctx.saved_tensors
        return (None, torch.empty_like(source), torch.empty_like(hidden), torch.empty_like(cell), *map(torch.empty_like, weights))


def lstm_in_one(coverage: Coverage) -> Callable[..., Any]:
    """Return what answers `torch.lstm` for tensors of the device."""

    def answer(func: Any, args: Any, kwargs: Any) -> Any:
        source = args[0]
        if len(args) < 9 or not (isinstance(source, torch.Tensor) and source.is_meta) or not isinstance(args[1], (tuple, list)):
            return func(*args, **kwargs)
        hidden, cell = args[1]
        weights, layers, bidirectional, batch_first = args[2], args[4], args[7], args[8]
        coverage.see("lstm", (source, args[1], weights, args[3], layers, args[5], args[6]), {}, [source])
        steps, batch = (source.shape[1], source.shape[0]) if batch_first else (source.shape[0], source.shape[1])
        function: Any = _Lstm
        return function.apply((layers, 1 + int(bidirectional), steps, batch), source, hidden, cell, *weights)

    return answer
