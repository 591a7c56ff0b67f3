"""What a training step does, counted operator by operator, apart from any machine."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Operators:
    """Operators of a step that do the same: how many, and what one of them does."""

    kind: str
    """matmul, attention, convolution, elementwise, ...: `kinds` of `rules/platform/step_time.yaml`."""
    part: str
    """Under what a report counts their time: matmul, attention, convolution, memory, optimizer."""
    dtype: str
    flop: float
    """2 per multiply-add; 0 for operators that are bound by memory."""
    moved: float
    """Bytes read and written."""
    count: float
    """A mean over the steps that were recorded, so not always whole."""


@dataclass(frozen=True, slots=True)
class Fallback:
    """An operator that runs on the CPU: how often in a step, and the bytes that are copied there and back each time."""

    name: str
    count: float
    moved: float


@dataclass(frozen=True, slots=True)
class StepWork:
    """One optimizer step: all its micro-batches and the optimizer. Means over steps of the run's own lengths."""

    operators: tuple[Operators, ...]
    samples: int
    """Samples that go into one optimizer step."""
    tokens: float = 0.0
    """Tokens of their inputs, padding included; 0 where samples are not made of tokens."""
    waits: float = 0.0
    """How often the program waits for the GPU."""
    graphs_first: int = 0
    """Graphs that the first step compiles."""
    graphs_planned: int = 0
    """Graphs that the whole run compiles."""
    graphs_padded: int = 0
    """The same, if lengths were padded to the multiple `padded_to`; 0 where that changes nothing."""
    padded_to: int = 0
    fallbacks: tuple[Fallback, ...] = ()
    """Operators that run on the CPU."""

    @property
    def flop(self) -> float:
        """FLOP of the step."""
        return sum(one.flop * one.count for one in self.operators)

    @property
    def moved(self) -> float:
        """Bytes that the step reads and writes."""
        return sum(one.moved * one.count for one in self.operators)

    @property
    def launches(self) -> float:
        """Operators that the step starts."""
        return sum(one.count for one in self.operators)
