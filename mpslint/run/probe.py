"""What runs inside the user's process under `mpslint run`: counts optimizer steps and writes what it sees to an events file.

This file is loaded by its path, before anything else, into whatever Python runs the training: it imports the standard library only, and
torch only where the training has imported it already. It writes one JSON list a line, such as `["step", number, seconds, live, driver,
shapes]`, with null for memory that nothing measures.
"""

from __future__ import annotations

import atexit
import importlib.abc
import importlib.util
import json
import os
import sys
import time
import traceback
import warnings
from types import ModuleType
from typing import Any

SAMPLE_STEPS = 50
"""Gradients are looked at once in so many steps: looking waits for the device."""
FLUSH_SECONDS = 0.5
MOST_TEXT = 20_000
_OPTIMIZER = "torch.optim.optimizer"


def install(folder: str) -> None:
    """Watch this process: for torch's optimizers, warnings and the exception that ends it. `folder` receives the events file."""
    if "--multiprocessing-fork" in sys.argv or "-c" in sys.orig_argv[1:2]:
        return  # a worker of a DataLoader, or a one-line helper process
    probe = Probe(os.path.join(folder, f"{os.getpid()}.jsonl"))
    sys.meta_path.insert(0, _AfterImport(_OPTIMIZER, probe.watch_optimizers))
    probe.watch_exceptions()


class _AfterImport(importlib.abc.MetaPathFinder):
    """Calls a function with a module as soon as that module is imported."""

    def __init__(self, name: str, then: Any) -> None:
        self.name, self.then = name, then

    def find_spec(self, fullname: str, path: Any, target: ModuleType | None = None) -> Any:
        """Return the module's own spec, whose loader also calls the function."""
        if fullname != self.name:
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(fullname)
        if spec is None or spec.loader is None:
            return None
        execute = spec.loader.exec_module

        def executed(module: ModuleType) -> None:
            execute(module)
            self.then(module)

        spec.loader.exec_module = executed  # type: ignore[method-assign]
        return spec


class Probe:
    """Counts steps, reads memory after each, and writes events; whatever fails here is kept from the training."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.start = time.perf_counter()
        self.pid = os.getpid()
        self.pending: list[str] = []
        self.flushed = 0.0
        self.count = 0
        self.first_optimizer = 0
        self.read: Any = None
        self.shapes: set[Any] = set()
        self.fallbacks: set[str] = set()

    def tell(self, *event: Any) -> None:
        """Keep one event for the file; a forked child tells nothing."""
        if os.getpid() == self.pid:
            self.pending.append(json.dumps(event))
            now = time.perf_counter()
            if event[0] != "step" or now - self.flushed > FLUSH_SECONDS:
                self.flush()
                self.flushed = now

    def flush(self) -> None:
        """Write what is pending."""
        if self.pending and os.getpid() == self.pid:
            text, self.pending = "\n".join(self.pending) + "\n", []
            try:
                with open(self.path, "a", encoding="utf-8") as stream:
                    stream.write(text)
            except OSError:
                self.pending = []

    def watch_optimizers(self, module: Any) -> None:
        """Have every optimizer's step counted, once torch.optim is there."""
        register = getattr(module, "register_optimizer_step_post_hook", None)
        if register is None:
            self.tell("blind", "this torch has no hook for optimizer steps (torch 2.0 or later has one)")
            return
        register(self.stepped)
        shown = warnings.showwarning

        def showing(message: Any, category: Any, filename: str, lineno: int, *rest: Any, **named: Any) -> None:
            self.warned(str(message))
            shown(message, category, filename, lineno, *rest, **named)

        warnings.showwarning = showing

    def watch_exceptions(self) -> None:
        """Write down the exception that ends the process, before it is printed as always."""
        shown = sys.excepthook

        def ended(kind: Any, error: Any, trace: Any) -> None:
            if not issubclass(kind, KeyboardInterrupt):
                self.tell("error", "".join(traceback.format_exception(kind, error, trace))[-MOST_TEXT:])
            shown(kind, error, trace)

        sys.excepthook = ended
        atexit.register(self.flush)

    def stepped(self, optimizer: Any, *_: Any) -> None:
        """Count a step of the first optimizer: a GAN's second one belongs to the same step."""
        if self.first_optimizer not in (0, id(optimizer)):
            return
        try:
            if not self.first_optimizer:
                self._begin(optimizer)
            self.count += 1
            live, driver = self.read()
            self.tell("step", self.count, round(time.perf_counter() - self.start, 4), live, driver, len(self.shapes))
            if self.count % SAMPLE_STEPS == 0:
                self._look_at_values(optimizer)
        except Exception as error:  # never the training's business
            self.first_optimizer = -1
            self.tell("blind", f"{type(error).__name__}: {error}")

    def _begin(self, optimizer: Any) -> None:
        """Look, at the first step, which device the training is on, and watch the shapes of its batches from the next one on."""
        import torch

        self.first_optimizer = id(optimizer)
        parameters = [parameter for group in optimizer.param_groups for parameter in group["params"]]
        device = _device_of(parameters)
        has_mps = bool(getattr(torch.backends, "mps", None)) and torch.backends.mps.is_available()
        self.read, limit = _reader(torch, device)
        dtypes = sorted({str(parameter.dtype).removeprefix("torch.") for parameter in parameters})
        self.tell("begin", device, has_mps, limit, str(torch.__version__), dtypes)
        self._watch_shapes(torch)

    def _watch_shapes(self, torch: Any) -> None:
        """Count the distinct shapes that the outermost module is called with: the first module that is called after a step."""
        handles: list[Any] = []

        def called(module: Any, given: Any) -> None:
            for handle in handles:
                handle.remove()
            if handles:
                handles.clear()
                module.register_forward_pre_hook(shaped, with_kwargs=True)

        def shaped(module: Any, given: Any, named: Any) -> None:
            self.shapes.add(tuple(_shapes((*given, *named.values()))))

        handles.append(torch.nn.modules.module.register_module_forward_pre_hook(called))

    def _look_at_values(self, optimizer: Any) -> None:
        """Tell of gradients of this step that aren't finite, as they aren't under a loss that isn't. This waits for the device."""
        import torch

        gradients = [p.grad for group in optimizer.param_groups for p in group["params"] if p.grad is not None and not p.grad.is_sparse]
        if gradients and not bool(torch.isfinite(torch.stack([g.detach().float().norm().cpu() for g in gradients])).all()):
            self.tell("not finite", self.count)

    def warned(self, message: str) -> None:
        """Tell of an operator that runs on the CPU, once each, with the user's line that called it."""
        if "will fall back to run on the CPU" not in message:
            return
        operator = message.partition("'")[2].partition("'")[0]
        if operator not in self.fallbacks:
            self.fallbacks.add(operator)
            self.tell("fallback", operator, *_own_line())


def _device_of(parameters: Any) -> str:
    """Return the type of the device that the parameters are on."""
    return str(parameters[0].device.type) if parameters else "cpu"


def _reader(torch: Any, device: str) -> tuple[Any, int | None]:
    """Return what reads live and driver memory of a device in bytes, and what is recommended on it; (None, None) where nothing measures."""
    if device == "mps":
        mps = torch.mps
        limit = int(mps.recommended_max_memory()) if hasattr(mps, "recommended_max_memory") else None
        return lambda: (mps.current_allocated_memory(), mps.driver_allocated_memory()), limit
    if device == "cuda":
        return lambda: (torch.cuda.memory_allocated(), torch.cuda.memory_reserved()), int(torch.cuda.get_device_properties(0).total_memory)
    return lambda: (None, None), None


def _shapes(values: Any, depth: int = 3) -> Any:
    """Yield the shapes of tensors in arguments, in dicts and lists too."""
    for value in values:
        if hasattr(value, "shape") and hasattr(value, "dtype"):
            yield tuple(value.shape)
        elif depth and isinstance(value, (list, tuple)):
            yield from _shapes(value, depth - 1)
        elif depth and hasattr(value, "values") and callable(value.values):
            yield from _shapes(value.values(), depth - 1)


def _own_line() -> tuple[str, int]:
    """Return the file and line of the innermost frame that is no library's."""
    frame: Any = sys._getframe(1)
    while frame is not None:
        file = frame.f_code.co_filename
        if file != __file__ and "site-packages" not in file and "dist-packages" not in file and f"{os.sep}lib{os.sep}python" not in file:
            return file, frame.f_lineno
        frame = frame.f_back
    return "", 0
