"""Closer looks at some steps, in the user's process: values, shapes, dtypes, and operators that run on the CPU.

Loaded by the probe, by its path, at the first optimizer step: torch is there, mpslint need not be. Each look is cheap or rare. What hangs
on torch itself is asked by torch and answers at once, before the user's code goes on: tracebacks have the frames that they have without
it, and nothing of it is in a model that the user pickles.
"""

from __future__ import annotations

import os
import sys
import time
import weakref
from collections import Counter, OrderedDict
from typing import Any

import torch
from torch.nn.modules import module as modules

SAMPLE_STEPS = 50
EARLY = 10
"""Values are looked at in this step and in every SAMPLE_STEPS-th: looking waits for the device."""
DTYPES_AT = 2
MOST_LOSSES = 64
MOST_OPERATOR_LOOKS = 3
_PRODUCTS = ("AddmmBackward", "MmBackward", "BmmBackward", "BaddbmmBackward", "LinearBackward", "ConvolutionBackward")
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


class _Asked(OrderedDict[int, Any]):
    """Stands for torch's hooks before all modules, empty: at each call of a module torch asks whether there are any.

    A real hook would put torch's frame for hooks into the traceback of whatever fails in the model.
    """

    looks: Looks

    def __bool__(self) -> bool:
        self.looks.saw_call(sys._getframe(1).f_locals)
        return len(self) > 0


class Looks:
    """What is looked at besides time and memory. `tell` takes one event."""

    def __init__(self, tell: Any, own_line: Any, device: str) -> None:
        self.tell, self.own_line, self.device = tell, own_line, device
        self.shapes: set[Any] = set()
        self.has_fallbacks = os.environ.get("PYTORCH_ENABLE_MPS_FALLBACK") == "1"
        self._trained: set[int] = set()
        self._is_trained: Any = weakref.WeakKeyDictionary()
        self._asked = _Asked()
        self._asked.looks = self
        self._hooks: Any = None
        self._marked = ""
        self._losses: list[Any] = []
        self._is_due = False
        self._step = 0
        self._dtypes: Counter[str] | None = None
        self._timing: Any = None
        self._timings = 0
        self._model: Any = None
        self.differentiated_at: tuple[str, int] = ("", 0)
        self._original = torch.Tensor.backward
        torch.Tensor.backward = _Backward(self._original, self)  # type: ignore[assignment]

    def begin(self, optimizer: Any) -> None:
        """Take what an optimizer trains as the training from now on."""
        self._trained = {id(parameter) for group in optimizer.param_groups for parameter in group["params"]}
        self._is_trained.clear()
        self._model = None
        before_saving = getattr(optimizer, "register_state_dict_pre_hook", None)
        if before_saving is not None:
            before_saving(lambda _: self._mark("checkpoint"))

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
            self.differentiated_at = self.own_line()
        if self._dtypes is not None:
            self._dtypes += _computed_in(loss)
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
            self.tell("values", count, loss, bool(told[1]), bool(told[2]), *self._first_wrong(optimizer, finite[len(losses) :].tolist()))

    def _first_wrong(self, optimizer: Any, finite: list[bool]) -> tuple[str, str, int]:
        """Return the name of the first weight whose gradient isn't finite, and the file and line of the user's that made the gradients."""
        if all(finite):
            return "", "", 0
        weights = [p for group in optimizer.param_groups for p in group["params"] if p.grad is not None and not p.grad.is_sparse]
        wrong = weights[finite.index(False)]
        model = self._model() if self._model is not None else None
        names = (name for name, one in model.named_parameters() if one is wrong) if model is not None else iter(())
        return next(names, f"a weight of shape {'x'.join(map(str, wrong.shape))}"), *self.differentiated_at

    def _arm(self) -> None:
        """Have the next module that is called shown, which is the outermost one of a model; not where others hook all modules."""
        if self._hooks is None and not modules._global_forward_pre_hooks and not _is_compiled():
            self._hooks, modules._global_forward_pre_hooks = modules._global_forward_pre_hooks, self._asked

    def _disarm(self) -> None:
        if self._hooks is not None and modules._global_forward_pre_hooks is self._asked and not len(self._asked):  # a hook that came stays
            modules._global_forward_pre_hooks = self._hooks
        self._hooks = None

    def saw_call(self, called: Any) -> None:
        """Take the local variables of the code of torch that calls a module."""
        if self._hooks is None or "args" not in called:
            return
        self._disarm()
        try:
            self._called(called["self"], called["args"], called["kwargs"])
        except Exception as error:  # inside a call of the user's model, which an argument not seen before must not end
            self.tell("blind", f"batch shapes aren't counted: {type(error).__name__}: {error}")

    def _called(self, module: Any, given: Any, named: Any) -> None:
        """Count the shapes that a module is called with, and tell whether it is called for evaluation or generation."""
        if torch.is_grad_enabled():
            if self._model is None and self._trains(module):
                self._model = weakref.ref(module)
            self.shapes.add(tuple(_shapes((*given, *named.values()))))
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
        if self._dtypes:
            self.tell("computed", dict(self._dtypes))
        self._dtypes = Counter() if count == DTYPES_AT - 1 else None

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


def _computed_in(loss: Any) -> Counter[str]:
    """Return how many matrix products and convolutions made a loss, by the dtype of what they put out."""
    found: Counter[str] = Counter()
    seen, ahead = set(), [loss.grad_fn]
    while ahead:
        node = ahead.pop()
        if node is not None and node not in seen:
            seen.add(node)
            made = getattr(node, "_input_metadata", None)  # torch 2.1 has it
            if made and node.name().startswith(_PRODUCTS):
                found[str(made[0].dtype).removeprefix("torch.")] += 1
            ahead += [one for one, _ in node.next_functions]
    return found


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
