"""The steps of a watched run as CSV, in the columns that `mpslint diagnose` reads; a cell is empty where nothing was measured."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from mpslint.run.events import Observed
from mpslint.run.monitor import HEADER


@dataclass(slots=True)
class StepTable:
    """A CSV file that grows with the run, so that it is whole whenever the run ends. `path` None writes nothing."""

    path: Path | None
    _written: int = field(default=0)

    def update(self, observed: Observed) -> None:
        """Append the steps that aren't in the file yet. Raises OSError when it can't be written."""
        new = observed.steps[self._written :]
        if self.path is None or not new:
            return
        with self.path.open("a" if self._written else "w", encoding="utf-8") as stream:
            if not self._written:
                stream.write(HEADER)
            for step in new:
                cells = (step.number, step.seconds, step.live, step.driver, observed.recommended)
                stream.write(",".join("" if cell is None else str(cell) for cell in cells) + "\n")
        self._written += len(new)


def memory_log(observed: Observed) -> str:
    """Return the same table as text, for a diagnosis; '' where no memory was measured."""
    rows = [step for step in observed.steps if step.driver is not None]
    lines = [f"{s.number},{s.seconds},{s.live},{s.driver},{observed.recommended or ''}\n" for s in rows]
    return HEADER + "".join(lines) if lines else ""
