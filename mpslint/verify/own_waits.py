"""How often the user's own code waits for the GPU in a training step, as `loss.item()` does: read from the file, nothing is run."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from mpslint.core.knowledge import platform_data
from mpslint.facts.values import Context
from mpslint.verify.reading import TrainingRun


def own_waits(run: TrainingRun, accumulation: int) -> float:
    """Return the waits of an optimizer step: those written beside `backward()` in the loop, or in a method that a Trainer calls each batch.

    What stands under a test of its own (`if step % 100 == 0`) is done now and then, and not counted.
    """
    table = platform_data("step_time")["written"]
    calls = run.evidence.facts.calls
    steps = {_place(call.context) for call in calls if call.method in table["steps"] and call.context.all_loops}
    found: dict[tuple[int, ...], set[int]] = defaultdict(set)
    for call in calls:
        place = _place(call.context)
        if call.method in table["waits"] and (place in steps or _is_called_each_batch(call.context, table["methods"])):
            found[place].add(id(call.node))
    return float(max(map(len, found.values()), default=0) * accumulation)  # two loops of a file are two runs


def _is_called_each_batch(context: Context, methods: Sequence[str]) -> bool:
    names = [getattr(function, "name", "") for function in context.functions[-1:]]
    return any(name in methods for name in names) and not context.loops and not context.guards


def _place(context: Context) -> tuple[int, ...]:
    """Return what a statement stands in: calls of functions, loops, and tests."""
    return tuple(map(id, (*context.functions, *context.loops, *(guard.test for guard in context.guards))))
