"""Closer looks at some steps, in the user's process: values, shapes, dtypes, and operators that run on the CPU.

Loaded by the probe, by its path, at the first optimizer step: torch is there, mpslint need not be. Each look is cheap or rare. What hangs
on torch itself is a hook that removes itself, or a descriptor that hands on what it stands for, so that no frame of mpslint is on the
stack when the user's code fails, and nothing of it is in a model that the user pickles.
"""

from __future__ import annotations

import os
import sys
import time
import weakref
from collections import Counter
from typing import Any

import torch

SAMPLE_STEPS = 50
EARLY = 10
"""Values are looked at in this step and in every SAMPLE_STEPS-th: looking waits for the device."""
DTYPES_AT = 2
MOST_LOSSES = 64
MOST_OPERATOR_LOOKS = 3
_COMPOSITE = ("CompositeImplicitAutograd", "CompositeExplicitAutograd", "CompositeExplicitAutogradNonFunctional")


class _Backward:
    """Stands for `Tensor.backward`: reading it on a tensor shows the loss, and gives the method itself."""

    def __init__(self, original: Any, looks: Looks) -> None:
        self.original, self.looks = original, looks

    def __get__(self, tensor: Any, owner: Any = None) -> Any:
        if tensor is None:
            return self.original
        self.looks.saw_loss(tensor)
        return self.original.__get__(tensor, owner)


class Looks:
    """What is looked at besides time and memory. `tell` takes one event."""

    def __init__(self, tell: Any, own_line: Any, device: str) -> None:
        self.tell, self.own_line, self.device = tell, own_line, device
        self.shapes: set[Any] = set()
        self.has_fallbacks = os.environ.get("PYTORCH_ENABLE_MPS_FALLBACK") == "1"
        self._trained: set[int] = set()
        self._is_trained: Any = weakref.WeakKeyDictionary()
        self._armed: Any = None
        self._marked = ""
        self._losses: list[Any] = []
        self._is_due = False
        self._step = 0
        self._dtypes: Counter[str] = Counter()
        self._dtype_hook: Any = None
        self._timing: Any = None
        self._timings = 0
        self._original = torch.Tensor.backward
        self.resume()

    def begin(self, optimizer: Any) -> None:
        """Take what an optimizer trains as the training from now on."""
        self._trained = {id(parameter) for group in optimizer.param_groups for parameter in group["params"]}
        self._is_trained.clear()
        before_saving = getattr(optimizer, "register_state_dict_pre_hook", None)
        if before_saving is not None:
            before_saving(lambda _: self._mark("checkpoint"))

    def resume(self) -> None:
        """Look from now on."""
        torch.Tensor.backward = _Backward(self._original, self)  # type: ignore[assignment]

    def stop(self) -> None:
        """Look no longer."""
        torch.Tensor.backward = self._original  # type: ignore[method-assign]
        self._disarm()

    @property
    def count_of_shapes(self) -> int | None:
        """How many batch shapes there were; None for a compiled model, whose compilation hooks would disturb."""
        return None if _is_compiled() else len(self.shapes)

    def after_step(self, count: int, optimizer: Any) -> None:
        """Look at the step that has just ended, where it was to be looked at, and prepare the look at the next."""
        self._step, self._marked = count, ""
        if self._is_due:
            self._look_at_values(count, optimizer)
        self._losses.clear()
        self._is_due = (count + 1) % SAMPLE_STEPS == 0 or count + 1 == EARLY
        self._look_at_dtypes(count)
        self._look_at_operators(count)
        self._arm()

    def saw_loss(self, loss: Any) -> None:
        """Keep a loss that is about to be differentiated where its value is looked at; the next batch follows it."""
        if self._is_due and len(self._losses) < MOST_LOSSES:
            self._losses.append(loss.detach())
        self._arm()

    def _look_at_values(self, count: int, optimizer: Any) -> None:
        """Tell the last loss, and which of loss and gradients aren't finite. This waits for the device once."""
        gradients = [p.grad for group in optimizer.param_groups for p in group["params"] if p.grad is not None and not p.grad.is_sparse]
        losses = [loss.float().sum() for loss in self._losses]
        norms = [gradient.detach().float().norm() for gradient in gradients]
        if losses or norms:
            to = (losses or norms)[0].device
            values = torch.stack([value.to(to) for value in (*losses, *norms)])
            finite = torch.isfinite(values)
            ends = [len(losses) - 1] if losses else [0]
            told = torch.stack([values[ends[0]], finite[: len(losses)].all().float(), finite[len(losses) :].all().float()]).tolist()
            loss = told[0] if losses and told[0] - told[0] == 0 else None
            self.tell("values", count, loss, bool(told[1]), bool(told[2]))

    def _arm(self) -> None:
        """Have the next module that is called shown, which is the outermost one of a model."""
        if self._armed is None and not _is_compiled():
            self._armed = torch.nn.modules.module.register_module_forward_pre_hook(self._called)

    def _disarm(self) -> None:
        if self._armed is not None:
            self._armed.remove()
            self._armed = None

    def _called(self, module: Any, given: Any) -> None:
        """Count the shapes that a module is called with, and tell whether it is called for evaluation or generation."""
        self._disarm()
        named = sys._getframe(1).f_locals.get("kwargs")  # hooks for all modules don't get keyword arguments
        if torch.is_grad_enabled():
            self.shapes.add(tuple(_shapes((*given, *named.values()) if isinstance(named, dict) else given)))
        elif self._trains(module):
            self._mark("generation" if _is_generating() else "evaluation")

    def _trains(self, module: Any) -> bool:
        """Return whether the optimizer trains something of a module: a frozen teacher isn't evaluated."""
        if module not in self._is_trained:
            self._is_trained[module] = any(id(parameter) in self._trained for parameter in module.parameters())
        return bool(self._is_trained[module])

    def _mark(self, what: str) -> None:
        """Tell what else is done after a step, once a step."""
        if what not in self._marked:
            self._marked += what
            self.tell("mark", self._step, what)

    def _look_at_dtypes(self, count: int) -> None:
        """Tell in which dtypes the layers of one step compute."""
        if self._dtype_hook is not None:
            self._dtype_hook.remove()
            self._dtype_hook = None
            self.tell("computed", dict(self._dtypes))
        if count == DTYPES_AT - 1 and not _is_compiled():
            self._dtype_hook = torch.nn.modules.module.register_module_forward_hook(self._computed)

    def _computed(self, module: Any, given: Any, made: Any) -> None:
        weight = getattr(module, "weight", None)
        is_layer = isinstance(weight, torch.Tensor) and weight.dim() > 1 and isinstance(made, torch.Tensor)
        if is_layer and torch.is_grad_enabled() and given and isinstance(given[0], torch.Tensor) and given[0].is_floating_point():
            self._dtypes[str(made.dtype).removeprefix("torch.")] += 1

    def _look_at_operators(self, count: int) -> None:
        """Time, in one step, the operators that this device lacks, where the fallback to the CPU is on."""
        if self._timing is not None:
            self._timing.end()
            self._timing = None
        elif self.has_fallbacks and self.device == "mps" and count > DTYPES_AT and not self._is_due and not _is_compiled():
            self.has_fallbacks = False
            self._timings += 1
            if self._timings <= MOST_OPERATOR_LOOKS:
                self._timing = _timing(self)


def _timing(looks: Looks) -> Any:
    """Return what times, until its `end`, each operator without a kernel for MPS; None where another such mode is on."""
    from torch.utils._python_dispatch import TorchDispatchMode, _get_current_dispatch_mode_stack

    class Timing(TorchDispatchMode):
        lacking: dict[Any, bool]
        spent: dict[str, list[Any]]

        def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            start = self.starts(function)
            made = function(*args, **(kwargs or {}))
            if start is not None:
                synchronize()
                one = self.spent.setdefault(function.name(), [0, 0.0, *looks.own_line()])
                one[0] += 1
                one[1] += time.perf_counter() - start
            return made

        def starts(self, function: Any) -> float | None:
            """Return when an operator that is to be timed starts, None for any other."""
            try:
                if function not in self.lacking:
                    self.lacking[function] = lacks_kernel(function.name())
                if not self.lacking[function]:
                    return None
                synchronize()
                return time.perf_counter()
            except Exception:  # runs inside each operator of the training, which an error of a torch not seen here must not end
                self.lacking[function] = False
                return None

        def end(self) -> None:
            if _get_current_dispatch_mode_stack()[-1:] == [self]:
                self.__exit__(None, None, None)  # type: ignore[no-untyped-call]
            for name, (calls, seconds, *line) in self.spent.items():
                looks.tell("fallback", name, *line)
                looks.tell("cost", name, calls, seconds)

    if _get_current_dispatch_mode_stack():
        return None
    made = Timing()  # type: ignore[no-untyped-call]
    made.lacking, made.spent = {}, {}
    made.__enter__()  # type: ignore[no-untyped-call]
    return made


def synchronize() -> None:
    """Wait for the device, so that a time is that of one operator."""
    torch.mps.synchronize()


def lacks_kernel(name: str) -> bool:
    """Return whether an operator has no kernel that MPS could use, so that the fallback runs it on the CPU."""
    has = torch._C._dispatch_has_kernel_for_dispatch_key
    return name.startswith("aten::") and not any(has(name, key) for key in ("MPS", *_COMPOSITE))


def _is_compiled() -> bool:
    """Return whether torch.compile has compiled anything: hooks make it warn, and compile again."""
    utils = sys.modules.get("torch._dynamo.utils")
    return bool(utils is not None and utils.counters.get("frames"))


def _is_generating() -> bool:
    frame: Any = sys._getframe(1)
    while frame is not None:
        if frame.f_code.co_name == "generate":
            return True
        frame = frame.f_back
    return False


def _shapes(values: Any, depth: int = 3) -> Any:
    """Yield the shapes of tensors in arguments, in dicts and lists too."""
    for value in values:
        if hasattr(value, "shape") and hasattr(value, "dtype"):
            yield tuple(value.shape)
        elif depth and isinstance(value, (list, tuple)):
            yield from _shapes(value, depth - 1)
        elif depth and hasattr(value, "values") and callable(value.values):
            yield from _shapes(value.values(), depth - 1)
