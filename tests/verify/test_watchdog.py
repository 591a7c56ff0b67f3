"""What ends a run of foreign code before its limits do: a model that shows nothing of MPS."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import pytest

torch = pytest.importorskip("torch")

from mpslint.verify.child.clock import Clock  # noqa: E402
from mpslint.verify.child.run_script import BEFORE_MPS, BEFORE_STEPS, Watchdog  # noqa: E402
from mpslint.verify.emulator.memory import LiveMemory  # noqa: E402
from mpslint.verify.outcome import StepRecord  # noqa: E402


@dataclass
class Stage:
    """A run that is watched."""

    clock: Clock
    lines: dict[str, str] = field(default_factory=dict)

    def stop(self, why: str, line: str) -> None:
        """Do nothing."""

    def leave(self) -> None:
        """Do nothing."""


@pytest.fixture
def dogs() -> Iterator[list[Watchdog]]:
    """Collect watchdogs, whose hooks in torch are removed."""
    made: list[Watchdog] = []
    yield made
    for dog in made:
        dog.hook.remove()


def watched(dogs: list[Watchdog], memory: LiveMemory | None) -> Watchdog:
    """Return a watchdog over a run on the emulator, or without it on the CPU."""
    clock = Clock(20, 1e9, lambda done, total, record: None)
    clock.memory = memory
    dogs.append(Watchdog(Stage(clock), 0.0, 600.0, 0))
    return dogs[-1]


def test_a_model_that_stays_on_the_cpu_is_not_waited_for(dogs: list[Watchdog]) -> None:
    """An evaluation of one's own before the first step takes ten minutes on the CPU, and says nothing of MPS."""
    dog = watched(dogs, LiveMemory())
    later = BEFORE_MPS + 1

    assert not dog.shows_nothing(later), "data may take their time"
    torch.nn.Linear(2, 2)(torch.ones(1, 2))
    assert not dog.shows_nothing(BEFORE_MPS - 1)
    assert "nothing of it is on MPS" in dog.shows_nothing(later)
    assert dog.stage.clock.memory is not None
    dog.stage.clock.memory.peak = 4
    assert not dog.shows_nothing(later)


def test_values_are_not_waited_for_as_long_as_the_emulation(dogs: list[Watchdog]) -> None:
    """The run on the CPU is given up where it doesn't come to a step, and goes on once it has."""
    dog = watched(dogs, None)
    torch.nn.Linear(2, 2)(torch.ones(1, 2))

    assert not dog.shows_nothing(BEFORE_STEPS - 1)
    assert "no training step within 180 seconds" in dog.shows_nothing(BEFORE_STEPS + 1)
    dog.stage.clock.records.append(StepRecord(1))
    assert not dog.shows_nothing(BEFORE_STEPS + 1)
