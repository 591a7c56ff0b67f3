"""Whether the losses are what a training should give, and whether the rewrite gives the same."""

from __future__ import annotations

import math
from collections.abc import Sequence

from mpslint.verify.outcome import Backing, Check, RunResult

TOLERANCE = 2e-3
"""Relative difference of losses that the order of additions explains, in float32."""
MEAN_TOLERANCE = 3e-2
"""The same for models that average over each micro-batch: micro-batches with few labels then weigh as much as those
with many."""


def judge_values(runs: Sequence[RunResult]) -> tuple[list[list[Check]], list[Check]]:
    """Return the checks of each run by itself, and those that compare the second with the first."""
    return [[alone(run), *troubled(run)] for run in runs], [same(runs[0], runs[1])] if len(runs) == 2 else []


def troubled(run: RunResult) -> list[Check]:
    """Return what computing the values of a run itself found wrong."""
    return [Check(trouble.name, "fail", trouble.message) for trouble in run.troubles if trouble.severity == "error"]


def alone(run: RunResult) -> Check:
    """Return whether the losses of one run are finite, and whether it learns."""
    losses = [record.loss for record in run.steps if record.what == "train" and record.loss is not None]
    evidence = (Backing("losses", ", ".join(f"{loss:.4f}" for loss in losses[:8])),)
    bad = next((place for place, loss in enumerate(losses, start=1) if not math.isfinite(loss)), None)
    if bad is not None:
        return Check("values", "fail", f"the loss is {losses[bad - 1]} at step {bad}", evidence, bad)
    lost = next(
        (record.step for record in run.steps if record.gradient_norm is not None and not math.isfinite(record.gradient_norm)),
        None,
    )
    if lost is not None:
        return Check("values", "fail", f"the gradient is not finite at step {lost}", evidence, lost)
    if run.moved is False:
        return Check(
            "values",
            "fail",
            "no weight changes its value: the learning rate is too small, or nothing is trained",
            evidence,
        )
    if not losses:
        return Check("values", "not run", f"no loss was seen; the run was ended {run.stopped}" if run.stopped else "no loss was seen")
    if _diverges(losses):
        return Check(
            "values",
            "fail",
            f"the loss rises from {losses[0]:.3f} to {losses[-1]:.3f} in {len(losses)} steps: it diverges",
            evidence,
        )
    steps = f"{len(losses)} step{'' if len(losses) == 1 else 's'}"
    return Check("values", "pass", f"the loss is finite in {steps} and the weights move", evidence)


def _diverges(losses: list[float]) -> bool:
    """Return whether losses explode: those that rise once and stay, as a contrastive loss does while its queue fills, don't.

    Losses of games and policies rise and change their sign in sound trainings.
    """
    half = losses[: len(losses) // 2]
    return len(losses) > 3 and losses[0] > 0 and losses[-1] > max(10 * losses[0], losses[0] + 5, 2 * max(half))


def same(before: RunResult, after: RunResult) -> Check:
    """Return whether two runs give the same losses within the tolerance."""
    pairs = [
        (old.step, old.loss, new.loss)
        for old, new in zip(before.steps, after.steps, strict=False)
        if old.loss is not None and new.loss is not None
    ]
    if not pairs:
        return Check("same training", "not run", "there are no losses to compare")
    apart = [(abs(old - new) / max(abs(old), 1e-6), step, old, new) for step, old, new in pairs]
    worst, step, old, new = max(apart, key=lambda item: item[0] if math.isfinite(item[0]) else math.inf)
    evidence = (
        Backing("losses before", ", ".join(f"{old:.4f}" for _, old, _ in pairs[:8])),
        Backing("losses after", ", ".join(f"{new:.4f}" for _, _, new in pairs[:8])),
    )
    notes = tuple(Backing("note", f"{run.name}: {note}") for run in (before, after) for note in run.notes[1:])
    is_mean = bool(before.uncertain or after.uncertain)
    if math.isfinite(worst) and worst <= (MEAN_TOLERANCE if is_mean else TOLERANCE):
        why = ", because each micro-batch is averaged by itself" if worst > TOLERANCE else ""
        said = f"the losses before and after differ by at most {worst * 100:.3f} % on a reduced model on the CPU{why}"
        return Check("same training", "pass", said, (*evidence, *notes))
    return Check(
        "same training",
        "fail",
        f"the losses differ by {worst * 100:.2f} % at step {step} ({old:.4f} before, {new:.4f} after)",
        (*evidence, *notes),
        step,
    )
