"""Whether the losses are what a training should give."""

from __future__ import annotations

import math

from mpslint.verify.outcome import Backing, Check, RunResult

RESTS = 5
"""Steps in a row with a learning rate of 0 that are no turn of a cyclic schedule."""


def alone(run: RunResult, emulated: RunResult | None = None) -> Check:
    """Return whether the losses of one run are finite, and whether it learns; `emulated` is the same run, maybe of more steps."""
    losses = [record.loss for record in run.trained if record.loss is not None]
    evidence = (Backing("losses", ", ".join(f"{loss:.4f}" for loss in losses[:8])),)
    bad = next((place for place, loss in enumerate(losses, start=1) if not math.isfinite(loss)), None)
    half = f"; the weights train in {run.weights_dtype}, which holds 6e-8 to 65,504 only" if run.weights_dtype == "float16" else ""
    first = f"; the first gradient that isn't finite is that of {run.wrong}{half}" if run.wrong else half
    first, where = f": {run.origin}{first}" if run.origin else first, run.loss_line or run.optimizer_line
    if bad is not None:
        return Check("values", "fail", f"the loss is {losses[bad - 1]} at step {bad}{first}", evidence, bad, where)
    lost = next((record.step for record in run.steps if record.gradient_norm is not None and not math.isfinite(record.gradient_norm)), None)
    if lost is not None:
        return Check("values", "fail", f"the gradient is not finite at step {lost}{first}", evidence, lost, where)
    steps = f"{len(losses)} step{'' if len(losses) == 1 else 's'}"
    if run.moved is False and run.learning_rate == 0 and emulated is not None and emulated.learning_rate > 0:
        return Check("values", "not run", f"the learning rate is still 0 in {steps} on the CPU, and isn't later", evidence)
    if run.moved is False:
        has_gradients = any(record.gradient_norm for record in run.steps)
        why = "is 0" if run.learning_rate == 0 else "is too small, or nothing is trained"
        why = f"the learning rate {why}" if has_gradients or run.learning_rate == 0 else "no weight of the optimizer has a gradient"
        return Check("values", "fail", f"no weight changes its value: {why}", evidence, line=run.optimizer_line)
    if run.rested >= RESTS:
        start = len(run.trained) - run.rested + 1
        said = f"the learning rate is 0 from step {start} on, and the optimizer changes no weight any more"
        return Check("values", "fail", said, evidence, line=run.optimizer_line)
    if run.carried_at:
        said = "the gradients aren't reset: each step takes those of all steps before it, too. Call zero_grad() before the backward pass"
        return Check("values", "fail", said, evidence, line=run.carried_at)
    if not losses:
        return Check("values", "not run", f"no loss was seen; the run was ended {run.stopped}" if run.stopped else "no loss was seen")
    if _diverges(losses):
        said = f"the loss rises from {losses[0]:.3f} to {losses[-1]:.3f} in {steps}: it diverges"
        return Check("values", "fail", said, evidence)
    return Check("values", "pass", f"the loss is finite in {steps} and the weights move", evidence)


def _diverges(losses: list[float]) -> bool:
    """Return whether losses explode: those that rise once and stay, as a contrastive loss does while its queue fills, don't.

    Losses of games and policies rise and change their sign in sound trainings.
    """
    half = losses[: len(losses) // 2]
    return len(losses) > 3 and losses[0] > 0 and losses[-1] > max(10 * losses[0], losses[0] + 5, 2 * max(half))
