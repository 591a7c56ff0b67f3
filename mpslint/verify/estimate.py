"""What a planned run needs: the peak of a step, the largest micro-batch that each Mac takes, the work of a step."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from mpslint.core.knowledge import platform_data
from mpslint.estimate.step import StepWork
from mpslint.target.macs import macs
from mpslint.verify.job import STANDING
from mpslint.verify.outcome import Estimate, RunResult
from mpslint.verify.shapes import worst_shape
from mpslint.verify.spec import RunSpec, VerifiedMac
from mpslint.verify.verify import VerifyOptions, result_of, sized_steps, work_steps


def estimate_spec(spec: RunSpec, machine: VerifiedMac | None = None, sizes: Sequence[int] = (), *, only_kept: bool = False) -> Estimate:
    """Return the estimate of one run. Raises ReadError saying why, when it cannot be made (no torch, unknown model, ...)."""
    options = VerifyOptions(machine or VerifiedMac())
    spec = replace(spec, evaluation=None)
    found = result_of(spec, sized_steps(spec), options, "fit", tuple(sizes) or macs().listed, only_kept=only_kept)
    assert found.composition is not None
    longest = " x ".join(map(str, worst_shape(spec)[1:]))
    notes = (f"for samples of {longest}",) if longest else ()
    return Estimate(spec.name, found.composition, found.parameters, spec.train_batch, found.fits, notes)


def work_of(spec: RunSpec, machine: VerifiedMac, *, only_kept: bool = False) -> StepWork:
    """Return the work of a mean step. Raises ReadError saying why it cannot be counted (no torch, unknown model, ...)."""
    options, spec = VerifyOptions(machine), replace(spec, evaluation=None)
    steps = work_steps(spec)
    found = result_of(spec, steps, options, "work", only_kept=only_kept)
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
        graphs_padded=_planned(result_of(padded, work_steps(padded), options, "work", only_kept=only_kept), padded) if can_pad else 0,
        padded_to=padded_to if can_pad else 0,
        steps=spec.steps,
    )


def _planned(found: RunResult, spec: RunSpec) -> int:
    """Return the graphs that the whole run compiles, carried on from the second half of the steps that are known."""
    new = [record.new_graph_keys for record in found.steps if record.what == "train"]
    last = new[len(new) // 2 :]
    return found.graph_keys + int(sum(last) / len(last) * max(spec.steps - len(new), 0))
