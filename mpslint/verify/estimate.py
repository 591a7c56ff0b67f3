"""What a planned run needs: the peak of a step, the largest micro-batch that each Mac takes, the work of a step."""

from __future__ import annotations

from dataclasses import replace

from mpslint.core.knowledge import platform_data
from mpslint.estimate.step import StepWork
from mpslint.target.macs import macs
from mpslint.verify.driver_memory import FULL
from mpslint.verify.job import STANDING
from mpslint.verify.outcome import Estimate, Fit, RunResult
from mpslint.verify.platform import heap_rules, limits_of
from mpslint.verify.shapes import train_shapes, worst_shape
from mpslint.verify.spec import RunSpec, VerifiedMac
from mpslint.verify.verify import VerifyOptions, result_of, run_steps, sized_steps, work_steps

SHOWN = 20
"""Steps that show whether the shapes of batches vary."""
ENDLESS = 4096
"""GB of a Mac on which no memory ends."""


def estimate_spec(spec: RunSpec, machine: VerifiedMac) -> Estimate:
    """Return the estimate of one run. Raises ReadError saying why, when it cannot be made (no torch, unknown model, ...)."""
    options = VerifyOptions(machine)
    spec = replace(spec, evaluation=None)
    sizes = tuple(sorted({*macs().listed, machine.memory_gb}))
    sized = replace(spec, accumulation=min(2, spec.accumulation))  # gradients are kept for the second micro-batch as for all others
    found = result_of(sized, sized_steps(sized), options, "fit", sizes)
    assert found.composition is not None
    longest = " x ".join(map(str, worst_shape(spec)[1:]))
    notes = (f"for samples of {longest}",) if longest else ()
    fits = found.fits
    if len({shape for step in train_shapes(spec, SHOWN) for shape in step}) > 1 and not heap_rules(machine.torch).coalesces:
        fits = tuple(_with_buffers(fit, spec, options) for fit in fits)
    return Estimate(spec.name, found.composition, found.parameters, spec.train_batch, fits, notes)


def _with_buffers(fit: Fit, spec: RunSpec, options: VerifyOptions) -> Fit:
    """Return how a Mac takes a run of which torch keeps freed buffers of ever new sizes. For the Mac that is meant, runs of halved batches
    say it; for others the tensors say only what doesn't fit.
    """
    if fit.memory_gb != options.machine.memory_gb:
        return replace(fit, bound="at most ")
    batch = most = spec.train_batch << (spec.accumulation.bit_length() - 1)
    while batch and (batch > fit.largest_batch or _held(batch, spec, options) > FULL * limits_of(options.machine).low):
        batch //= 2
    status = fit.status if spec.train_batch <= batch else "too big"
    return replace(fit, largest_batch=batch, status=status, bound="at least " if batch == most < fit.largest_batch else "")


def _held(batch: int, spec: RunSpec, options: VerifyOptions) -> int:
    """Return the driver memory that a run with other micro-batches comes to, in bytes, where the Mac's memory doesn't end."""
    tried = replace(spec, train_batch=batch, accumulation=min(2, -(-spec.effective_batch // batch)))
    endless = replace(options, machine=replace(options.machine, memory_gb=ENDLESS))
    found = result_of(tried, run_steps(tried, options.steps), endless)
    return max([found.driver_peak, *(record.driver for record in found.steps)])


def work_of(spec: RunSpec, machine: VerifiedMac) -> StepWork:
    """Return the work of a mean step. Raises ReadError saying why it cannot be counted (no torch, unknown model, ...)."""
    options, spec = VerifyOptions(machine), replace(spec, evaluation=None)
    steps = work_steps(spec)
    found = result_of(spec, steps, options, "work")
    assert found.work is not None
    counted = [shape for step in steps[1 : 1 + STANDING] for shape in step]
    is_text = "S" in platform_data("models/tasks")[spec.task]["batch"].get("input_ids", ())
    tokens = sum(shape[0] * shape[1] for shape in counted) / STANDING if is_text else 0.0
    padded_to = int(platform_data("levers")["pad_to"])
    can_pad = spec.padding == "longest" and not spec.source.is_fixed and (spec.pad_to_multiple_of or 1) < padded_to
    padded = replace(spec, pad_to_multiple_of=padded_to)
    return replace(
        found.work,
        samples=spec.effective_batch,
        tokens=tokens,
        graphs_planned=_planned(found, spec),
        graphs_padded=_planned(result_of(padded, work_steps(padded), options, "work"), padded) if can_pad else 0,
        padded_to=padded_to if can_pad else 0,
        steps=spec.steps,
    )


def _planned(found: RunResult, spec: RunSpec) -> int:
    """Return the graphs that the whole run compiles, carried on from the second half of the steps that are known."""
    new = [record.new_graph_keys for record in found.steps if record.what == "train"]
    last = new[len(new) // 2 :]
    return found.graph_keys + int(sum(last) / len(last) * max(spec.steps - len(new), 0))
