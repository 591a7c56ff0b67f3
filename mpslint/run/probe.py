"""What runs inside the user's process under `mpslint run`: counts optimizer steps and writes what it sees to an events file.

This file is loaded by its path, before anything else, into whatever Python runs the training: it imports the standard library only, and
torch only where the training has imported it already. It writes one JSON list a line, such as `["step", number, seconds, live, driver,
shapes]`, with null for memory that nothing measures. Nothing of it is left in the user's objects, which may be pickled, and nothing of it
is in the user's tracebacks.
"""

from __future__ import annotations

import atexit
import contextlib
import importlib.abc
import importlib.util
import json
import os
import signal
import sys
import time
import traceback
import warnings
import weakref
from collections.abc import Iterable
from types import ModuleType
from typing import Any

FLUSH_SECONDS = 0.5
MOST_TEXT = 20_000
STOP = "stop"
"""The name of the file that asks for the end of the run."""
OTHERS = 50
"""Steps in a row of another optimizer after which that one leads: the next phase of a training."""
_OPTIMIZER = "torch.optim.optimizer"


def install(folder: str) -> None:
    """Watch this process: for torch's optimizers, warnings and the exception that ends it. `folder` receives the events file."""
    is_command = str(os.getppid()) == os.environ.get("MPSLINT_RUN_BY")
    if "--multiprocessing-fork" in sys.argv or ("-c" in getattr(sys, "orig_argv", [])[1:2] and not is_command):
        return  # a worker of a DataLoader, or a one-line helper process
    probe = Probe(folder)
    probe.attach()
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

    def __init__(self, folder: str) -> None:
        self.path = os.path.join(folder, f"{os.getpid()}.jsonl")
        self.stop = os.path.join(folder, STOP)
        self.start = time.perf_counter()
        self.pid = os.getpid()
        self.pending: list[str] = []
        self.flushed = 0.0
        self.count = 0
        self.leading: Any = None
        self.others = 0
        self.read: Any = None
        self.looks: Any = None
        self.is_blind = False
        self.has_told_error = False
        self.fallbacks: set[str] = set()
        self.handles: list[Any] = []
        self.showing: Any = None
        self.shown: Any = None

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

    def attach(self) -> None:
        """Watch torch's optimizers from now on, or as soon as they are imported."""
        atexit.register(self.flush)
        if _OPTIMIZER in sys.modules:
            self.watch_optimizers(sys.modules[_OPTIMIZER])
        else:
            sys.meta_path.insert(0, _AfterImport(_OPTIMIZER, self.watch_optimizers))

    def detach(self) -> None:
        """Watch no longer, as far as a process that goes on can be left as it was."""
        self.is_blind = True
        self.flush()
        for finder in [one for one in sys.meta_path if isinstance(one, _AfterImport)]:
            sys.meta_path.remove(finder)
        for handle in self.handles:
            handle.remove()
        if self.showing is not None and warnings.showwarning is self.showing:
            warnings.showwarning = self.shown
        if self.looks is not None:
            self.looks.stop()

    def watch_optimizers(self, module: Any) -> None:
        """Have every optimizer's step counted, once torch.optim is there."""
        register = getattr(module, "register_optimizer_step_post_hook", None)
        if register is None:
            self.tell("blind", "this torch has no hook for optimizer steps (torch 2.0 or later has one)")
            return
        self.handles.append(register(self.stepped))
        shown = warnings.showwarning

        def showing(message: Any, category: Any, filename: str, lineno: int, *rest: Any, **named: Any) -> None:
            self.warned(str(message))
            shown(message, category, filename, lineno, *rest, **named)

        warnings.showwarning = self.showing = showing
        self.shown = shown

    def watch_exceptions(self) -> None:
        """Write down the exception that ends the process, before it is printed as always, by whoever prints it."""
        shown = sys.excepthook

        def ended(kind: Any, error: Any, trace: Any) -> None:
            _without_own_frames(trace)
            self.failed(error)
            shown(kind, error, trace)

        sys.excepthook = ended
        atexit.register(lambda: self.failed(getattr(sys, "last_value", None)))  # where the script put its own hook in the place of ours

    def failed(self, error: BaseException | None) -> None:
        """Tell of the exception that ends the training, once."""
        if error is not None and not isinstance(error, (KeyboardInterrupt, SystemExit)) and not self.has_told_error:
            self.has_told_error = True
            module, name = type(error).__module__, type(error).__qualname__
            frames = reversed(list(traceback.walk_tb(error.__traceback__)))
            text = "".join(traceback.format_exception(type(error), error, error.__traceback__))[-MOST_TEXT:]
            self.tell("error", text, name if module in ("builtins", "__main__") else f"{module}.{name}", *own_line(frames))

    def stepped(self, optimizer: Any, *_: Any) -> None:
        """Count a step of the leading optimizer: a GAN's second one belongs to the same step."""
        if self.is_blind or not self._leads(optimizer):
            return
        try:
            if self.read is None:
                self._begin(optimizer)
            self.count += 1
            live, driver = self.read()
            self.looks.after_step(self.count, optimizer)
            self.tell("step", self.count, round(time.perf_counter() - self.start, 4), live, driver, self.looks.count_of_shapes)
        except Exception as error:  # a hook of the user's optimizer: what fails here (a torch not seen yet) must not end the training
            self.is_blind = True
            self.tell("blind", f"{type(error).__name__}: {error}")
        if os.path.exists(self.stop):
            self.is_blind = True
            self.flush()
            signal.raise_signal(signal.SIGINT)

    def _leads(self, optimizer: Any) -> bool:
        """Return whether an optimizer's steps are counted: the first one's, until it is deleted or only another one still steps."""
        leading = self.leading() if self.leading is not None else None
        if leading is optimizer:
            self.others = 0
            return True
        self.others += 1
        if leading is None or self.others >= OTHERS:
            self.leading, self.others, self.read = weakref.ref(optimizer), 0, None
            return True
        return False

    def _begin(self, optimizer: Any) -> None:
        """Look, at an optimizer's first step, which device the training is on, and look closer at some steps from the next one on."""
        import torch

        parameters = [parameter for group in optimizer.param_groups for parameter in group["params"]]
        device = _device_of(parameters)
        has_mps = bool(getattr(torch.backends, "mps", None)) and torch.backends.mps.is_available()
        self.read, limit = _reader(torch, device)
        dtypes = sorted({str(parameter.dtype).removeprefix("torch.") for parameter in parameters})
        script = str(getattr(sys.modules.get("__main__"), "__file__", None) or "")
        self.tell("begin", device, has_mps, limit, str(torch.__version__), dtypes, script)
        self.tell("planned", _planned_steps())
        if self.looks is None:
            self.looks = _sibling("looks").Looks(self.tell, own_line, device)
            self.looks.has_fallbacks |= bool(self.fallbacks)
        self.looks.begin(optimizer)

    def warned(self, message: str) -> None:
        """Tell of an operator that runs on the CPU, once each, with the user's line that called it."""
        if "will fall back to run on the CPU" not in message:
            return
        operator = message.partition("'")[2].partition("'")[0]
        if operator not in self.fallbacks:
            self.fallbacks.add(operator)
            self.tell("fallback", operator, *own_line())
            if self.looks is not None:
                self.looks.has_fallbacks = True


def _without_own_frames(trace: Any) -> None:
    """Take the frames of mpslint out of a traceback, and torch's own under them: those of the mode in which operators are timed."""
    while trace is not None:
        rest = trace.tb_next
        while rest is not None and rest.tb_frame.f_code.co_filename.startswith(os.path.dirname(__file__)):
            rest = rest.tb_next
            while rest is not None and rest.tb_frame.f_code.co_filename.endswith(os.path.join("torch", "_ops.py")):
                rest = rest.tb_next
        trace.tb_next = rest
        trace = rest


def _sibling(name: str) -> Any:
    """Return a module that lies beside this file, whatever this environment calls mpslint."""
    spec = importlib.util.spec_from_file_location(f"_mpslint_{name}", os.path.join(os.path.dirname(__file__), f"{name}.py"))
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _planned_steps() -> int:
    """Return how many optimizer steps the trainer means to take that called the optimizer; 0 where none says."""
    frame: Any = sys._getframe(1)
    while frame is not None:
        with contextlib.suppress(Exception):  # an object of the user's may answer with anything
            planned = frame.f_locals["self"].state.max_steps
            if isinstance(planned, int) and planned > 0:
                return planned
        frame = frame.f_back
    return 0


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


def own_line(frames: Iterable[tuple[Any, int]] | None = None) -> tuple[str, int]:
    """Return the file and line of the innermost frame that is no library's: of this call, or of a traceback, the innermost first."""
    libraries = ("site-packages", "dist-packages", f"{os.sep}lib{os.sep}python", "<frozen", os.path.dirname(__file__))
    for frame, line in frames or traceback.walk_stack(sys._getframe(1)):
        file = frame.f_code.co_filename
        if not any(part in file for part in libraries):
            return file, line
    return "", 0
