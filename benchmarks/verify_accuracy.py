"""How near the emulator's peak is to the real peak of the same kernels on the CPU, as torch.profiler sees it.

Run `python benchmarks/verify_accuracy.py` to measure all points (some minutes) and to write docs/verify-accuracy.md;
`--quick` takes
the small ones only and writes nothing. Exits 1 when a point is more than 1 % off.
"""

from __future__ import annotations

import contextlib
import gc
import os
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

os.environ.setdefault("KINETO_LOG_LEVEL", "5")

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.profiler import ProfilerActivity, profile

from mpslint.core.knowledge import configuration_of
from mpslint.verify.emulator.keys import GraphCache
from mpslint.verify.emulator.memory import LiveMemory
from mpslint.verify.emulator.watch import Watch
from mpslint.verify.generate import script_of
from mpslint.verify.script import ScriptOptions
from mpslint.verify.spec import Lengths, RunSpec
from mpslint.verify.verify import result_of

ROOT = Path(__file__).parents[1]
ALLOWED = 0.01
STEPS = 5
CONVOLUTIONS = {"aten::convolution", "aten::convolution_backward", "aten::conv1d", "aten::conv2d"}

Module = torch.nn.Module


@dataclass(frozen=True)
class Point:
    """One run to compare: a spec and the shape of its batches, or a module of PyTorch's own."""

    name: str
    spec: RunSpec | None = None
    shape: tuple[int, ...] = ()
    module: Callable[[], Module] | None = None
    inputs: tuple[int, ...] = ()
    is_small: bool = False


def of(model: str, task: str, shape: tuple[int, ...], small: bool = False, **settings: Any) -> Point:
    """Return a point for a known checkpoint."""
    accumulation = settings.get("accumulation", 1)
    said = ", ".join(f"{key}={value}" for key, value in settings.items() if key != "config")
    limit = shape[1] if len(shape) > 1 else 1
    known = {"config": configuration_of(model), "precision_by": "autocast", **settings}
    spec = RunSpec(model=model, task=task, source=Lengths(limit), train_batch=shape[0], **known)  # type: ignore[arg-type]
    size = " x ".join(map(str, shape)) + (f" x {accumulation} micro-batches" if accumulation > 1 else "")
    return Point(f"{model} {task}, {size}" + (f", {said}" if said else ""), spec, shape, is_small=small)


class Tagger(Module):
    """An embedding, a recurrent layer, attention over its steps where that goes both ways, and a linear layer."""

    def __init__(self, kind: str = "LSTM", both_ways: bool = False) -> None:
        super().__init__()
        self.embedding = torch.nn.Embedding(5000, 256)
        self.layer = getattr(torch.nn, kind)(256, 256, num_layers=2, batch_first=True, bidirectional=both_ways)
        self.query = torch.nn.Linear(512, 1) if both_ways else None
        self.head = torch.nn.Linear(512 if both_ways else 256, 32)

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        """Return the loss."""
        hidden = self.layer(self.embedding(ids))[0]
        if self.query is not None:
            hidden = (torch.softmax(self.query(hidden), dim=1) * hidden).sum(dim=1)
        return self.head(hidden).square().mean()


class Net(Module):
    """A small convolutional network with batch normalisation and pooling."""

    def __init__(self) -> None:
        super().__init__()
        layers: list[Module] = []
        for before, after in ((3, 32), (32, 64), (64, 128)):
            layers += [
                torch.nn.Conv2d(before, after, 3, padding=1),
                torch.nn.BatchNorm2d(after),
                torch.nn.ReLU(),
                torch.nn.MaxPool2d(2),
            ]
        self.body = torch.nn.Sequential(*layers, torch.nn.AdaptiveAvgPool2d(1), torch.nn.Flatten(), torch.nn.Linear(128, 10))

    def forward(self, pixels: torch.Tensor) -> torch.Tensor:
        """Return the loss."""
        return torch.nn.functional.cross_entropy(self.body(pixels), torch.zeros(len(pixels), dtype=torch.long, device=pixels.device))


LLAMA = {
    "model_type": "llama", "vocab_size": 8000, "hidden_size": 256, "intermediate_size": 688, "num_hidden_layers": 4,
    "num_attention_heads": 8, "num_key_value_heads": 4, "max_position_embeddings": 2048,
}  # fmt: skip


def points() -> list[Point]:
    """Return all points."""
    bert, gpt, t5, distil = "bert-base-uncased", "gpt2", "t5-small", "distilbert-base-uncased"
    seq, clf, lm = "seq2seq_lm", "sequence_classification", "causal_lm"
    vit, whisper, wave = "vit-base-patch16-224", "whisper-tiny", "wav2vec2-base"
    return [
        of(bert, clf, (4, 128)),
        of(bert, clf, (2, 512)),
        of(bert, clf, (2, 512), attention="eager"),
        of(bert, clf, (2, 512), dropout=0.0),
        of(bert, clf, (4, 128), gradient_checkpointing=True),
        of(bert, clf, (2, 256), precision="bf16"),
        of(bert, clf, (2, 128), accumulation=4),
        of(bert, "masked_lm", (2, 128)),
        of(bert, "token_classification", (2, 128)),
        of(bert, "question_answering", (2, 256)),
        of("bert-mini", "masked_lm", (8, 256), True),
        of("bert-mini", clf, (8, 128), True, optimizer="sgd_momentum"),
        of("bert-mini", clf, (8, 128), True, optimizer="adafactor"),
        of(gpt, lm, (1, 512)),
        of(gpt, lm, (1, 1024)),
        of(gpt, lm, (1, 1024), gradient_checkpointing=True),
        of(gpt, lm, (1, 256), precision="bf16"),
        of("distilgpt2", lm, (2, 256)),
        of("distilgpt2", lm, (1, 256), accumulation=2),
        of(t5, seq, (4, 512, 64)),
        of(t5, seq, (2, 1024, 64)),
        of(t5, seq, (2, 1024, 64), gradient_checkpointing=True),
        of(t5, seq, (2, 256, 64), precision="bf16"),
        of(t5, seq, (2, 256, 32), True, accumulation=2),
        of(t5, seq, (2, 256, 32), True, optimizer="adamw_torch_fused"),
        of(t5, seq, (2, 256, 32), True, attention="eager"),
        of(distil, clf, (8, 128)),
        of(distil, clf, (8, 128), optimizer="adamw_torch_foreach"),
        of(distil, clf, (8, 128), optimizer="adamw_torch_fused"),
        of(distil, clf, (4, 128), precision="bf16"),
        of("roberta-base", clf, (2, 128)),
        of("electra-small-discriminator", clf, (8, 128), True),
        of("albert-base-v2", clf, (2, 128)),
        of("opt-125m", lm, (1, 256)),
        of("pythia-70m", lm, (2, 256), True),
        of("bart-base", seq, (2, 256, 64)),
        of("tiny llama", lm, (2, 512), True, config=LLAMA),
        of("tiny llama", lm, (2, 512), True, config=LLAMA, lora_rank=8),
        of("tiny llama", lm, (2, 512), True, config=LLAMA, lora_rank=8, gradient_checkpointing=True),
        of("tiny llama", lm, (2, 256), True, config=LLAMA, weights_dtype="bfloat16"),
        of("tiny llama", lm, (2, 512), True, config=LLAMA, precision="bf16", gradient_checkpointing=True),
        of(vit, "image_classification", (2,)),
        of("deit-tiny-patch16-224", "image_classification", (8,), True),
        of("resnet-18", "image_classification", (4,), True),
        of("resnet-50", "image_classification", (2,)),
        of(whisper, "speech_seq2seq", (2, 3000, 64), True),
        of(wave, "ctc", (1, 32000, 20)),
        Point("LSTM of two layers, 16 x 64", module=Tagger, inputs=(16, 64), is_small=True),
        Point("RNN of two layers, 8 x 32", module=partial(Tagger, "RNN"), inputs=(8, 32), is_small=True),
        Point("GRU of two layers, 8 x 32", module=partial(Tagger, "GRU"), inputs=(8, 32), is_small=True),
        Point("bidirectional GRU with attention, 8 x 32", module=partial(Tagger, "GRU", True), inputs=(8, 32), is_small=True),
        Point("bidirectional LSTM with attention, 8 x 32", module=partial(Tagger, "LSTM", True), inputs=(8, 32), is_small=True),
        Point("convolutions with BatchNorm, 16 x 3 x 64 x 64", module=Net, inputs=(16, 3, 64, 64), is_small=True),
    ]


def predicted(point: Point) -> int:
    """Return the emulated peak of a training step, in bytes."""
    if point.spec is None:
        return predicted_module(point)
    steps = [[point.shape] * point.spec.accumulation] * STEPS
    return result_of(point.spec, steps, ScriptOptions(use_cache=False)).steps[STEPS - 1].peak


def predicted_module(point: Point) -> int:
    """Return the emulated peak of a step of a PyTorch module."""
    assert point.module is not None
    memory = LiveMemory()
    watch = Watch(memory, GraphCache(frozenset()))
    with torch.device("meta"):
        model = point.module()
    for tensor in (*model.parameters(), *model.buffers()):
        memory.see(tensor, "weight")
    step = module_step(model, point.inputs, "meta", lambda tensor: memory.see(tensor, "batch"))
    for _ in range(2):
        memory.peak = memory.live
        with watch:
            step()
    return memory.peak


def module_step(model: Module, inputs: tuple[int, ...], device: str, seen: Callable[[torch.Tensor], object]) -> Callable[[], None]:
    """Return a function that does one training step of a module."""
    optimizer = torch.optim.AdamW(model.parameters())

    def step() -> None:
        kind = torch.float32 if len(inputs) > 2 else torch.int64
        batch = torch.ones(inputs, dtype=kind, device=device)
        seen(batch)
        model(batch).backward()
        optimizer.step()
        optimizer.zero_grad()

    return step


@contextlib.contextmanager
def same_kernels() -> Iterator[None]:
    """Use the kernels that MPS and the emulator have: no fused attention, no oneDNN recurrent layers."""
    with sdpa_kernel(SDPBackend.MATH):
        yield


def measured(point: Point) -> int:
    """Return the real peak of the same step on the CPU, in bytes:
    what was alive before it and the profiler's memory events."""
    if point.spec is None:
        assert point.module is not None
        model = point.module()
        step = module_step(model, point.inputs, "cpu", lambda tensor: None)
        return profiled(model, step)
    text = script_of(point.spec, [[point.shape] * point.spec.accumulation]).replace('"mps"', '"cpu"')
    made: dict[str, Any] = {}
    exec(text.rpartition("for _ in range")[0].replace(".from_pretrained('run', config=config", ".from_config(config"), made)
    return profiled(made["model"], made["train"])


def profiled(model: Module, step: Callable[[], None]) -> int:
    """Return the peak of the second step."""
    with torch.backends.mkldnn.flags(enabled=not isinstance(model, Tagger)), same_kernels():
        before = own_bytes(model)
        gc.collect()
        with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as first:
            step()
        state = left_by(first)
        gc.collect()
        with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as second:
            step()
    return before + state + highest(second)


def own_bytes(model: Module) -> int:
    """Return the bytes of a model's weights and buffers, shared ones once."""
    storages = {
        tensor.untyped_storage().data_ptr(): tensor.untyped_storage().nbytes() for tensor in [*model.parameters(), *model.buffers()]
    }
    return sum(storages.values())


def changes(run: Any) -> list[int]:
    """Return the allocations and frees of a profile, in order of time,
    without the scratch that CPU convolutions take and give back.

    The oneDNN kernels copy their inputs into layouts of their own inside one call; MPS has other kernels,
    so that is no part of a run.
    """
    events = run.profiler.kineto_results.events()
    memory = sorted((event.start_ns(), event.nbytes()) for event in events if event.name() == "[memory]")
    inside = sorted((event.start_ns(), event.end_ns()) for event in events if event.name() in CONVOLUTIONS)
    found, spans, place = [], outermost(inside), 0
    while place < len(memory):
        span = next((span for span in spans if span[0] <= memory[place][0] <= span[1]), None)
        end = place + 1
        while span is not None and end < len(memory) and memory[end][0] <= span[1]:
            end += 1
        group = [size for _, size in memory[place:end]]
        found += without_scratch(group) if span is not None else group
        place = end
    return found


def outermost(spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return the spans that lie in no other."""
    found: list[tuple[int, int]] = []
    for span in spans:
        if not found or span[0] > found[-1][1]:
            found.append(span)
    return found


def without_scratch(group: list[int]) -> list[int]:
    """Return allocations and frees without the pairs that cancel each other."""
    kept: list[int] = []
    for size in group:
        if size < 0 and -size in kept:
            del kept[len(kept) - 1 - kept[::-1].index(-size)]
        else:
            kept.append(size)
    return kept


def left_by(run: Any) -> int:
    """Return what a step leaves behind: the optimizer's state."""
    return sum(changes(run))


def highest(run: Any) -> int:
    """Return the highest sum of a step's allocations and frees."""
    live = top = 0
    for change in changes(run):
        live += change
        top = max(top, live)
    return top


def main() -> int:
    """Measure, print and write the table; return the exit code."""
    torch.set_num_threads(int(sys.argv[sys.argv.index("--threads") + 1]) if "--threads" in sys.argv else 1)
    rows, worst = [], 0.0
    for point in points():
        if "--quick" in sys.argv and not point.is_small:
            continue
        if any(word.startswith("--only=") and word[7:] not in point.name for word in sys.argv):
            continue
        start = time.perf_counter()
        guess = predicted(point)
        middle = time.perf_counter()
        real = measured(point)
        end = time.perf_counter()
        off = guess / real - 1
        worst = max(worst, abs(off))
        rows.append(
            f"| {point.name} | {guess / 1e6:.1f} | {real / 1e6:.1f} | {off * 100:+.2f} % | {middle - start:.1f} | {end - middle:.1f} |"
        )
        print(rows[-1], flush=True)
    print(f"{len(rows)} points, worst {worst * 100:.2f} % off")
    if not any(word in sys.argv[1:] or word.startswith("--only") for word in sys.argv[1:]) or sys.argv[1:2] == ["--threads"]:
        write_page(rows, worst)
    return int(worst > ALLOWED)


def write_page(rows: list[str], worst: float) -> None:
    """Write the table into the documentation."""
    page = f"""# How exact the emulated peak is

Written by `benchmarks/verify_accuracy.py`; do not edit.

Peak of live memory in one training step (forward, backward, clipping, optimizer), in MB:
as mpslint's emulator predicts it on tensors
without values, and as `torch.profiler` sees it in a real step of the same kernels on the CPU (math attention,
torch {torch.__version__}).
Scratch that the CPU's convolution kernels take and give back inside one call is left out: MPS has other kernels.
It says nothing about what
MPSGraph needs for itself on a Mac. {len(rows)} points, the worst {worst * 100:.2f} % off.

| run | predicted | real | off | seconds to predict | seconds to run |
|---|---|---|---|---|---|
"""
    (ROOT / "docs" / "verify-accuracy.md").write_text(page + "\n".join(rows) + "\n", encoding="utf-8")


if __name__ == "__main__":
    raise SystemExit(main())
