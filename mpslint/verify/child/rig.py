"""A training run on the emulator: model and optimizer that compute nothing, and pieces of its steps, recorded."""

from __future__ import annotations

import contextlib
import functools
import importlib
import inspect
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch
from torch.nn.attention import SDPBackend, sdpa_kernel

from mpslint.core.finding import ReadError
from mpslint.core.knowledge import platform_data
from mpslint.verify.child.batches import Shape, make_batch
from mpslint.verify.child.models import make_config, make_model
from mpslint.verify.child.preference import Paired
from mpslint.verify.emulator.autocast import Autocast, CastsAs, is_casting, sees_all
from mpslint.verify.emulator.breakdown import Classes, classify
from mpslint.verify.emulator.keys import graph_cache
from mpslint.verify.emulator.memory import LiveMemory
from mpslint.verify.emulator.operators import Coverage
from mpslint.verify.emulator.segment import Segment
from mpslint.verify.emulator.watch import Watch
from mpslint.verify.spec import RunSpec, VerifiedMac

HALF = {"fp16": torch.float16, "bf16": torch.bfloat16}


class NothingTrainedError(ReadError):
    """Every weight is frozen: the first backward pass raises."""

    def __init__(self, model: str) -> None:
        super().__init__(f"every weight of {model} is frozen: element 0 of tensors does not require grad and does not have a grad_fn")


class Rig:
    """One run set up on meta tensors. These ignore torch's autocast, so the emulator has its own; a model whose casts that does not see
    is set up on fake CPU tensors, which take four times as long and are cast as the CPU does: its indexing asks for a real MPS."""

    def __init__(self, spec: RunSpec, machine: VerifiedMac, *, reduced: bool = False, casts_as: CastsAs = "mps") -> None:
        self.spec, self.casts_as = spec, casts_as
        self.config = make_config(spec, reduced=reduced)
        self.memory = LiveMemory()
        self.coverage = Coverage(machine.torch, is_fallback_on=spec.has_fallback)
        self.watch = Watch(self.memory, graph_cache(machine.torch), self.coverage.see, keeps_calls=True)
        self.model = make_model(spec, self.config, "meta")
        self.fake = _fake_mode() if spec.precision != "no" and not sees_all(self.model) else None
        if spec.precision != "no" and self.fake is None:
            self._cast_again()
        self.watch.device = self.device = "cpu" if self.fake is not None else "meta"
        # torch.Tensor(n) makes a CPU tensor wherever the model is built: wav2vec2's masked_spec_embed.
        replace_tensors(self.model, lambda tensor: tensor.to("meta"))
        if self.fake is not None:
            with self.fake:
                replace_tensors(self.model, lambda tensor: torch.empty_like(tensor, device="cpu"))
        self.weights = [*self.model.parameters(), *self.model.buffers()]
        self.trained = [parameter for parameter in self.model.parameters() if parameter.requires_grad]
        self.weight_numbers = set(self.memory.see_all(self.weights, "weight"))
        self.weight_bytes = self.memory.live
        self.optimizer = make_optimizer(spec, self.trained)
        self.kept: list[tuple[str, torch.Tensor]] = []
        """What the caller keeps alive past the next cut, and the labels under which later segments know it."""
        self.labels: dict[int, str] = {number: f"weight{place}" for place, number in enumerate(sorted(self.weight_numbers))}
        self.memory.cut()

    @contextlib.contextmanager
    def running(self, *, makes_tensors: bool = True) -> Iterator[None]:
        """Switch the emulator on: MPS has no fused attention in training, so the score matrices are made.

        An optimizer runs without `makes_tensors`: its step counters are real numbers on the CPU.
        """
        with contextlib.ExitStack() as stack:
            stack.enter_context(sdpa_kernel(SDPBackend.MATH))
            if self.fake is not None and makes_tensors:
                stack.enter_context(self.fake)
            stack.enter_context(self.watch)
            yield

    def autocast(self) -> Any:
        """Return the precision of the forward pass."""
        if self.spec.precision == "no":
            return contextlib.nullcontext()
        half = HALF[self.spec.precision]
        return Autocast(half, self.casts_as) if self.fake is None else torch.autocast("cpu", dtype=half)

    def _cast_again(self) -> None:
        """Have checkpointed layers cast when they are computed again, in the backward pass: torch repeats only its own autocast there."""
        for module in self.model.modules():
            checkpoint: Any = getattr(module, "_gradient_checkpointing_func", None)
            if checkpoint is not None:
                module._gradient_checkpointing_func = functools.partial(self._checkpointed, checkpoint)  # type: ignore[assignment]

    def _checkpointed(self, checkpoint: Callable[..., Any], layer: Callable[..., Any], *given: Any, **named: Any) -> Any:
        def cast(*given: Any, **named: Any) -> Any:
            with contextlib.nullcontext() if is_casting() else self.autocast():
                return layer(*given, **named)

        return checkpoint(cast, *given, **named)

    def batch(self, shape: Shape) -> dict[str, torch.Tensor]:
        """Return a batch on the device; its tensors are counted, but making them compiles no graph."""
        with self.fake if self.fake is not None else contextlib.nullcontext():
            batch = make_batch(self.spec, self.config, shape, self.device)
        self.memory.phase = "batch"
        self.memory.see_all(batch.values(), "batch")
        return batch

    def micro_batch(self, shape: Shape) -> None:
        """Run the forward and backward pass of one micro-batch."""
        batch = self.batch(shape)
        with self.running():
            self.memory.phase = "forward"
            with self.autocast():
                loss = self.loss(batch)
            if self.spec.accumulation > 1:
                loss = loss / self.spec.accumulation
            self.memory.phase = "backward"
            loss.backward()

    def loss(self, batch: dict[str, torch.Tensor]) -> torch.Tensor:
        """Return the model's loss, its sum divided by the labels of the whole step where the model takes that
        number."""
        extra = {}
        if self.takes_count:
            extra["num_items_in_batch"] = torch.ones((), dtype=torch.int64, device=self.device)
        outputs = self.model(**batch, **extra)
        if getattr(outputs, "loss", None) is None:
            raise ReadError(f"{self.spec.model!r} returns no loss for {self.spec.task}")
        return outputs.loss  # type: ignore[no-any-return]

    @property
    def network(self) -> Any:
        """The model itself, without the loss of its trainer."""
        return self.model.model if isinstance(self.model, Paired) else self.model

    @functools.cached_property
    def takes_count(self) -> bool:
        """Whether the model's forward takes the number of labels of the whole step, as Trainer then gives it."""
        return takes_label_count(self.model)

    def optimizer_step(self) -> None:
        """Clip the gradients, step the optimizer, drop the gradients."""
        self.memory.phase = "optimizer"
        with self.running(makes_tensors=False):
            if self.spec.max_grad_norm:
                torch.nn.utils.clip_grad_norm_(self.trained, self.spec.max_grad_norm)
            self.optimizer.step()
        self.optimizer.zero_grad()

    def drop_gradients(self) -> None:
        """Forget the gradients, outside of any recording."""
        self.optimizer.zero_grad()
        self.discard()

    def discard(self) -> None:
        """Forget what was logged since the last recording."""
        self.memory.cut()
        self.watch.cut_calls()

    def record_first(self, shape: Shape) -> Segment:
        """Return the first micro-batch of a step, which makes the gradients."""
        self.drop_gradients()
        self.micro_batch(shape)
        return self.cut()

    def record_next(self, shape: Shape) -> Segment:
        """Return a later micro-batch of a step, which adds to gradients that are there."""
        if self.trained[0].grad is None:
            self.micro_batch(shape)
            self.cut()
        self.discard()
        self.micro_batch(shape)
        return self.cut()

    def record_optimizer(self, shape: Shape) -> Segment:
        """Return the optimizer's step; gradients are there before it and gone after it."""
        self.drop_gradients()
        self.micro_batch(shape)
        self.cut()
        self.optimizer_step()
        return self.cut()

    def cut(self) -> Segment:
        """Return what ran since the last cut as a segment; what is left alive gets the label under which others know
        it."""
        names = {}
        for place, parameter in enumerate(self.trained):
            if parameter.grad is not None:
                names[self.memory.number_of(parameter.grad)] = f"grad{place}"
        for label, tensor in self.kept:
            names[self.memory.number_of(tensor)] = label
        events, calls = self.memory.cut(), self.watch.cut_calls()
        return self._segment(events, calls, names)

    def _segment(self, events: list[tuple[int, int]], calls: list[Any], names: dict[int | None, str]) -> Segment:
        places: dict[int, int] = {}
        owners: list[tuple[bool, int | str]] = []
        sizes: list[int] = []
        dead: set[int] = set()
        for number, size in events:
            if size >= 0 and number not in places:
                places[number] = len(places)
                owners.append((True, places[number]))
                sizes.append(size)
            elif number in places:
                owners.append((False, places[number]))
                dead.add(number)
            else:
                owners.append((False, self.labels.pop(number, "unknown")))
        left = []
        for number, place in places.items():
            if number not in dead:
                label = self.labels[number] = names.get(number) or f"kept{place}"
                left.append((place, label))
        births = [self.memory.births.pop(number) for number in places]
        categories = classify(births, {place for place, label in left if label.startswith("grad")}, self.classes)
        fixed = tuple((key[0], is_graph, len(key[1])) for key, is_graph in calls)
        numbers = [integer for key, _ in calls for integer in key[1]] + sizes
        return Segment(fixed, tuple(owners), tuple(left), np.asarray(numbers, dtype=np.int64), tuple(categories))

    @functools.cached_property
    def classes(self) -> Classes:
        """The sizes by which logits and gradients are told from other tensors."""
        vocabulary = getattr(self.config, "vocab_size", None) if "loss_tokens" in platform_data("models/tasks")[self.spec.task] else None
        return Classes(vocabulary, frozenset(tuple(parameter.shape) for parameter in self.trained))


def replace_tensors(model: torch.nn.Module, make: Callable[[torch.Tensor], torch.Tensor]) -> None:
    """Replace every parameter and buffer of a model; those that modules share stay shared."""
    made: dict[int, torch.Tensor] = {}
    for module in model.modules():
        for name, parameter in list(module._parameters.items()):
            if parameter is not None:
                if id(parameter) not in made:
                    made[id(parameter)] = torch.nn.Parameter(make(parameter.detach()), requires_grad=parameter.requires_grad)
                module._parameters[name] = made[id(parameter)]  # type: ignore[assignment]
        for name, buffer in list(module._buffers.items()):
            if buffer is not None:
                module._buffers[name] = made.setdefault(id(buffer), make(buffer))


def takes_label_count(model: torch.nn.Module) -> bool:
    """Return whether a model's forward takes `num_items_in_batch`, by name or among its keyword arguments."""
    forward = getattr(getattr(model, "base_model", None), "model", model).forward if hasattr(model, "peft_config") else model.forward
    parameters = inspect.signature(forward).parameters.values()
    return any(parameter.kind is parameter.VAR_KEYWORD or parameter.name == "num_items_in_batch" for parameter in parameters)


def _fake_mode() -> Any:
    from torch._subclasses.fake_tensor import FakeTensorMode

    return FakeTensorMode(allow_non_fake_inputs=True)


def make_optimizer(spec: RunSpec, parameters: list[torch.nn.Parameter]) -> torch.optim.Optimizer:
    """Return the run's optimizer as it behaves on MPS. Raises ReadError for one that verify does not know,
    NothingTrainedError where every weight is frozen."""
    name, rate = spec.optimizer, spec.learning_rate
    if not parameters:
        raise NothingTrainedError(spec.model)
    if "8bit" in name or "4bit" in name or name.startswith("paged"):
        raise ReadError(f"the optimizer {name} does not run on MPS, so its memory cannot be worked out")
    if name.startswith(("adamw", "adam")):
        kind = torch.optim.AdamW if name.startswith("adamw") else torch.optim.Adam
        allow_fused()
        return kind(parameters, lr=rate, fused=True if "fused" in name else None, foreach=True if "foreach" in name else None)
    if name.startswith("sgd"):
        return torch.optim.SGD(parameters, lr=rate, momentum=0.9 if "momentum" in name else 0.0)
    if name == "adafactor":
        from transformers.optimization import Adafactor

        return Adafactor(parameters, lr=rate, scale_parameter=False, relative_step=False)
    if name == "rmsprop":
        return torch.optim.RMSprop(parameters, lr=rate)
    if name == "adagrad":
        return torch.optim.Adagrad(parameters, lr=rate)
    raise ReadError(
        f"the optimizer {name!r} is not known to verify; known are adamw_torch, adamw_torch_fused, adafactor, sgd, rmsprop, adagrad"
    )


def allow_fused() -> None:
    """Let fused optimizers be made on meta tensors in this process: they exist on MPS,
    but torch does not list meta for them."""
    module: Any = importlib.import_module("torch.optim.optimizer")

    original = module._get_fused_kernels_supported_devices
    if "meta" not in original():
        module._get_fused_kernels_supported_devices = lambda: [*original(), "meta"]
