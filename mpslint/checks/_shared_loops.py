"""Loops of functions that train by one call and evaluate by another: `if train: loss.backward()`."""

from __future__ import annotations

from mpslint.facts.values import Call, Context, Loop
from mpslint.settings.evidence import Evidence

TAKES_GRADIENTS = frozenset(["backward", "manual_backward"])


def evaluates_without_backward(loop: Loop, context: Context, evidence: Evidence) -> bool:
    """Return whether a loop takes no gradients in the call that a context is of, but does in another call of its function."""
    if not context.calls or context.calls[-1] is None:
        return False
    backward = _backward_calls(evidence).get(id(loop), [])
    taken = [call for call in backward if call.context.calls[: len(context.calls)] == context.calls]
    return bool(backward) and not taken


def _backward_calls(evidence: Evidence) -> dict[int, list[Call]]:
    """Return the calls that take gradients, by the loops that they are in."""
    found: dict[int, list[Call]] = evidence.memo.setdefault("backward calls by loop", {})
    if not found:
        for call in evidence.facts.calls:
            if call.method in TAKES_GRADIENTS:
                for loop in call.context.loops:
                    found.setdefault(id(loop), []).append(call)
    return found
