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
from mpslint.verify.script import ScriptOptions
from mpslint.verify.spec import RunSpec, VerifiedMac, train_shapes, worst_shape
from mpslint.verify.verify import result_of, run_steps, work_steps

SHOWN = 20
"""Steps that show whether the shapes of batches vary."""
ENDLESS = 4096
"""GB of a Mac on which no memory ends."""


def estimate_spec(spec: RunSpec, machine: VerifiedMac) -> Estimate:
    """Return the estimate of one run. Raises ReadError saying why, when it cannot be made (no torch, unknown model, ...)."""
    options = ScriptOptions(machine, "emulated")
    spec = replace(spec, evaluation=None)
    sized = replace(spec, accumulation=min(2, spec.accumulation))  # gradients are kept for the second micro-batch as for all others
    fitting = replace(options, aim="fit", sizes=macs_asked(machine))
    found = result_of(sized, [[worst_shape(sized)] * sized.accumulation] * SHOWN, fitting)
    longest = " x ".join(map(str, worst_shape(spec)[1:]))
    notes = (f"for samples of {longest}",) if longest else ()
    estimate = replace(estimate_of(found), name=spec.name, notes=notes)
    if len({shape for step in train_shapes(spec, SHOWN) for shape in step}) > 1 and not heap_rules(machine.torch).coalesces:
        estimate = replace(estimate, fits=tuple(_with_buffers(fit, spec, options) for fit in estimate.fits))
    return estimate


def macs_asked(machine: VerifiedMac) -> tuple[int, ...]:
    """Return the Macs that an estimate tells of, by GB of memory."""
    return tuple(sorted({*macs().listed, machine.memory_gb}))


def estimate_of(run: RunResult) -> Estimate:
    """Return the estimate of a run that showed which micro-batches fit."""
    assert run.composition is not None
    return Estimate(run.name, run.composition, run.parameters, run.batch, run.fits)


def estimate_of_code(run: RunResult, machine: VerifiedMac) -> Estimate:
    """Return the estimate of own code, by the longest of its batches; where torch keeps buffers of all their sizes, tensors say only what
    doesn't fit."""
    keeps = run.shapes > 1 and not heap_rules(machine.torch).coalesces
    fits = tuple(fit.of_tensors for fit in run.fits) if keeps else run.fits
    return replace(estimate_of(run), fits=fits, notes=("for the longest of its batches",))


def _with_buffers(fit: Fit, spec: RunSpec, options: ScriptOptions) -> Fit:
    """Return how a Mac takes a run of which torch keeps freed buffers of ever new sizes. For the Mac that is meant, runs of halved batches
    say it; for others the tensors say only what doesn't fit.
    """
    if fit.memory_gb != options.machine.memory_gb:
        return fit.of_tensors
    batch = most = spec.train_batch << (spec.accumulation.bit_length() - 1)
    while batch and (batch > fit.largest_batch or _held(batch, spec, options) > FULL * limits_of(options.machine).low):
        batch //= 2
    status = fit.status if spec.train_batch <= batch else "too big"
    return replace(fit, largest_batch=batch, status=status, bound="at least " if batch == most < fit.largest_batch else "")


def _held(batch: int, spec: RunSpec, options: ScriptOptions) -> int:
    """Return the driver memory that a run with other micro-batches comes to, in bytes, where the Mac's memory doesn't end."""
    tried = replace(spec, train_batch=batch, accumulation=min(2, -(-spec.effective_batch // batch)))
    endless = replace(options, machine=replace(options.machine, memory_gb=ENDLESS))
    found = result_of(tried, run_steps(tried, options.horizon), endless)
    return max([found.driver_peak, *(record.driver for record in found.steps)])


def work_of(spec: RunSpec, machine: VerifiedMac) -> StepWork:
    """Return the work of a mean step. Raises ReadError saying why it cannot be counted (no torch, unknown model, ...)."""
    options, spec = ScriptOptions(machine=machine, backend="emulated", aim="work"), replace(spec, evaluation=None)
    steps = work_steps(spec)
    found = result_of(spec, steps, options)
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
        graphs_planned=_planned(found, spec.steps),
        graphs_padded=_planned(result_of(padded, work_steps(padded), options), padded.steps) if can_pad else 0,
        padded_to=padded_to if can_pad else 0,
    )


def work_of_code(run: RunResult) -> StepWork | None:
    """Return the work of a mean step of own code, with the graphs of its whole run; None where it wasn't counted."""
    return replace(run.work, graphs_planned=_planned(run, run.settings_steps)) if run.work is not None else None


def _planned(found: RunResult, steps: int) -> int:
    """Return the graphs that the whole run compiles, carried on from the second half of the steps that are known."""
    new = [record.new_graph_keys for record in found.trained]
    last = new[len(new) // 2 :]
    return found.graph_keys + int(sum(last) / max(len(last), 1) * max(steps - len(new), 0))
