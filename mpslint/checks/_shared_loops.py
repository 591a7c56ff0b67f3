"""Loops of functions that train by one call and evaluate by another: `if train: loss.backward()`."""

from __future__ import annotations

from mpslint.facts.values import Call, Context, Loop
from mpslint.program.walk import walk
from mpslint.settings.evidence import Evidence

TAKES_GRADIENTS = frozenset(["backward", "manual_backward"])


def evaluates_without_backward(loop: Loop, context: Context, evidence: Evidence) -> bool:
    """Return whether a loop takes no gradients in the call that a context is of, but does in another call of its function."""
    if not context.calls or context.calls[-1] is None:
        return False
    backward = _backward_calls(evidence).get(id(loop), [])
    taken = [call for call in backward if call.context.calls[: len(context.calls)] == context.calls]
    return bool(backward) and not taken


def calls_backward(loop: Loop, evidence: Evidence) -> bool:
    """Return whether a loop takes gradients in a function that it calls."""
    entered: set[int] | None = evidence.memo.get("calls that take gradients")
    if entered is None:
        backward = [call for call in evidence.facts.calls if call.method in TAKES_GRADIENTS]
        entered = {id(node) for call in backward for node in call.context.calls if node is not None}
        evidence.memo["calls that take gradients"] = entered
    return bool(entered) and any(id(node) in entered for node in walk(loop))


def _backward_calls(evidence: Evidence) -> dict[int, list[Call]]:
    """Return the calls that take gradients, by the loops that they are in."""
    found: dict[int, list[Call]] = evidence.memo.setdefault("backward calls by loop", {})
    if not found:
        for call in evidence.facts.calls:
            if call.method in TAKES_GRADIENTS:
                for loop in call.context.loops:
                    found.setdefault(id(loop), []).append(call)
    return found
