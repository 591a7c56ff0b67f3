"""Real values on the CPU: a reduced copy of the model trains a few steps as each spec says, on the same samples."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import torch

from mpslint.core.knowledge import platform_data
from mpslint.verify.child.batches import dimensions, is_paired, pad, samples
from mpslint.verify.child.installed import resident, versions
from mpslint.verify.child.models import make_config, make_model, set_dropout
from mpslint.verify.child.rig import make_optimizer, takes_label_count
from mpslint.verify.outcome import RunResult, StepRecord, Trouble
from mpslint.verify.spec import Lengths, RunSpec, VerifiedMac

LONGEST = 96
IGNORED = -100
CHECKPOINTING_TOLERANCE = 1e-4
"""Relative difference of a gradient that recomputing it in another order explains."""
SUMMED = (
    "the installed transformers does not divide this model's loss by the {count} micro-batches (its forward takes "
    "num_items_in_batch and "
    "ignores it): Trainer logs {count} times the loss, and the gradient before clipping is {count} times as large"
)
Progress = Callable[[int, int, StepRecord], None]
Sample = dict[str, Any]


def compare(specs: Sequence[RunSpec], machine: VerifiedMac, steps: int, progress: Progress) -> dict[str, Any]:
    """Return one result for each spec: losses, gradient norms, and whether the weights moved."""
    total = steps * len(specs)
    results = []
    for place, spec in enumerate(specs):

        def told(done: int, _: int, record: StepRecord, place: int = place) -> None:
            progress(place * steps + done, total, record)

        result = train(shortened(spec), machine, steps, told)
        if spec.gradient_checkpointing:
            result = replace(result, troubles=checkpointing_troubles(shortened(spec)))
        results.append(result)
    return {"runs": results}


def shortened(spec: RunSpec) -> RunSpec:
    """Return a run with its sequences cut to what a CPU takes lightly, lengths scaled alike; dropout off, float32."""

    def scaled(lengths: Lengths | None) -> Lengths | None:
        if lengths is None or lengths.limit <= LONGEST or spec.task in ("image_classification", "speech_seq2seq", "ctc"):
            return lengths
        factor = LONGEST / lengths.limit
        observed = tuple(max(1, round(length * factor)) for length in lengths.observed)
        return replace(lengths, limit=LONGEST, median=lengths.median * factor, observed=observed)

    source = scaled(spec.source)
    assert source is not None
    multiple = spec.pad_to_multiple_of
    if multiple and multiple > LONGEST:
        multiple = LONGEST
    return replace(
        spec,
        source=source,
        target=scaled(spec.target),
        pad_to_multiple_of=multiple,
        dropout=0.0,
        precision="no",
        weights_dtype="float32",
        gradient_checkpointing=False,
    )


def train(spec: RunSpec, machine: VerifiedMac, steps: int, progress: Progress) -> RunResult:
    """Return what a few real optimizer steps of the reduced model give."""
    start = time.perf_counter()
    torch.manual_seed(spec.seed)
    config = make_config(spec, reduced=True)
    set_dropout(config, 0.0)
    model = make_model(spec, config, "cpu")
    trained = [parameter for parameter in model.parameters() if parameter.requires_grad]
    before = [parameter.detach().clone() for parameter in trained]
    optimizer = make_optimizer(spec, trained)
    drawn = samples(spec, (steps + 1) * spec.effective_batch, spec.seed)
    made = [make_sample(spec, config, lengths, spec.seed + place) for place, lengths in enumerate(drawn)]
    takes_count = takes_label_count(model) and not spec.averages
    ignores_count = takes_count and ignores(spec, model, made[0])
    if ignores_count and not sums_up(machine):
        takes_count = False
    records = []
    for number in range(1, steps + 1):
        began = time.perf_counter()
        group = made[(number - 1) * spec.effective_batch : number * spec.effective_batch]
        loss = one_step(spec, model, group, takes_count)
        norm = float(torch.nn.utils.clip_grad_norm_(trained, spec.max_grad_norm or float("inf")))
        optimizer.step()
        optimizer.zero_grad()
        seconds = time.perf_counter() - began
        records.append(StepRecord(number, resident=resident(), seconds=seconds, loss=loss, gradient_norm=norm))
        progress(number, steps, records[-1])
    records.append(StepRecord(steps, "evaluate", loss=evaluation_loss(spec, model, made[-spec.effective_batch :])))
    moved = any(not torch.equal(old, new) for old, new in zip(before, trained, strict=False))
    notes = [f"a copy of {spec.model} with two narrow layers, dropout 0, samples of at most {spec.source.limit}"]
    if ignores_count and takes_count and spec.accumulation > 1:
        notes.append(SUMMED.format(count=spec.accumulation))
    return RunResult(
        spec.name,
        "cpu",
        tuple(records),
        moved=moved,
        seconds=time.perf_counter() - start,
        notes=tuple(notes),
        uncertain=("mean of means",) if ignores_count or not takes_count else (),
        versions=versions(),
    )


def sums_up(machine: VerifiedMac) -> bool:
    """Return whether Trainer adds up the losses of a model that ignores the label count it is given: since transformers 5,
    when most models began to accept that count."""
    return machine.versions().get("transformers", (5,)) >= (5,)


def checkpointing_troubles(spec: RunSpec) -> tuple[Trouble, ...]:
    """Return a trouble when one step's gradients with gradient checkpointing are not those without it; dropout is off."""
    found: list[dict[str, torch.Tensor]] = []
    for is_on in (False, True):
        torch.manual_seed(spec.seed)
        config = make_config(spec, reduced=True)
        set_dropout(config, 0.0)
        model = make_model(replace(spec, gradient_checkpointing=is_on), config, "cpu")
        lengths = samples(spec, spec.train_batch, spec.seed)
        made = [make_sample(spec, config, length, spec.seed + place) for place, length in enumerate(lengths)]
        model(**collate(spec, made)).loss.backward()
        found.append({name: parameter.grad for name, parameter in model.named_parameters() if parameter.grad is not None})
    worst, name = max((_apart(found[0].get(name), gradient), name) for name, gradient in found[1].items())
    if worst <= CHECKPOINTING_TOLERANCE and found[0].keys() == found[1].keys():
        return ()
    said = f"with gradient checkpointing the gradient of {name} is {worst * 100:.1f} % off the one without, although dropout is 0"
    return (Trouble("checkpointing", "error", said),)


def _apart(one: torch.Tensor | None, other: torch.Tensor) -> float:
    """Return the largest difference of two gradients, relative to the largest value."""
    return float("inf") if one is None else float((one - other).abs().max()) / (float(one.abs().max()) or 1.0)


def ignores(spec: RunSpec, model: torch.nn.Module, sample: Sample) -> bool:
    """Return whether a model takes the number of labels of the whole step and makes nothing of it."""
    batch = collate(spec, [sample])
    with torch.no_grad():
        losses = [model(**batch, num_items_in_batch=torch.tensor(count)).loss for count in (1, 1000)]
    return bool(torch.equal(losses[0], losses[1]))


def one_step(spec: RunSpec, model: torch.nn.Module, group: list[Sample], takes_count: bool) -> float:
    """Run the micro-batches of one optimizer step; return its loss as Trainer reports it."""
    parts = [group[start : start + spec.train_batch] for start in range(0, len(group), spec.train_batch)]
    count = sum(int((sample["labels"] != IGNORED).sum()) for sample in group if "labels" in sample)
    total = 0.0
    for part in parts:
        batch = collate(spec, part)
        extra = {"num_items_in_batch": torch.tensor(count)} if takes_count and count else {}
        loss = model(**batch, **extra).loss
        if not extra:
            loss = loss / len(parts)
        loss.backward()
        total += float(loss.detach())
    return total


def evaluation_loss(spec: RunSpec, model: torch.nn.Module, group: list[Sample]) -> float:
    """Return the mean loss of single samples: the same however the batches are made."""
    model.eval()
    with torch.no_grad():
        losses = [float(model(**collate(spec, [sample])).loss) for sample in group]
    model.train()
    return sum(losses) / len(losses)


def make_sample(spec: RunSpec, config: Any, lengths: tuple[int, ...], seed: int) -> Sample:
    """Return one sample of the given lengths; equal seeds give equal samples, whatever the padding."""
    draw = random.Random(seed)
    vocabulary = getattr(config, "vocab_size", 512) or 512
    sizes = dimensions(config, (1, *lengths))
    sample: Sample = {}
    for name, dims in platform_data("models/tasks")[spec.task]["batch"].items():
        shape = tuple(sizes[dim] for dim in dims[1:])
        if name in ("pixel_values", "input_features", "input_values"):
            generator = torch.Generator().manual_seed(seed)
            sample[name] = torch.randn(shape, generator=generator)
        elif name.endswith("_mask"):
            sample[name] = torch.ones((2, *shape) if dims[0] == "P" else shape, dtype=torch.int64)
        elif shape:
            if dims[0] == "P":
                sample[name] = torch.tensor([[draw.randrange(1, vocabulary) for _ in range(shape[0])] for _ in range(2)])
                continue
            top = 2 if spec.task == "token_classification" and name == "labels" else vocabulary
            sample[name] = torch.tensor([draw.randrange(1, top) if top > 2 else draw.randrange(top) for _ in range(shape[0])])
        else:
            sample[name] = torch.tensor(draw.randrange(2))
    if spec.task in ("causal_lm", "masked_lm"):
        sample["labels"] = sample["input_ids"].clone()
    return sample


def collate(spec: RunSpec, part: list[Sample]) -> dict[str, torch.Tensor]:
    """Return a batch, padded as the run pads."""
    batch = {}
    for name, first in part[0].items():
        values = [sample[name] for sample in part]
        if is_paired(spec):  # first those that were chosen, then those that were not
            values = [value[place] for place in (0, 1) for value in values]
            first = values[0]
        if first.dim() != 1 or name == "input_features":
            batch[name] = torch.stack(values)
            continue
        is_target = "T" in platform_data("models/tasks")[spec.task]["batch"][name]
        limit = spec.target.limit if is_target and spec.target else spec.source.limit
        length = pad(spec, [len(value) for value in values], limit, is_target=is_target)
        filler = IGNORED if name == "labels" else 0
        batch[name] = torch.stack([torch.nn.functional.pad(value, (0, length - len(value)), value=filler) for value in values])
    return batch
