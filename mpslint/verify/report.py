"""What verify hands on: the runs, their verdicts, what was compared, and the words for how sure it is."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from mpslint.core.data import to_data
from mpslint.verify.driver_memory import driver_range, driver_ranges
from mpslint.verify.outcome import Check, RunResult, Status, Verdict, worst
from mpslint.verify.reading import FileReading
from mpslint.verify.spec import VerifiedMac

WORDS = {
    "driver memory": "all that Metal holds for the process: live tensors, and buffers and compiled graphs that PyTorch keeps",
    "live memory": "the tensors that are alive",
    "compiled graphs": "what PyTorch compiles for Metal, once for each operator and shape, and keeps",
}
"""What checks are about, explained where a reader first meets it."""


@dataclass(frozen=True, slots=True)
class VerifyReport:
    """One verify of one file: the run as written, as rewritten where there is a rewrite, and whether both train the same."""

    subject: str
    machine: VerifiedMac
    runs: tuple[RunResult, ...] = ()
    verdicts: tuple[Verdict, ...] = ()
    comparison: tuple[Check, ...] = ()
    """Whether the rewrite is the same training."""
    reading: FileReading | None = None
    """What the file says, where a file was read."""
    fits: str = ""
    """Which micro-batches fit the Mac, where the runs showed it."""
    is_planned: bool = False
    """Whether the runs were built from the settings that the code states, and the code itself was not run."""
    problem: str = ""
    """Why nothing was run, in one line."""
    seconds: float = 0.0

    @property
    def status(self) -> Status:
        """The worst answer: a run that passes only as it is rewritten fails as long as it is not."""
        if self.problem or not self.verdicts:
            return "not run"
        return worst([*(verdict.status for verdict in self.verdicts), *(check.status for check in self.comparison)])

    def exit_code(self, *, strict: bool = False) -> int:
        """0 pass, 1 fail, 3 not run; inconclusive is 0, or 1 when `strict`."""
        return {"pass": 0, "fail": 1, "not run": 3, "inconclusive": int(strict)}[self.status]

    @property
    def basis(self) -> str:
        """Return what the numbers rest on, in words that promise no more than was run."""
        backends = list(dict.fromkeys(run.backend for run in self.runs))
        if "mps" in backends:
            run = next(run for run in self.runs if run.backend == "mps")
            return f"measured on MPS ({run.versions.get('chip', 'Apple silicon')}, torch {run.versions.get('torch', '?')})"
        if "cuda" in backends:
            return "measured on CUDA: values and peaks of CUDA, not of MPS"
        if "emulated" in backends:
            values = " Values were computed on the CPU." if "cpu" in backends else ""
            built = " The run was built from the settings that were read; the file's own code was not run." if self.is_planned else ""
            said = f"emulated for torch {self.machine.torch}, not measured: memory and operators are predictions.{values}{built}"
            return f"{said} {self.tools}" if self.tools else said
        return f"values computed on the CPU; memory of MPS not measured. {self.tools}".rstrip() if backends else "nothing was run"

    @property
    def words(self) -> list[str]:
        """Return what the words mean that the checks use."""
        used = {check.name for verdict in self.verdicts for check in verdict.checks}
        return [f"{word}: {meaning}" for word, meaning in WORDS.items() if word in used]

    @property
    def tools(self) -> str:
        """Return what did the runs here: `Run with torch 2.13.0 and transformers 5.23.0.`, empty where it is not known."""
        known = next((run.versions for run in self.runs if run.versions), {})
        names = [f"{name} {known[name]}" for name in ("torch", "transformers") if name in known]
        return f"Run with {' and '.join(names)} installed here." if names else ""


def to_export(report: VerifyReport) -> dict[str, Any]:
    """Return a report as JSON holds it, with its status and basis spelled out, and driver memory as its least and its most."""
    data: dict[str, Any] = to_data(report)
    for run, told in zip(report.runs, data["runs"], strict=True):
        for driver, step in zip(driver_ranges(run), told["steps"], strict=True):
            step["driver"] = driver
        blocks = max([record.blocks for record in run.steps], default=-1)
        told["driver_peak"] = driver_range(run.driver_peak, blocks, run.backend)
    return {"schema": 1, "status": report.status, "basis": report.basis, **data}


COLUMNS = (
    "file", "run", "backend", "step", "what", "live_bytes", "tensor_bytes", "peak_bytes", "driver_least_bytes",
    "driver_most_bytes", "host_bytes", "resident_bytes", "new_keys", "new_graph_keys", "seconds", "loss", "gradient_norm", "shapes",
)  # fmt: skip


def as_json(reports: Sequence[VerifyReport]) -> str:
    """Return a report as indented JSON; several as a list of them."""
    data = [to_export(report) for report in reports]
    return json.dumps(data[0] if len(data) == 1 else data, indent=2, ensure_ascii=False) + "\n"


def as_csv(reports: Sequence[VerifyReport]) -> str:
    """Return one line for each step of each run; what is not known is empty."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(COLUMNS)
    for subject, run in ((report.subject, run) for report in reports for run in report.runs):
        for record, driver in zip(run.steps, driver_ranges(run), strict=True):
            live = (record.live, -1) if record.blocks < 0 else (record.blocks, record.live)
            memory = (record.peak, *driver, record.host, record.resident)
            numbers = (*live, *memory, record.new_keys, record.new_graph_keys, record.seconds)
            known = ["" if number < 0 else number for number in numbers]
            rest = ["" if value is None else value for value in (record.loss, record.gradient_norm)]
            writer.writerow([subject, run.name, run.backend, record.step, record.what, *known, *rest, record.shapes])
    return stream.getvalue()
