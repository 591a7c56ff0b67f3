"""How much `mpslint run` costs a training step: CPU time of the probe's own work, against a step of 50 ms.

    python benchmarks/run_overhead.py

A model of 60 modules is stepped with and without the probe, in turn, so that both meet the same machine; the median difference a step is
printed, with what it is of 50 ms. Reading `torch.mps` memory isn't part of it, because only a Mac can measure that.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Callable
from typing import Any

import torch

from mpslint.run.probe import Probe

STEPS, ROUNDS = 50, 20
STEP_SECONDS = 0.05


def model() -> torch.nn.Module:
    """Return a model with many small modules, so that the probe's hooks weigh as much as they can."""
    return torch.nn.Sequential(*(torch.nn.Linear(8, 8) for _ in range(60)))


def seconds_of(module: torch.nn.Module, optimizer: Any, after: Callable[[Any], object]) -> float:
    """Return the CPU seconds of one round of steps; every 50th of them is looked at closer."""
    start = time.process_time()
    for number in range(STEPS):
        module(torch.ones(1 + number % 4, 8)).sum().backward()
        optimizer.step()
        after(optimizer)
        optimizer.zero_grad()
    return time.process_time() - start


def main() -> None:
    """Measure and print."""
    torch.set_num_threads(1)
    module = model()
    optimizer = torch.optim.SGD(module.parameters(), lr=1e-3)
    differences = []
    with tempfile.TemporaryDirectory() as folder:
        probe = Probe(folder)
        for _ in range(ROUNDS):
            if probe.looks is not None:
                probe.looks.stop()
            without = seconds_of(module, optimizer, lambda _: None)
            if probe.looks is not None:
                probe.looks.resume()
            differences.append((seconds_of(module, optimizer, probe.stepped) - without) / STEPS)
        assert probe.count == STEPS * ROUNDS
    cost = statistics.median(differences)
    print(f"{cost * 1e6:.0f} us a step, {cost / STEP_SECONDS:.2%} of a step of {STEP_SECONDS * 1000:.0f} ms")


if __name__ == "__main__":
    main()
