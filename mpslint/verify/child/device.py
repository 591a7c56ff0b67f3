"""A spec trained for real on a GPU: memory, times and losses as they are, and its gradients against the CPU's."""

from __future__ import annotations

import gc
import platform
import time
from collections.abc import Callable
from dataclasses import dataclass, replace

import torch

from mpslint.core.finding import ReadError
from mpslint.verify.child.batches import samples, train_shapes, worst_shape
from mpslint.verify.child.installed import resident, versions
from mpslint.verify.child.lengths import with_own_lengths
from mpslint.verify.child.models import dropout_of, make_config, make_model, set_dropout
from mpslint.verify.child.rig import HALF, make_optimizer, takes_label_count
from mpslint.verify.child.values import collate, make_sample
from mpslint.verify.outcome import RunResult, StepRecord, Trouble
from mpslint.verify.spec import RunSpec

Progress = Callable[[int, int, StepRecord], None]
GRADIENT_TOLERANCE = 1e-2
"""Relative difference of a parameter's gradient on the GPU from the CPU's, in float32 and without dropout,
past which it is wrong."""


@dataclass(frozen=True, slots=True)
class Gauge:
    """How one kind of GPU tells its memory: live and driver bytes now, the limit, and the peak since the last reset."""

    device: str
    live: Callable[[], int]
    driver: Callable[[], int]
    recommended: Callable[[], int]
    synchronize: Callable[[], None]
    empty_cache: Callable[[], None]
    reset_peak: Callable[[], None] | None = None
    peak: Callable[[], int] | None = None


def mps_gauge() -> Gauge:
    """Return the gauge of Apple's GPU. Raises ReadError when there is none that can be used."""
    mps = torch.mps
    if not torch.backends.mps.is_available():
        raise ReadError("this machine has no MPS device; without --backend the run is emulated")
    limit = mps.recommended_max_memory() if hasattr(mps, "recommended_max_memory") else 1
    if limit <= 0:
        raise ReadError("this Mac's MPS recommends 0 bytes of memory, as virtual machines without a GPU do: it cannot be used")
    accelerator = getattr(torch, "accelerator", None)
    has_peak = accelerator is not None and hasattr(accelerator, "max_memory_allocated") and _has_peak_statistics()
    return Gauge(
        "mps",
        mps.current_allocated_memory,
        mps.driver_allocated_memory,
        lambda: limit,
        mps.synchronize,
        mps.empty_cache,
        torch.accelerator.reset_peak_memory_stats if has_peak else None,
        torch.accelerator.max_memory_allocated if has_peak else None,
    )


def _has_peak_statistics() -> bool:
    """Return whether torch.accelerator can tell MPS's peak: since 2.13; before, asking is an internal error."""
    try:
        torch.accelerator.max_memory_allocated()
    except (RuntimeError, AssertionError, NotImplementedError):
        return False
    return True


def cuda_gauge() -> Gauge:
    """Return the gauge of an NVIDIA GPU. Raises ReadError when there is none."""
    if not torch.cuda.is_available():
        raise ReadError("this machine has no CUDA device; without --backend the run is emulated")
    whole = torch.cuda.get_device_properties(0).total_memory
    return Gauge(
        "cuda",
        torch.cuda.memory_allocated,
        torch.cuda.memory_reserved,
        lambda: whole,
        torch.cuda.synchronize,
        torch.cuda.empty_cache,
        torch.cuda.reset_peak_memory_stats,
        torch.cuda.max_memory_allocated,
    )


def measure(spec: RunSpec, backend: str, steps: int, progress: Progress, gauge: Gauge | None = None) -> RunResult:
    """Return what a real run on the GPU showed, one record a step, each read at the same point of the loop."""
    start = time.perf_counter()
    spec, said = with_own_lengths(spec)
    gauge = gauge or (mps_gauge() if backend == "mps" else cuda_gauge())
    torch.manual_seed(spec.seed)
    config = make_config(spec)
    model = make_model(spec, config, "cpu").to(gauge.device)
    trained = [parameter for parameter in model.parameters() if parameter.requires_grad]
    before = [parameter.detach().clone() for parameter in trained[:32]]
    optimizer = make_optimizer(spec, trained)
    records: list[StepRecord] = []
    failure = ""
    shapes = [[worst_shape(spec)] * spec.accumulation, *train_shapes(spec, max(steps - 1, 1))][:steps]
    gc.collect()
    gc.freeze()  # each step collects what it left itself, without looking through all of torch again
    try:
        for number, step_shapes in enumerate(shapes, start=1):
            records.append(_step(spec, config, model, trained, optimizer, gauge, number, step_shapes))
            if spec.empty_cache_steps and number % spec.empty_cache_steps == 0:
                gauge.empty_cache()
            progress(number, steps, records[-1])
    except RuntimeError as error:
        failure = f"{type(error).__name__}: {str(error).splitlines()[0]}"
    finally:
        gc.unfreeze()
    moved = any(not torch.equal(old, new) for old, new in zip(before, trained, strict=False))
    troubles = () if failure else gradient_troubles(spec, gauge.device)
    return RunResult(
        spec.name,
        backend,
        tuple(records),
        largest_peak=max((record.peak for record in records), default=-1),
        driver_peak=max((record.driver for record in records), default=-1),
        parameters=sum(p.numel() for p in model.parameters()),
        shapes=len({record.shapes for record in records}),
        troubles=troubles,
        failure=failure,
        moved=moved,
        notes=(said,) if said else (),
        dropout=dropout_of(config),
        versions={
            **versions(),
            "torch": torch.__version__,
            "chip": platform.processor() or platform.machine(),
            "recommended": str(gauge.recommended()),
        },
        seconds=time.perf_counter() - start,
    )


def _step(
    spec: RunSpec, config: object, model: torch.nn.Module, trained: list[torch.nn.Parameter],
    optimizer: torch.optim.Optimizer,
    gauge: Gauge, number: int, shapes: list[tuple[int, ...]],
) -> StepRecord:  # fmt: skip
    """Do one optimizer step on the GPU and return its record."""
    start = time.perf_counter()
    if gauge.reset_peak is not None:
        gauge.reset_peak()
    total, count, top = 0.0, 0, 0
    parts = []
    for place, shape in enumerate(shapes):
        lengths = shape[1:] if len(shape) > 1 else samples(spec, 1, number)[0]
        parts.append([make_sample(spec, config, lengths, 1000 * number + 10 * place + item) for item in range(shape[0])])
    count = sum(int((sample["labels"] != -100).sum()) for part in parts for sample in part if "labels" in sample)
    for part in parts:
        batch = {name: tensor.to(gauge.device) for name, tensor in collate(spec, part).items()}
        with torch.autocast(gauge.device, dtype=HALF.get(spec.precision, torch.bfloat16), enabled=spec.precision != "no"):
            takes_count = count and takes_label_count(model) and not spec.averages
            extra = {"num_items_in_batch": torch.tensor(count, device=gauge.device)} if takes_count else {}
            loss = model(**batch, **extra).loss
        top = max(top, gauge.live())
        (loss if extra else loss / len(parts)).backward()
        total += float(loss.detach())
        top = max(top, gauge.live())
        del batch, loss
    norm = float(torch.nn.utils.clip_grad_norm_(trained, spec.max_grad_norm or float("inf")))
    optimizer.step()
    top = max(top, gauge.live())
    optimizer.zero_grad()
    gc.collect()
    gauge.synchronize()
    peak = gauge.peak() if gauge.peak is not None else top
    text = ", ".join(" x ".join(map(str, shape)) for shape in shapes)
    return StepRecord(
        number,
        resident=resident(),
        live=gauge.live(),
        peak=peak,
        driver=gauge.driver(),
        seconds=time.perf_counter() - start,
        loss=total,
        gradient_norm=norm,
        shapes=text,
    )


def gradient_troubles(spec: RunSpec, device: str) -> tuple[Trouble, ...]:
    """Return a trouble when one step's gradients on the GPU are not the CPU's:
    many MPS bugs have a right forward and a wrong gradient."""
    small = replace(spec, dropout=0.0, precision="no", weights_dtype="float32", gradient_checkpointing=False)
    config = make_config(small, reduced=True)
    set_dropout(config, 0.0)
    torch.manual_seed(spec.seed)
    model = make_model(small, config, "cpu")
    worst: tuple[float, str, tuple[int, ...]] = (0.0, "", ())
    for shape in dict.fromkeys(shape for shapes in train_shapes(small, 2) for shape in shapes[:1]):
        lengths = tuple(min(length, 96) for length in shape[1:]) or samples(small, 1, 0)[0]
        part = [make_sample(small, config, lengths, place) for place in range(shape[0])]
        pairs = zip(_gradients(small, model, part, "cpu"), _gradients(small, model, part, device), strict=False)
        for (name, ours), (_, theirs) in pairs:
            scale = float(ours.abs().max()) or 1.0
            worst = max(worst, (float((ours - theirs).abs().max()) / scale, name, shape))
    if worst[0] <= GRADIENT_TOLERANCE:
        return ()
    said = (
        f"the gradient of {worst[1]} on {device} is {worst[0] * 100:.1f} % off the CPU's in one step of shape "
        f"{worst[2]}: the training goes wrong"
    )
    return (Trouble("gradients", "error", said),)


def _gradients(spec: RunSpec, model: torch.nn.Module, part: list[dict[str, torch.Tensor]], device: str) -> list[tuple[str, torch.Tensor]]:
    model.to(device)
    model.zero_grad()
    model(**{name: tensor.to(device) for name, tensor in collate(spec, part).items()}).loss.backward()
    found = [(name, parameter.grad.detach().cpu()) for name, parameter in model.named_parameters() if parameter.grad is not None]
    model.to("cpu")
    return found
