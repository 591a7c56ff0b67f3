"""From the records of a run to a verdict: one check for each question, each with its reason and its evidence."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import pairwise

from mpslint.core.knowledge import platform_data
from mpslint.target.macs import MemoryLimits
from mpslint.verify.driver_memory import check_driver
from mpslint.verify.outcome import RANK, Backing, Check, Kept, RunResult, Status, StepRecord, Verdict, peak_of, size, steps_in_words, worst
from mpslint.verify.platform import limits_of, precision_outcome
from mpslint.verify.spec import RunSpec, VerifiedMac
from mpslint.verify.trend import FLOOR, SHARE, TELLS, judge

CHURN = 1.0
"""New graph keys a step, in the last half, past which shapes never settle."""
MOST_STEPS = 1_000_000
"""Steps within which memory that grows must end, for the growth to matter where nobody knows how many steps the run takes."""
SETTLES = 200
"""Steps with which a run isn't too short to say that shapes never settle, even if new ones become fewer and fewer."""
RESTS = 5
"""Steps in a row with a learning rate of 0 that are no turn of a cyclic schedule."""


def decide(name: str, checks: Sequence[Check]) -> Verdict:
    """Return the verdict that some checks amount to: the worst of them, and the first reason for it."""
    never_ran = any(check.name == "starts" and check.status == "not run" for check in checks)
    told = [check.status for check in checks if check.status != "not run"]
    status = "not run" if never_ran else worst(told)
    ranked = sorted(checks, key=lambda check: RANK[check.status])
    reasons = [check.reason for check in ranked if check.status == status]
    reason = "every check passes" if status == "pass" else reasons[0] if reasons else "nothing was run"
    return Verdict(name, status, reason, tuple(ranked))


def check_run(result: RunResult, machine: VerifiedMac, spec: RunSpec | None, horizon: int) -> Iterator[Check]:
    """Yield the checks of one run; `horizon` is the number of optimizer steps that the user means to do."""
    bounds = limits_of(machine)
    trained = result.trained
    if result.out_of_memory > 1:
        yield Check("starts", "pass", f"{_took(result, trained, horizon)} before memory runs out")
    elif result.failure:
        yield Check("starts", "fail", result.failure, line=result.failure_line)
    elif result.stopped:
        status: Status = "inconclusive" if trained else "not run"
        yield Check("starts", status, f"the run was ended {result.stopped}, after {steps_in_words(len(trained))}", line=result.failure_line)
    elif not trained and not result.steps:
        yield Check("starts", "not run", "no training step was seen: no optimizer of torch.optim took one")
    elif _is_elsewhere(result, trained):
        steps = f"{len(trained)} optimizer steps ran without an exception"
        yield Check("device", "inconclusive", f"{steps}, but nothing of the run is on MPS: it trains on the CPU, on a Mac too")
        return
    else:
        yield Check("starts", "pass", f"{_took(result, trained, horizon)} without an exception")
    yield from _operators(result)
    if spec is not None:
        yield from _settings(result, spec, machine)
    growing = 0
    if len(trained) >= 2 and trained[0].live >= 0:
        live = _live(trained, horizon, result, bounds)
        growing = len(trained) if live.status != "pass" else 0
        yield live
    if trained and trained[-1].driver >= 0:
        for check in check_driver(trained[: max(horizon, 1)], _by_step(result, horizon), bounds, machine, horizon):
            yield _so_far(check, growing)
    if trained and trained[0].new_graph_keys >= 0:
        yield _graphs(trained, result, machine, horizon)
    yield from _evaluation(result, trained, bounds)
    if result.largest_peak >= 0:
        yield _so_far(_fits(result, bounds), growing)
    if result.untaken:
        what = "hand them to one, or freeze them with requires_grad_(False) if that is meant"
        yield Check("optimizer", "inconclusive", f"{result.untaken}: {what}", line=result.optimizer_line)
    yield from _sure(result)


def _is_elsewhere(result: RunResult, trained: Sequence[StepRecord]) -> bool:
    """Return whether an emulated run put nothing on the GPU, so that its memory and operators say nothing about MPS."""
    return result.backend == "emulated" and bool(trained) and result.largest_peak == 0 and not any(record.peak for record in trained)


def _took(result: RunResult, trained: Sequence[StepRecord], horizon: int) -> str:
    """Return how many steps ran, and how many more were played, up to the end of the run."""
    ran = min(result.ran or len(trained), len(trained))
    did = f"{steps_in_words(ran)} {'emulated' if result.backend == 'emulated' else f'run on {result.backend}'}"
    played = min(len(trained), horizon or ran) - ran
    return f"{did}, and {played} more played from their recordings," if played > 0 else did


def _operators(result: RunResult) -> Iterator[Check]:
    wrong = [trouble for trouble in result.troubles if trouble.severity == "error"]
    for trouble in wrong:
        yield Check("operators", "fail", trouble.message, line=trouble.line)
    if not wrong and result.steps:
        slow = tuple(Backing(trouble.name, trouble.message) for trouble in result.troubles)
        yield Check("operators", "pass", "every operator has an MPS kernel that takes its input", slow)


def _settings(result: RunResult, spec: RunSpec, machine: VerifiedMac) -> Iterator[Check]:
    """Yield what the spec's settings lead to on the machine, where no operator shows it."""
    if spec.precision != "no":
        outcome = precision_outcome(spec.precision_by, spec.precision, machine)
        if outcome.does == "works" and spec.precision == "fp16" and spec.optimizer.endswith("_fused") and spec.precision_by == "trainer":
            fused = precision_outcome("scaled_fused_step", "any", machine)
            outcome = outcome if fused.does == "works" else fused
        known = {name: getattr(machine, name) for name in ("torch", "transformers", "accelerate")}
        versions = ", ".join(f"{name} {text}" for name, text in known.items() if text)
        yield Check("precision", "pass" if outcome.does == "works" else "fail", f"{outcome.text} ({versions})")
    yield from _half_weights(result, spec)


def _half_weights(result: RunResult, spec: RunSpec) -> Iterator[Check]:
    """Yield what becomes of weights that are trained in half precision."""
    dtype = result.weights_dtype or spec.weights_dtype
    if spec.lora_rank or dtype not in ("float16", "bfloat16"):
        return
    loaded = "the checkpoint was published, and is loaded, in {0}: ask for float32. {1}" if spec.weights_dtype == "auto" else "{1}"
    if dtype == "float16":
        why = "the weights train in float16: AdamW's eps underflows to 0 and the first steps give NaN or infinity"
        yield Check("gradients", "fail", loaded.format(dtype, why))
    else:
        why = "the weights train in bfloat16: updates below 1/256 of a weight are lost, so it hardly moves"
        yield Check("gradients", "inconclusive" if spec.weights_dtype == "auto" else "fail", loaded.format(dtype, why))


def _live(trained: Sequence[StepRecord], horizon: int, result: RunResult, bounds: MemoryLimits) -> Check:
    values = [float(record.live) for record in trained]
    check = partial(Check, "live memory")
    if len(values) < 8:
        grows = all(after > before for before, after in pairwise(values))
        if grows and len(values) > 2 and (values[-1] - values[1]) / (len(values) - 2) * horizon > max(FLOOR, SHARE * values[-1]):
            return check("inconclusive", f"grows at each of {len(values)} steps; more are needed to tell a leak from a start")
        return check("pass", f"does not grow over {len(values)} steps")
    trend = judge(values, horizon)
    evidence = (Backing("after the first step", size(values[0])), Backing("after the last step", size(values[-1])))
    if trend.kind == "growth":
        said = f"grows by {size(trend.slope)} a step{_keeps(result.kept)}: that is {size(trend.projected)} more over "
        backing = (*evidence, Backing("growth a step", size(trend.slope)), *_kept(result.kept))
        return check("fail", f"{said}{_steps_of(result, horizon)}", backing, _first_rise(values), _keeper(result.kept))
    if trend.kind == "slowing":
        return check("inconclusive", f"grows, slower and slower: {size(trend.slope)} a step at the end; run more steps", evidence)
    if trend.kind == "short":
        return check("inconclusive", trend.reason, evidence)
    if trend.kind == "step":
        at, height = max(trend.jumps, key=lambda jump: jump[1])
        return check("fail", f"jumps by {size(height)} at step {at + 1} and stays there: something is kept", evidence, at + 1)
    longer = judge(values, MOST_STEPS)
    full = int((bounds.recommended - values[-1]) / longer.slope) if longer.kind == "growth" and not result.settings_steps else MOST_STEPS
    if 0 < full < MOST_STEPS:
        said = f"grows by {size(longer.slope)} a step{_keeps(result.kept)}: a {bounds.memory_gb} GB Mac is full at about step {full:,}, "
        said += "and how many steps the code takes isn't known"
        return check("inconclusive", said, (*evidence, *_kept(result.kept)), _first_rise(values), _keeper(result.kept))
    little = f"grows by {size(trend.slope)} a step: only {size(trend.projected)} more over {_steps_of(result, horizon)}"
    return check("pass", little if trend.slope >= 1 else f"flat over {len(values)} steps", evidence)


def _steps_of(result: RunResult, horizon: int) -> str:
    """Return the steps of a run in words, as what is assumed where nobody knows how many it takes."""
    return f"the {horizon} steps of the run" if result.settings_steps else f"{horizon} steps, if the run takes as many"


def _kept(kept: Sequence[Kept]) -> Iterator[Backing]:
    """Yield what stays alive of each step, by the line that makes it."""
    for one in kept:
        yield Backing("kept a step", f"{size(one.bytes_per_step)} made by `{one.source}` ({one.line})")


def _keeper(kept: Sequence[Kept]) -> str:
    """Return the line that keeps what stays alive, else the one that makes most of it."""
    return (kept[0].held_at or kept[0].line) if kept else ""


def _keeps(kept: Sequence[Kept]) -> str:
    """Return why memory grows from step to step."""
    if not kept:
        return " because tensors are kept"
    if kept[0].holder == kept[0].source:
        return f" because `{kept[0].holder}` at {kept[0].line} keeps more each time"
    by = f"`{kept[0].holder}` keeps" if kept[0].holder else "something keeps"
    return f" because {by} what `{kept[0].source}` at {kept[0].line} makes"


def _first_rise(values: Sequence[float]) -> int | None:
    return next((place + 2 for place, (before, after) in enumerate(pairwise(values)) if after > before and place), None)


def _by_step(result: RunResult, horizon: int) -> RunResult:
    """Return a run without what only happens after its last step: more steps are emulated than a short run takes."""
    trained = result.trained
    if not 0 < horizon < len(trained):
        return result
    out_of_memory = result.out_of_memory if result.out_of_memory <= horizon else 0
    return replace(result, out_of_memory=out_of_memory, driver_peak=max(record.driver for record in trained[:horizon]))


def _graphs(trained: Sequence[StepRecord], result: RunResult, machine: VerifiedMac, horizon: int) -> Check:
    new = [record.new_graph_keys for record in trained]
    last = new[len(new) // 2 :]
    rate = sum(last) / len(last)
    per_key = platform_data("graph_cache")["bytes_per_key"]
    planned = result.graph_keys + int(rate * max(horizon - len(new), 0))
    growth = (planned - result.graph_keys + sum(record.new_graph_keys for record in trained[len(trained) // 2 :])) * per_key
    evidence = (
        Backing("compiled graphs in the first step", str(trained[0].new_graph_keys)),
        Backing(f"compiled graphs after {len(trained)} steps", str(result.graph_keys)),
        Backing(f"new a step in the last half of {len(new)}", f"{rate:.1f}"),
        Backing(f"by the end of {horizon} steps", f"{planned} (about {size(planned * per_key)})"),
    )
    if len(trained) < 8:
        return Check("compiled graphs", "pass", f"{result.graph_keys} compiled graphs; too few steps for a rate", evidence)
    if rate > CHURN and growth > FLOOR:
        if len(new) < TELLS or (len(new) < SETTLES and _slows(new)):
            said = f"{rate:.1f} new compiled graphs a step still in the last half of {len(new)} steps: run more steps (--steps)"
            return Check("compiled graphs", "inconclusive", said, evidence)
        said = f"{rate:.1f} new compiled graphs a step still in the last half of {len(new)}: batch shapes keep changing, and torch "
        return Check("compiled graphs", "fail", f"{said}{machine.torch} keeps a graph for each", evidence)
    said = f"{rate:.1f} new a step, about {size(planned * per_key)} by the end" if rate > CHURN else "they settle"
    return Check("compiled graphs", "pass", f"{result.graph_keys} compiled graphs; {said}", evidence)


def _slows(new: Sequence[float]) -> bool:
    """Return whether fewer and fewer graphs are new: in the last quarter at most half as many as in the second one."""
    quarter = len(new) // 4
    return sum(new[-quarter:]) <= sum(new[quarter : 2 * quarter]) / 2


def _so_far(check: Check, growing: int) -> Check:
    """Return a check of memory; one that passes in `growing` steps, from step to step of which something more is kept, answers nothing."""
    return replace(check, status="not run", reason=f"in {growing} steps {check.reason}") if growing and check.status == "pass" else check


def _fits(result: RunResult, bounds: MemoryLimits) -> Check:
    peak = result.largest_peak
    parts = result.composition.parts if result.composition is not None else {}
    evidence = tuple(Backing(name, size(value)) for name, value in sorted(parts.items(), key=lambda part: -part[1]))
    mac = f"a {bounds.memory_gb} GB Mac, which recommends at most {size(bounds.recommended)}"
    if peak > bounds.high:
        return Check("fits", "fail", f"the peak of {peak_of(result)} does not fit {mac} and raises at {size(bounds.high)}", evidence)
    if peak > bounds.recommended:
        return Check("fits", "fail", f"the peak of {peak_of(result)} does not fit {mac}: it swaps", evidence)
    if result.out_of_memory:
        return Check("fits", "not run", f"the peak is {peak_of(result)}: memory ran out before it was known", evidence)
    return Check("fits", "pass", f"the peak of {peak_of(result)} fits {mac}", evidence)


def _evaluation(result: RunResult, trained: Sequence[StepRecord], bounds: MemoryLimits) -> Iterator[Check]:
    between = [record for record in result.steps if record.what != "train"]
    if not between or not trained:
        return
    top = max(between, key=lambda record: max(record.peak, record.driver) + record.host)
    need = max(top.peak, 0) + top.host
    plain = max(record.peak for record in trained)
    evidence = (
        Backing("peak in training", size(plain)),
        Backing(f"peak in {top.what}", size(top.peak)),
        Backing("kept in the process's own memory", size(top.host)),
    )
    whole = bounds.memory_gb * 2**30 - bounds.reserve
    name = "evaluation" if top.what == "evaluate" else "generation"
    if top.peak > bounds.recommended and plain <= bounds.recommended:
        said = f"{name} needs {size(top.peak)} at its peak, training {size(plain)}{_why(top, result.kept_of_batches)}"
        yield Check(name, "fail", said, evidence, top.step, _keeper(result.kept_of_batches))
    elif need > whole:
        said = f"{name} collects {size(top.host)} in memory beside {size(top.peak)}{_why(top, ())}"
        yield Check(name, "fail", said, evidence, top.step)
    else:
        yield Check(name, "pass", f"{name} peaks at {size(top.peak)}", evidence)


def _why(record: StepRecord, kept: Sequence[Kept]) -> str:
    if kept and kept[0].holder:
        return f",{_keeps(kept)}"
    return ": the logits of every batch are kept" if record.what == "evaluate" else ": the generation limit is too long for its batch"


def _sure(result: RunResult) -> Iterator[Check]:
    if result.uncertain and result.backend == "emulated":
        said = "; ".join(dict.fromkeys(result.uncertain))
        yield Check("certainty", "pass", f"emulated tensors carry no values, and the run asks for some: {said}")


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
