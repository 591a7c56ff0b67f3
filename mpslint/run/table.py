"""The steps of a watched run as CSV, in the columns that `mpslint diagnose` reads; a cell is empty where nothing was measured."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from mpslint.run.events import Observed, Step

HEADER = "step,seconds,live_bytes,driver_bytes,recommended_bytes,phase\n"
"""`phase` is what was done between the step before and this one."""


@dataclass(slots=True)
class StepTable:
    """A CSV file that grows with the run, so that it is whole whenever the run ends. `path` None writes nothing."""

    path: Path | None
    _written: int = field(default=0)
    """The number of the last step that is in the file."""

    def update(self, observed: Observed) -> None:
        """Append the steps that aren't in the file yet. Raises OSError when it can't be written."""
        if self.path is None or observed.last_number <= self._written:
            return
        new = [step for step in observed.steps[self._written - observed.last_number :] if step.number > self._written]
        with self.path.open("a" if self._written else "w", encoding="utf-8") as stream:
            if not self._written:
                stream.write(HEADER)
            stream.writelines(_row(observed, step) for step in new)
        self._written = new[-1].number


def memory_log(observed: Observed) -> str:
    """Return the same table as text, for a diagnosis; '' where no memory was measured."""
    rows = [step for step in observed.steps if step.driver is not None]
    return HEADER + "".join(_row(observed, step) for step in rows) if rows else ""


def _row(observed: Observed, step: Step) -> str:
    cells = (step.number, step.seconds, step.live, step.driver, observed.recommended, observed.marks.get(step.number - 1))
    return ",".join("" if cell is None else str(cell) for cell in cells) + "\n"
