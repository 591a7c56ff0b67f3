"""What memory is made of: each tensor is told by the part of the step that made it, its shape, and whether it stays."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from mpslint.verify.emulator.accumulate import in_backward

Birth = tuple[str, str, tuple[int, ...]]
"""The operator that made a tensor, the part of the step, the shape."""

FORWARD, BACKWARD, OPTIMIZER = "forward", "backward", "optimizer"
WEIGHTS, GRADIENTS = "weights", "gradients"
ACTIVATIONS, LOGITS, SCORES = "activations", "logits", "attention scores"


def part_of_step() -> str:
    """Return the part of a training step that is under way: clipping and the optimizer's step work without gradient."""
    return BACKWARD if in_backward() else FORWARD if torch.is_grad_enabled() else OPTIMIZER


def classify(births: Sequence[Birth], weights: frozenset[tuple[int, ...]]) -> list[str]:
    """Return the category of each birth; gradients have the shapes of the weights."""
    scores = {shape[-2:] for op, _, shape in births if op.startswith(("_softmax", "_safe_softmax")) and len(shape) == 4}
    classes = {shape[-1] for op, _, shape in births if op.startswith("_log_softmax")}
    found = []
    for _, phase, shape in births:
        if phase == OPTIMIZER:
            found.append(OPTIMIZER)
        elif phase == BACKWARD and shape in weights:
            found.append(GRADIENTS)
        elif len(shape) > 1 and shape[-1] in classes:
            found.append(LOGITS)
        elif len(shape) >= 3 and shape[-2:] in scores:
            found.append(SCORES)
        else:
            found.append(ACTIVATIONS)
    return found
