"""What is changed in torch while foreign code runs: MPS is there, loaders and saving are short,
and settings that mislead are noted."""

from __future__ import annotations

import contextlib
import functools
import importlib
import inspect
import io
import platform
import sys
from collections.abc import Callable, Container, Iterator
from dataclasses import dataclass, field
from typing import Any

import torch
import torch.utils.checkpoint
from torch.nn.parameter import is_lazy
from torch.optim.optimizer import register_optimizer_step_post_hook, register_optimizer_step_pre_hook
from torch.utils.data import default_collate

from mpslint.core.knowledge import platform_data
from mpslint.verify.child.clock import Clock
from mpslint.verify.child.device import give_accelerator
from mpslint.verify.child.replaced import replaces
from mpslint.verify.outcome import steps_in_words

Report = Callable[[str, str, str], None]


@dataclass(slots=True)
class Shortened:
    """What was changed to shorten the run, each thing once."""

    changes: list[str] = field(default_factory=list)
    has_assumed_lengths: bool = False
    """Whether texts were drawn whose lengths nobody knows."""
    guessed: str = ""
    """A data set that was drawn with columns that are only guessed."""
    times: float = 1.0
    """How many times as large the training set is as what was drawn for it; 0 where that isn't known."""

    def note(self, change: str) -> None:
        """Write down a change."""
        if change not in self.changes:
            self.changes.append(change)


def pretend_mps(
    memory: Callable[[], int], driver: Callable[[], int], recommended: int, limit: Callable[[float], None], emptied: Callable[[], None]
) -> None:
    """Make torch say that MPS is there, and its memory functions answer from the emulator.

    `limit` takes the share of the recommended memory that `torch.mps.set_per_process_memory_fraction()` allows.
    """
    backend: Any = torch.backends.mps
    for name in ("is_available", "is_built"):
        setattr(backend, name, lambda: True)
    backend.is_macos_or_newer = lambda *version: True
    backend.is_macos13_or_newer = lambda *minor: True
    mps: Any = torch.mps
    mps.is_available = lambda: True
    mps.device_count = lambda: 1
    mps.current_allocated_memory = memory
    mps.driver_allocated_memory = driver
    mps.recommended_max_memory = lambda: recommended
    mps.empty_cache = emptied
    core: Any = torch._C
    core._mps_setMemoryFraction = limit
    for name in ("synchronize", "manual_seed", "set_rng_state"):
        setattr(mps, name, lambda *args, **kwargs: None)
    mps.seed = lambda: 0
    mps.get_rng_state = lambda: torch.zeros(16, dtype=torch.uint8)
    mps.Event = Event
    # Lightning and Fabric ask the processor's name before they offer MPS.
    platform.processor = lambda: "arm"
    give_accelerator(torch.device("mps"))
    accelerator: Any = torch.accelerator
    accelerator.synchronize = lambda *args, **kwargs: None
    accelerator.current_device_index = accelerator.current_device_idx = lambda: 0
    stream = torch.Stream(device="cpu")  # since torch 2.15 each step of an optimizer asks it whether it is capturing a graph
    accelerator.current_stream = lambda *args, **kwargs: stream
    allow_fused()


def say_it_is_a_mac(files: Container[str]) -> None:
    """Have the functions of `platform` answer as on a Mac where they are called in some files; libraries go on as their builds here do."""

    def answering(name: str, original: Callable[[], str], said: str) -> None:
        setattr(platform, name, lambda: said if sys._getframe(1).f_code.co_filename in files else original())

    for name, said in platform_data("shortened")["mac"].items():
        answering(name, getattr(platform, name), said)


@dataclass
class Event:
    """Stands for torch.mps.Event: nothing is timed where there is no GPU."""

    enable_timing: bool = False

    def record(self) -> None:
        """Do nothing."""

    wait = synchronize = record

    def query(self) -> bool:
        """Return that all work is done."""
        return True

    def elapsed_time(self, end_event: Event) -> float:
        """Return a time that no code divides by zero with, in milliseconds."""
        return 1.0


class _AnyGenerator(type(torch._C.Generator)):  # type: ignore[misc]
    """Has `isinstance(x, torch.Generator)` stay true for torch's own generators."""

    def __instancecheck__(cls, value: Any) -> bool:
        return type.__instancecheck__(torch._C.Generator, value)


class Generator(torch._C.Generator, metaclass=_AnyGenerator):
    """Stands for torch.Generator: one for MPS is one of the CPU that says it is on MPS."""

    is_mps: bool

    def __new__(cls, device: Any = "cpu") -> Generator:
        """Return a generator for a device."""
        kind = str(device).partition(":")[0]
        if kind == "cuda":
            raise RuntimeError("Cannot get CUDA generator without ATen_cuda library.")  # as a build without CUDA does
        is_mps = kind == "mps"
        made: Generator = super().__new__(cls, "cpu" if is_mps else device)  # type: ignore[call-arg]
        made.is_mps = is_mps
        return made

    @property
    def device(self) -> torch.device:  # type: ignore[override]
        """The device that it was asked for."""
        return torch.device("mps", 0) if self.is_mps else torch.device("cpu")


def overwrite_where_swap_fails() -> None:
    """Let a module be moved whose weights a living graph refers to: torch swaps tensors of different kinds only where nothing does. Weights
    that have no shape yet can't be swapped: others are made in their place."""

    @replaces(torch.nn.Module, "_apply")
    def apply(original: Any, self: Any, convert: Any, *args: Any, **kwargs: Any) -> Any:
        tables = (self._parameters, self._buffers)
        lazy = [(table, name, table.pop(name)) for table in tables for name, value in list(table.items()) if is_lazy(value)]
        moved = _moved_as_it_can(functools.partial(original, self, convert, *args, **kwargs))
        for table, name, value in lazy:
            like = convert(torch.empty(0, device=value.device, dtype=value.dtype))
            table[name] = type(value)(requires_grad=value.requires_grad, device=like.device, dtype=like.dtype)
        return moved


def _moved_as_it_can(move: Callable[[], Any]) -> Any:
    try:
        return move()
    except RuntimeError as error:
        if "Couldn't swap" not in str(error):
            raise
    torch.__future__.set_swap_module_params_on_conversion(False)
    torch.__future__.set_overwrite_module_params_on_conversion(True)
    try:
        return move()
    finally:
        torch.__future__.set_overwrite_module_params_on_conversion(False)
        torch.__future__.set_swap_module_params_on_conversion(True)


def serve_mps(served: str) -> None:
    """Let generators for MPS be made, and `torch.set_default_device("mps")` set the device that serves it; `tensor.pin_memory()` copies
    without pinning: there is no accelerator to pin for."""
    module: Any = torch
    original = torch.set_default_device
    module.set_default_device = lambda device: original(served if str(device).startswith("mps") else device)
    module.Generator = Generator
    module.Tensor.pin_memory = lambda self, device=None: self.clone()
    module.Tensor.is_pinned = lambda self, device=None: False


def no_compile(shortened: Shortened) -> None:
    """Let torch.compile give the module back as it is."""

    def compile_nothing(model: Any = None, *args: Any, **kwargs: Any) -> Any:
        shortened.note("torch.compile was left out")
        return (lambda function: function) if model is None else model

    torch.compile = compile_nothing


def no_saving(shortened: Shortened) -> None:
    """Keep what the code saves in memory instead of files, so that it can load it again."""
    saved: dict[str, Any] = {}

    @replaces(torch, "save")
    def save(really_save: Any, value: Any, place: Any, *args: Any, **kwargs: Any) -> None:
        if isinstance(place, io.BytesIO):
            # Pickling a tensor ends here as well. What has no values is kept whole, under the buffer that it would fill.
            with contextlib.suppress(NotImplementedError, RuntimeError):
                really_save(value, place, *args, **kwargs)
                return
            saved[str(place)] = value
            return
        shortened.note("torch.save wrote nothing")
        saved[str(place)] = value

    @replaces(torch, "load")
    def restore(load: Any, place: Any, *args: Any, **kwargs: Any) -> Any:
        if str(kwargs.get("map_location")).startswith("mps"):
            kwargs["map_location"] = "cpu"
        return saved[str(place)] if str(place) in saved else load(place, *args, **kwargs)


def count_steps(clock: Clock) -> None:
    """Have every optimizer tell the clock about its steps."""
    register_optimizer_step_pre_hook(lambda optimizer, args, kwargs: clock.before_step(optimizer))
    register_optimizer_step_post_hook(lambda optimizer, args, kwargs: clock.after_step(optimizer))


def short_loaders(clock: Clock, shortened: Shortened, evaluation_batches: int, check: Callable[[Any], None]) -> None:
    """Have loaders work in this process, cut evaluation to a few batches, and training epochs so that an evaluation is reached."""
    loader = torch.utils.data.DataLoader
    signature = inspect.signature(loader.__init__)

    @replaces(loader, "__init__")
    def short_init(init: Any, self: Any, *args: Any, **kwargs: Any) -> None:
        given = signature.bind(self, *args, **kwargs).arguments
        if given.get("num_workers"):
            context = given.pop("multiprocessing_context", None)  # a name, or what has one
            method = context.get_start_method() if hasattr(context, "get_start_method") else context
            self.asked_workers = 0 if method == "fork" else given["num_workers"]
            shortened.note(f"DataLoader workers {given['num_workers']} → 0")
            given.update(num_workers=0, prefetch_factor=None, persistent_workers=False)
        if given.get("pin_memory"):
            given["pin_memory"] = False
        more = given.pop("kwargs", {})
        given.pop("self")
        init(self, **given, **more)

    @replaces(loader, "__iter__")
    def short_iter(iterate: Any, self: Any) -> Iterator[Any]:
        start, first = clock.done, clock.taken
        clock.end_evaluation()
        if getattr(self, "asked_workers", 0):
            check(self)
        if torch.is_grad_enabled() and not clock.is_evaluating:
            clock.stop_when_enough()
            clock.epoch, clock.feed.is_open = clock.taken, True
            is_plain = self.collate_fn is default_collate and self.batch_size not in (None, 1)
            for batch in clock.feed.give(self, functools.partial(iterate, self), is_plain=is_plain):
                clock.end_evaluation()
                yield batch
            if not clock.feed.is_open:
                done, whole = max(clock.done - start, clock.taken - first), 0
                with contextlib.suppress(TypeError, NotImplementedError):  # not every data set knows
                    whole = len(self)
                longer = f"an epoch of {whole} batches drawn out to {steps_in_words(done)}"
                shortened.note(longer if 0 < whole < done else f"an epoch cut to {steps_in_words(done)}")
            return
        yield from evaluated(self, iterate(self), clock, shortened, evaluation_batches)


def evaluated(loader: Any, batches: Iterator[Any], clock: Clock, shortened: Shortened, most: int) -> Iterator[Any]:
    """Yield the first of the batches of an evaluation, of which the clock is told."""
    is_own = clock.done > 0 and not clock.is_evaluating
    number = 0
    try:
        for batch in batches:
            if number >= most:
                shortened.note(f"evaluation cut to {most} batches")
                break
            number += 1
            clock.evaluation_batch()
            clock.ended, clock.is_within = (length_of(loader), True) if is_own else (None, False)
            yield batch
    finally:
        if clock.is_within or not is_own:
            clock.evaluation_batch()
        if clock.is_within:
            clock.is_within, clock.ended = False, number if number < most else clock.ended
            clock.look_at_batches()
            if not clock.feed.given:  # nothing says when such a loop goes on training
                clock.end_evaluation()


def length_of(data: Any) -> int:
    """Return how many samples a data set has, or batches a loader; 0 when it does not know."""
    try:
        return len(data)
    except TypeError:
        return 0


def note_checkpoints(within: Callable[[], contextlib.AbstractContextManager[object]]) -> None:
    """Have activation checkpointing run its functions, whose forward is computed again in the backward pass, `within` a context."""

    @replaces(torch.utils.checkpoint, "checkpoint")
    def noted(original: Any, function: Any, *args: Any, **kwargs: Any) -> Any:
        @functools.wraps(function, updated=())
        def inside(*given: Any, **named: Any) -> Any:
            with within():
                return function(*given, **named)

        return original(inside, *args, **kwargs)


def allow_fused() -> None:
    """Let fused optimizers be made on meta tensors in this process: they exist on MPS, but torch does not list meta for them."""
    module: Any = importlib.import_module("torch.optim.optimizer")
    original = module._get_fused_kernels_supported_devices
    if "meta" not in original():
        module._get_fused_kernels_supported_devices = lambda: [*original(), "meta"]
