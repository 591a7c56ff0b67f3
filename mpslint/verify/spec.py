"""What a run is: the model, its data and its settings, as verify needs them.
The check engine's plan is turned into this."""

from __future__ import annotations

import hashlib
import math
import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from mpslint.core.data import to_json
from mpslint.core.knowledge import platform_data

Task = Literal[
    "seq2seq_lm", "causal_lm", "masked_lm", "sequence_classification", "token_classification", "question_answering",
    "image_classification", "speech_seq2seq", "ctc",
]  # fmt: skip
Padding = Literal["longest", "max_length", "none"]
Precision = Literal["no", "fp16", "bf16"]
AskedBy = Literal["trainer", "autocast"]
Shapes = Literal["known", "drawn", "assumed"]
WeightsType = Literal["float32", "float16", "bfloat16", "auto"]


@dataclass(frozen=True, slots=True)
class Lengths:
    """How long the samples are: drawn from a log-normal distribution, cut at `limit`."""

    limit: int
    median: float = 0.0
    """0 means that every sample has the length `limit`."""
    sigma: float = 0.65

    @property
    def is_fixed(self) -> bool:
        """Whether every sample has the same length."""
        return self.median <= 0 or self.sigma <= 0


@dataclass(frozen=True, slots=True)
class Evaluation:
    """What happens between training steps: batches of samples without gradient."""

    batch: int
    samples: int
    keeps_logits: bool = False
    """compute_metrics is given (or predict() called) and nothing reduces the logits before they are collected."""
    accumulation_steps: int | None = None
    """eval_accumulation_steps: kept logits leave the device after so many batches; None keeps them all."""
    generates: bool = False
    generation_limit: int = 0
    beams: int = 1


@dataclass(frozen=True, slots=True)
class RunSpec:
    """One training run, as written or as rewritten. Every field is a fact about the run, none about how it is checked."""

    model: str
    """A checkpoint name, or a folder with a config.json; a mere name for reports when `config` is given."""
    task: Task
    source: Lengths
    config: Mapping[str, Any] | None = None
    """A model's configuration: with its `model_type`, or with the `config_class` that the code makes."""
    target: Lengths | None = None
    name: str = "as written"
    shapes: Shapes = "known"
    """Whether the shapes of batches follow from the code and its data; or the code makes them vary, by lengths that are drawn; or that they
    vary, or how long they are, is only assumed."""
    train_batch: int = 8
    accumulation: int = 1
    padding: Padding = "longest"
    pad_to_multiple_of: int | None = None
    group_by_length: bool = False
    drop_last: bool = False
    precision: Precision = "no"
    precision_by: AskedBy = "trainer"
    weights_dtype: WeightsType = "float32"
    """`auto` is the dtype in which the checkpoint was published."""
    optimizer: str = "adamw_torch"
    learning_rate: float = 5e-5
    max_grad_norm: float = 1.0
    gradient_checkpointing: bool = False
    dropout: float | None = None
    """None leaves the dropout of the model's config."""
    lora_rank: int = 0
    lora_targets: tuple[str, ...] = ()
    """The modules that get adapters; none leaves peft's default for the architecture."""
    evaluation: Evaluation | None = None
    empty_cache_steps: int | None = None
    steps: int = 2000
    """Optimizer steps that the user means to do."""
    has_fallback: bool = False
    """Whether operators without an MPS kernel run on the CPU (PYTORCH_ENABLE_MPS_FALLBACK)."""
    high_watermark: float | None = None
    """PYTORCH_MPS_HIGH_WATERMARK_RATIO where the code sets it: MPS raises past so many times the recommended memory, 0 never."""
    attention: Literal["sdpa", "eager"] = "sdpa"
    seed: int = 0

    @property
    def effective_batch(self) -> int:
        """Samples that go into one optimizer step."""
        return self.train_batch * self.accumulation

    def digest(self) -> str:
        """Return a short name for exactly this run, equal for equal specs."""
        return hashlib.sha256(to_json(self).encode()).hexdigest()[:16]


@dataclass(frozen=True, slots=True)
class VerifiedMac:
    """The Mac that the verdict is about: its memory, and the versions in force there."""

    torch: str = "2.13"
    memory_gb: int = 16
    transformers: str = ""
    accelerate: str = ""
    macos: str = ""
    origin: str = "assumed"

    def versions(self) -> dict[str, tuple[int, ...]]:
        """Return the versions that are known, as number tuples."""
        from mpslint.core.versions import parse_version

        named = {"torch": self.torch, "transformers": self.transformers, "accelerate": self.accelerate, "macos": self.macos}
        parsed = {name: parse_version(text) for name, text in named.items() if text}
        return {name: version for name, version in parsed.items() if version is not None}


Shape = tuple[int, ...]
"""Batch size, source length, and target length where the task has targets of their own."""


def has_targets(task: Task) -> bool:
    """Return whether a task has targets with lengths of their own."""
    return any("T" in dims for dims in platform_data("models/tasks")[task]["batch"].values())


def samples(spec: RunSpec, count: int, seed: int) -> list[Shape]:
    """Return the (source, target) lengths of `count` samples, or (source,) where there is no target."""
    limits = [spec.source, *([spec.target or Lengths(64, 24)] if has_targets(spec.task) else [])]
    return list(zip(*(_drawn(lengths, count, seed + place) for place, lengths in enumerate(limits)), strict=True))


def _drawn(lengths: Lengths, count: int, seed: int) -> list[int]:
    draw = random.Random(seed)
    if lengths.is_fixed:
        return [lengths.limit] * count
    mean = math.log(lengths.median)
    return [max(1, min(lengths.limit, round(math.exp(draw.gauss(mean, lengths.sigma))))) for _ in range(count)]


def shape_of(spec: RunSpec, group: list[Shape]) -> Shape:
    """Return the shape of the batch that some samples make."""
    source, *targets = (max(column) for column in zip(*group, strict=True))
    multiple = spec.pad_to_multiple_of or 1
    padded = [-(-longest // multiple) * multiple for longest in (source, *targets)]
    return (len(group), spec.source.limit if spec.padding == "max_length" else padded[0], *padded[1:])


def train_shapes(spec: RunSpec, steps: int) -> list[list[Shape]]:
    """Return, for each optimizer step, the shapes of its micro-batches, in the order in which the run's sampler takes them."""
    batches = _epochs(spec)
    return [[shape_of(spec, next(batches)) for _ in range(spec.accumulation)] for _ in range(steps)]


def _epochs(spec: RunSpec) -> Iterator[list[Shape]]:
    size, number = max(20_000, spec.effective_batch), 0
    while True:
        order = samples(spec, size, spec.seed + number)
        if spec.group_by_length:
            order = _grouped(order, spec.train_batch)
        for start in range(0, size, spec.train_batch):
            group = order[start : start + spec.train_batch]
            if len(group) == spec.train_batch or not spec.drop_last:
                yield group
        number += 1


def _grouped(order: list[Shape], batch: int) -> list[Shape]:
    """Return samples as a length-grouped sampler takes them: sorted by length inside mega-batches of 50 batches."""
    mega = max(1, min(len(order) // (batch * 4), 50)) * batch
    found: list[Shape] = []
    for start in range(0, len(order), mega):
        found += sorted(order[start : start + mega], key=lambda lengths: -lengths[0])
    return found


def worst_shape(spec: RunSpec) -> Shape:
    """Return the largest shape that a training batch can have: every sequence as long as its limit allows."""
    limits = [spec.source.limit, *([(spec.target or Lengths(64)).limit] if has_targets(spec.task) else [])]
    return (spec.train_batch, *shape_of(spec, [tuple(limits)])[1:])


def quantiles(shapes: list[Shape], count: int) -> list[Shape]:
    """Return shapes from the middle of `count` equal parts, by size; each once where all are equal."""
    ordered = sorted(shapes, key=math.prod)
    if len(set(ordered)) == 1:
        return ordered[:1]
    return [ordered[int((place + 0.5) * len(ordered) / count)] for place in range(count)]
