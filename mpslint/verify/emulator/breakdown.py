"""What memory is made of: each tensor is told by the part of the step that made it, its shape, and whether it stays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

Birth = tuple[str, str, tuple[int, ...]]
"""The operator that made a tensor, the part of the step, the shape."""

WEIGHTS, GRADIENTS, OPTIMIZER = "weights", "gradients", "optimizer"
ACTIVATIONS, LOGITS, SCORES, BATCH = "activations", "logits", "attention scores", "batch"


@dataclass(frozen=True, slots=True)
class Classes:
    """By what logits and gradients are recognised: the size of the vocabulary, and the shapes of the weights."""

    vocabulary: int | None
    weights: frozenset[tuple[int, ...]]


def classify(births: Sequence[Birth], gradients: set[int], classes: Classes) -> list[str]:
    """Return the category of each birth; `gradients` are the places of those that stay as gradients."""
    scores = {shape[-2:] for op, _, shape in births if op.startswith(("_softmax", "_safe_softmax")) and len(shape) == 4}
    found = []
    for place, (_, phase, shape) in enumerate(births):
        if place in gradients:
            found.append(GRADIENTS)
        elif phase == "batch":
            found.append(BATCH)
        elif phase == "optimizer":
            found.append(OPTIMIZER)
        elif classes.vocabulary is not None and len(shape) > 1 and shape[-1] == classes.vocabulary:
            found.append(LOGITS)
        elif phase == "backward" and shape in classes.weights:
            found.append(GRADIENTS)
        elif len(shape) >= 3 and shape[-2:] in scores:
            found.append(SCORES)
        else:
            found.append(ACTIVATIONS)
    return found
