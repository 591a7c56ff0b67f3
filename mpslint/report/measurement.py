"""A Mac's numbers as YAML, in the entries of `benchmarks/reality/reports.yaml` and `benchmarks/step_time_points.yaml`.

Only numbers and words from closed lists go in: no name of a file, a folder, a model or a person.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from mpslint import __version__
from mpslint.core.grouped import grouped
from mpslint.core.knowledge import yaml_text
from mpslint.core.versions import format_version
from mpslint.doctor.machine import ThisMachine
from mpslint.estimate.step import Operators, StepWork
from mpslint.estimate.timing import Chip, StepTime
from mpslint.verify.last import MeasuredRun, MemoryAt

MIB = 2**20
HEAD = f"""\
# Measured by mpslint {__version__} on a Mac. No name of a file, a folder, a model or a person is in it.
# docs/contributing.md says how an entry becomes data. Memory is in MiB, times are in seconds.
"""


@dataclass(frozen=True, slots=True)
class Predicted:
    """What mpslint says of the same script: the work of a step, its time on this chip, the live peak in bytes (-1 where that isn't
    known), and the memory by step of the last verify."""

    work: StepWork | None = None
    time: StepTime | None = None
    peak: int = -1
    memory: tuple[MemoryAt, ...] = ()


def measurement(run: MeasuredRun, machine: ThisMachine, chip: Chip | None, cores: int | None, predicted: Predicted) -> str:
    """Return the YAML. `chip` is this Mac's, None where mpslint doesn't know it; `cores` are those of its GPU, as macOS says."""
    where = {
        "chip": chip.name if chip is not None else _plain(machine.chip.removeprefix("Apple ")),
        "cores": chip.cores if chip is not None else cores,
        "torch": _plain(run.torch),
        "macos": format_version(machine.macos) if machine.macos is not None else None,
    }
    found = {"reality": [_memory(run, machine, where, predicted)], "step_time_points": [_time(run, where, predicted)]}
    return HEAD + yaml_text(found)


def _memory(run: MeasuredRun, machine: ThisMachine, where: dict[str, Any], predicted: Predicted) -> dict[str, Any]:
    last = run.memory[-1] if run.memory else None
    return {
        "name": f"measured run on {where['chip']}",
        **where,
        "memory": round(machine.memory / 2**30) if machine.memory else None,
        "step": last.step if last is not None else run.steps,
        **({"live": _mib(last.live), "driver": _mib(last.driver)} if last is not None else {}),
        "by_step": list(map(_at, run.memory)),
        "weights": sorted(map(_plain, run.dtypes)),
        "computed": {_plain(dtype): count for dtype, count in sorted(run.computed.items())},
        "predicted": {"by": __version__, "peak": _mib(predicted.peak), "by_step": list(map(_at, predicted.memory))},
    }


def _time(run: MeasuredRun, where: dict[str, Any], predicted: Predicted) -> dict[str, Any]:
    middle, low, high = (float(f"{one:.4g}") for one in run.seconds)
    time = predicted.time
    said = f"the median of the warm ones of {run.steps} steps; 10th to 90th percentile {low} to {high} s"
    return {
        **where,
        "seconds": middle,
        "said": said,
        "use": "fit" if predicted.work is not None and where["cores"] else "loose",
        "predicted": {
            "by": __version__,
            **({name: float(f"{getattr(time, name):.4g}") for name in ("seconds", "low", "high")} if time else {}),
        },
        "work": list(_work(predicted.work.operators)) if predicted.work is not None else [],
        "waits": predicted.work.waits if predicted.work is not None else 0.0,
    }


def _work(operators: Sequence[Operators]) -> Iterator[dict[str, Any]]:
    """Yield the work of a step by kind, part and dtype: FLOP and bytes of all operators together, and how many they are."""
    groups = grouped(((one.kind, one.part, one.dtype), one) for one in operators)
    for (kind, part, dtype), members in sorted(groups.items()):
        flop, moved = (float(f"{sum(getattr(one, name) * one.count for one in members):.5g}") for name in ("flop", "moved"))
        count = float(f"{sum(one.count for one in members):.5g}")
        yield {"kind": kind, "part": part, "dtype": dtype, "flop": flop, "moved": moved, "count": count}


def _at(one: MemoryAt) -> dict[str, Any]:
    return {"step": one.step, "live": _mib(one.live), "driver": _mib(one.driver), **({"shapes": one.shapes} if one.shapes >= 0 else {})}


def _mib(size: int) -> float | None:
    return round(size / MIB, 1) if size >= 0 else None


def _plain(text: str) -> str:
    """Return the first words of a text that came from the run or the machine, if they are letters, digits, dots and dashes."""
    found = re.match(r"[\w.+ -]{0,40}", text, re.ASCII)
    return found.group().strip() if found is not None else ""
