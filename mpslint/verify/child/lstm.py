"""nn.LSTM as one operator, as MPS has it: without values it would otherwise unroll into thousands of calls."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from mpslint.verify.emulator.operators import Coverage

GATES = 6
"""Numbers kept for each hidden unit and time step: four gates, the cell state, the layer's output."""


class _Lstm(torch.autograd.Function):
    """Makes the outputs and the saved state of an LSTM, and gradients of the right shapes."""

    @staticmethod
    def forward(ctx: Any, layout: tuple[int, int, int, int], source: Any, hidden: Any, cell: Any, *weights: Any) -> Any:
        layers, directions, steps, batch = layout
        width = hidden.shape[-1]
        shape = (*source.shape[:-1], width * directions)
        saved = source.new_empty((layers * directions, steps, batch, GATES * width))
        ctx.save_for_backward(source, hidden, cell, saved, *weights)
        return source.new_empty(shape), torch.empty_like(hidden), torch.empty_like(cell)

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        source, hidden, cell, _, *weights = ctx.saved_tensors
        return (None, torch.empty_like(source), torch.empty_like(hidden), torch.empty_like(cell), *map(torch.empty_like, weights))


def lstm_in_one(coverage: Coverage) -> Callable[..., Any]:
    """Return what answers `torch.lstm` for tensors of the device."""

    def answer(func: Any, args: Any, kwargs: Any) -> Any:
        source = args[0]
        if len(args) < 9 or not (isinstance(source, torch.Tensor) and source.is_meta) or not isinstance(args[1], (tuple, list)):
            return func(*args, **kwargs)
        hidden, cell = args[1]
        weights, layers, bidirectional, batch_first = args[2], args[4], args[7], args[8]
        coverage.see("lstm", (source, args[1], weights, args[3], layers, args[5], args[6]), {}, [source])
        steps, batch = (source.shape[1], source.shape[0]) if batch_first else (source.shape[0], source.shape[1])
        function: Any = _Lstm
        return function.apply((layers, 1 + int(bidirectional), steps, batch), source, hidden, cell, *weights)

    return answer
