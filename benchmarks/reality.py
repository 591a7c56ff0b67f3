"""What verify predicts against what people reported from their Macs.

`python benchmarks/reality.py` rebuilds each report of benchmarks/reality/reports.yaml as a run, emulates it, prints predicted against
reported, worst first, and writes docs/reality.md (some minutes). `--only WORD` takes the reports whose name holds WORD and writes nothing.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from mpslint.core.data import from_data
from mpslint.core.knowledge import platform_data
from mpslint.verify.outcome import RunResult, StepRecord
from mpslint.verify.platform import limits_of
from mpslint.verify.process import ChildLimits
from mpslint.verify.script import ScriptOptions, verify_script
from mpslint.verify.spec import RunSpec, VerifiedMac
from mpslint.verify.verify import run_spec

ROOT = Path(__file__).parents[1]
FOLDER = Path(__file__).parent / "reality"
MIB = 2**20
NEAR = 0.2


@dataclass(frozen=True)
class Row:
    """One figure or outcome of a report, as reported and as predicted; `off` sorts the worst first."""

    name: str
    what: str
    reported: str
    predicted: str
    off: float
    is_right: bool
    source: str
    assumed: str


def emulated(report: Mapping[str, Any]) -> RunResult:
    """Return the emulated run of a report."""
    machine = machine_of(report)
    if "spec" in report:
        return run_spec(
            from_data(RunSpec, report["spec"]), ScriptOptions(machine, horizon=report["step"] + 100, limits=ChildLimits(seconds=900))
        )[0]
    steps, arguments = report["step"] + 2, tuple(report.get("arguments", ()))
    options = ScriptOptions(machine, "emulated", ChildLimits(seconds=900), steps=steps, arguments=arguments, plays=False)
    result = verify_script(FOLDER / report["script"], options)
    if not result.runs:
        raise SystemExit(f"{report['name']}: {result.problem}")
    return result.runs[0]


def machine_of(report: Mapping[str, Any]) -> VerifiedMac:
    """Return the Mac of a report."""
    return VerifiedMac(report["torch"], report["memory"], report.get("transformers", ""), report.get("accelerate", ""), "26")


def measured_rows(report: Mapping[str, Any]) -> Iterator[Row]:
    """Yield what `mpslint report --measurement` measured, beside what the mpslint that wrote it predicted for the same step."""
    predicted = {row["step"]: row for row in report["predicted"]["by_step"]}
    for row in report["by_step"]:
        for what in ("live", "driver"):
            if row["step"] in predicted and row[what]:
                reported, said = row[what] * MIB, predicted[row["step"]][what] * MIB
                off = abs(said / reported - 1)
                about = (report["source"], f"predicted by mpslint {report['predicted']['by']}")
                yield Row(f"{report['name']}, step {row['step']}", what, mib(reported), mib(said), off, off <= NEAR, *about)


def rows_of(report: Mapping[str, Any], result: RunResult) -> Iterator[Row]:
    """Yield what a report says, beside what the emulated run says at the same step."""
    trained = [record for record in result.steps if record.what == "train"]
    about = (report["source"], report.get("assumed", ""))
    at = trained[min(report["step"], len(trained)) - 1] if trained else None
    for what in ("live", "driver"):
        if what in report and at is not None:
            yield figure(report["name"], what, report[what] * MIB, at, about)
    if "outcome" in report:
        found = outcome(report, result, trained)
        died = f" at step {result.out_of_memory}" if result.out_of_memory else ""
        reported = f"{report['outcome']} at about step {report['step']}" if report["step"] > 100 else report["outcome"]
        is_right = found == report["outcome"]
        yield Row(report["name"], "outcome", reported, found + died, 0.0 if is_right else 9.0, is_right, *about)


def figure(name: str, what: str, reported: float, at: StepRecord, about: tuple[str, str]) -> Row:
    """Return a reported number of bytes beside the predicted one; small drivers are given as the range that verify gives."""
    table, heap = platform_data("retained"), platform_data("allocator")["extra_large_heap"]
    predicted = float(at.blocks if what == "live" else at.driver)
    off = abs(predicted / reported - 1)
    said, is_right = mib(predicted), off <= NEAR
    if what == "driver" and predicted < table["small_run"]:
        low, high = max(predicted - heap, at.blocks) + table["beyond"], predicted + heap + table["beyond"]
        said = f"{mib(predicted + table['beyond'])} (range {mib(low)} to {mib(high)})"
        off = abs((predicted + table["beyond"]) / reported - 1)
        is_right = off <= NEAR
    return Row(name, what, mib(reported), said, off, is_right, *about)


def outcome(report: Mapping[str, Any], result: RunResult, trained: list[StepRecord]) -> str:
    """Return what the emulated Mac does."""
    bounds = limits_of(machine_of(report))
    if result.out_of_memory or not trained:
        return "dies"
    return "swaps" if max(result.driver_peak, result.largest_peak) > bounds.recommended else "fits"


def mib(size: float) -> str:
    """Return bytes as MiB, or GiB where that reads better."""
    return f"{size / 2**30:.2f} GiB" if size >= 2**30 else f"{size / MIB:.1f} MiB"


def page(rows: list[Row]) -> str:
    """Return the page of the documentation."""
    figures = [row for row in rows if row.what != "outcome"]
    outcomes = [row for row in rows if row.what == "outcome"]
    near = sum(row.is_right for row in figures)
    right = sum(row.is_right for row in outcomes)
    lines = [
        "# What people reported, and what verify predicts",
        "",
        "Written by `benchmarks/reality.py`; do not edit.",
        "",
        "Each report was rebuilt as a small run and emulated on Linux; nothing here ran on a Mac of ours. Live and driver",
        "memory are those of `torch.mps`, read at the reported step. What a report leaves open is assumed, as its last column says.",
        f"{near} of {len(figures)} figures are within {NEAR:.0%}, {right} of {len(outcomes)} outcomes are right. The worst come first.",
        "Predicted driver memory below 2 GiB is the model's plus 24 MiB that the driver needs itself, a constant that was taken from",
        "six of the small models below; one heap of 1 GiB more or less decides there, so `verify` gives it as a range. The small",
        "models could hardly do other than fit: the outcomes that count are the other four.",
        "",
        "| run | what | reported | predicted | off | source | assumed |",
        "|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        off = f"{row.off:.0%}" if row.what != "outcome" else "" if row.is_right else "wrong"
        lines.append(f"| {row.name} | {row.what} | {row.reported} | {row.predicted} | {off} | {row.source} | {row.assumed} |")
    return "\n".join(lines) + "\n"


def main() -> int:
    """Emulate, print and write the page; return the exit code."""
    only = sys.argv[sys.argv.index("--only") + 1] if "--only" in sys.argv else ""
    rows: list[Row] = []
    for report in yaml.safe_load((FOLDER / "reports.yaml").read_text(encoding="utf-8")):
        if only.lower() in report["name"].lower():
            found = list(measured_rows(report) if "by_step" in report else rows_of(report, emulated(report)))
            rows += found
            for row in found:
                print(f"{row.name}: {row.what} reported {row.reported}, predicted {row.predicted}", flush=True)
    rows.sort(key=lambda row: -row.off)
    print(page(rows))
    if not only:
        (ROOT / "docs" / "reality.md").write_text(page(rows), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
