"""The parts of a report for an issue; `mpslint.report.issue` writes them as Markdown, scrubbed."""

from __future__ import annotations

from dataclasses import dataclass

from mpslint.core.finding import Finding
from mpslint.diagnose.diagnosis import Diagnosis
from mpslint.doctor import Examination


@dataclass(frozen=True, slots=True)
class RunMemory:
    """What one run of `verify` needed: amounts in bytes at its first and its last step, and its peak."""

    name: str
    backend: str
    steps: int
    live: tuple[int, int]
    driver: str
    """In words: from the first to the last step, of a small run between what it lies on a Mac."""
    peak: int


@dataclass(frozen=True, slots=True)
class IssueReport:
    """Everything that an issue should hold; what was not made is None or empty.

    `tail` is the end of the log, for a text that mpslint does not know. `names` and the `home` folder are taken out
    wherever they stand. Each of the `findings` has its place in words (`train.ipynb, cell 12, line 7`) before it. `settings` are rows
    of a run, a setting, its value and its place; `mistakes` tracebacks of mpslint's own.
    """

    examination: Examination
    diagnosis: Diagnosis | None = None
    findings: tuple[tuple[str, Finding], ...] = ()
    runs: tuple[RunMemory, ...] = ()
    tail: str = ""
    names: tuple[str, ...] = ()
    home: str = ""
    settings: tuple[tuple[str, str, str, str], ...] = ()
    mistakes: tuple[str, ...] = ()
