"""An examination as tables for a terminal and as JSON, whose shape is stable.

{"schema": 1, "machine": {"system", "macos", "chip", "architecture", "memory_bytes", "rosetta", "virtual", "wired_limit_mb"},
 "python", "packages": {name: version}, "torch": {"built", "available", "usable", "recommended_bytes", "error"} | null,
 "variables": {name: value}, "accelerate_config": {"path", "settings", "error"} | null,
 "problems": [{"id", "severity", "only_with", "effect", "change", "sources"}], "limits": text | null,
 "calibrations": [{"device", "machine", "torch", "date", "matmul_tflops", "attention_tflops", "bandwidth_gb_s", "dispatch_us", "wait_us",
                   "compile_ms", "seconds"}],
 "measured_steps": [{"run", "device", "machine", "torch", "date", "steps", "seconds", "off"}]}
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from rich.console import Console
from rich.text import Text

from mpslint.core.data import to_data
from mpslint.core.versions import format_version
from mpslint.doctor import Examination, Problem, ThisMachine, TorchProbe
from mpslint.estimate.calibration import Calibration
from mpslint.report.console import print_rows, print_wrapped
from mpslint.report.finding import COLOURS
from mpslint.verify.calibrations import FILE, MeasuredSteps
from mpslint.verify.platform import operators_left

_GIB = 1024**3
SCHEMA = 1


def print_examination(
    examination: Examination, console: Console, calibrations: Sequence[Calibration] = (), steps: Sequence[MeasuredSteps] = ()
) -> None:
    """Print what was found and what was measured here, then what is wrong."""
    measured = [(f"Measured here on {one.date}", list(calibration_rows(one))) for one in calibrations]
    if steps:
        measured.append(("Steps measured here", [(_run(one), _steps(one)) for one in steps]))
    for title, rows in (*_parts(examination), *measured):
        _print_part(title, [(Text(f"  {name}"), value) for name, value in rows], console)
    if examination.limits:
        print_wrapped(examination.limits, console)
        console.print()
    for title, is_for_all in (("Wrong here", True), ("Goes wrong here if you use it", False)):
        found = [one for one in examination.problems if is_for_all is not bool(one.only_with)]
        _print_part(
            title, [(Text(f"  {one.severity.value}", style=COLOURS[one.severity.value]), problem_line(one)) for one in found], console
        )
    if not examination.problems:
        console.print(Text("Nothing known is wrong."))


def examination_json(
    examination: Examination, calibrations: Sequence[Calibration] = (), steps: Sequence[MeasuredSteps] = ()
) -> dict[str, Any]:
    """Return an examination as JSON values; the keys are the interface of `mpslint doctor --format json`."""
    machine, torch, config = examination.machine, examination.torch, examination.config
    asked = {name: getattr(torch, name) for name in ("built", "available", "usable")} if torch is not None else {}
    return {
        "schema": SCHEMA,
        "machine": {
            "system": machine.system,
            "macos": format_version(machine.macos) if machine.macos else None,
            "chip": machine.chip,
            "architecture": machine.architecture,
            "memory_bytes": machine.memory,
            "rosetta": machine.rosetta,
            "virtual": machine.virtual,
            "wired_limit_mb": machine.wired_limit,
        },
        "python": examination.python,
        "packages": dict(examination.packages),
        "torch": {**asked, "recommended_bytes": torch.recommended, "error": torch.error or None} if torch is not None else None,
        "variables": dict(examination.variables),
        "accelerate_config": config and {"path": str(config.path), "settings": dict(config.settings), "error": config.error or None},
        "problems": [_problem_json(problem) for problem in examination.problems],
        "limits": examination.limits or None,
        "calibrations": [_calibration_json(one) for one in calibrations],
        "measured_steps": [to_data(one) for one in steps],
    }


def calibration_rows(rates: Calibration) -> Iterator[tuple[str, str]]:
    """Yield what `doctor --calibrate` measured, one rate a row."""
    yield "device", f"{rates.device} of {rates.machine}, torch {rates.torch}" + (", one thread" if rates.device == "cpu" else "")
    for kind in ("matmul", "attention", "convolution"):
        yield kind, f"{rates.rate(kind) / 1e12:.3g} TFLOP/s at most, float32"
    yield "memory", f"{rates.rate('elementwise') / 1e9:.3g} GB/s at most"
    yield "one operator", f"{rates.dispatch * 1e6:.3g} us besides its work"
    yield "waiting (.item())", f"{rates.wait * 1e6:.3g} us"
    yield "a new shape", f"{rates.compile * 1e3:.3g} ms"
    yield "remove with", "mpslint doctor --forget-calibration"


def _run(one: MeasuredSteps) -> str:
    """Return the name of a run: its script, else the start of the digest of its spec."""
    return one.run.removeprefix(FILE) if one.run.startswith(FILE) else f"run {one.run[:12]}"


def _steps(one: MeasuredSteps) -> str:
    return f"{one.seconds:.3g} s a step, +/- {one.off:.0%}, {one.steps} steps on {one.date} ({one.machine}, torch {one.torch})"


def _calibration_json(rates: Calibration) -> dict[str, Any]:
    return {
        "device": rates.device,
        "machine": rates.machine,
        "torch": rates.torch,
        "date": rates.date,
        "matmul_tflops": rates.rate("matmul") / 1e12,
        "attention_tflops": rates.rate("attention") / 1e12,
        "bandwidth_gb_s": rates.rate("elementwise") / 1e9,
        "dispatch_us": rates.dispatch * 1e6,
        "wait_us": rates.wait * 1e6,
        "compile_ms": rates.compile * 1e3,
        "seconds": rates.seconds,
    }


def machine_rows(machine: ThisMachine) -> Iterator[tuple[str, str]]:
    """Yield the rows of the machine, without what this system cannot say."""
    yield "system", f"macOS {format_version(machine.macos)}" if machine.macos else machine.system
    yield "chip", machine.chip
    yield "architecture of Python", machine.architecture + (" (Rosetta)" if machine.rosetta else "")
    if machine.memory:
        yield "memory", f"{machine.memory / _GIB:.0f} GB"
    if machine.virtual is not None:
        yield "virtual machine", "yes" if machine.virtual else "no"
    if machine.wired_limit:
        yield "iogpu.wired_limit_mb", str(machine.wired_limit)


def torch_rows(torch: TorchProbe | None) -> Iterator[tuple[str, str]]:
    """Yield the rows of what torch says about MPS."""
    if torch is None:
        yield "MPS", "not asked (no torch here, or --no-torch)"
        return
    words = {True: "yes", False: "no", None: "not known"}
    yield "MPS built in", words[torch.built]
    yield "MPS available", words[torch.available]
    if torch.available:
        yield "MPS adds two numbers", words[torch.usable]
    if torch.recommended:
        yield "Metal recommends", f"{torch.recommended / _GIB:.2f} GiB"
    if torch.error:
        yield "torch says", torch.error


def operator_rows(torch: str) -> Iterator[tuple[str, str]]:
    """Yield how many operators of a torch MPS doesn't compute, by the table that check, verify and diagnose use; nothing for no torch."""
    for title, names, rule in operators_left(torch) if torch else ():
        yield title, f"{len(names)} operators, such as {', '.join(names[:3])} (mpslint explain {rule})"


def _parts(examination: Examination) -> Iterator[tuple[str, list[tuple[str, str]]]]:
    yield "Machine", list(machine_rows(examination.machine))
    yield "Versions", [("python", examination.python), *examination.packages.items()]
    yield "PyTorch and MPS", [*torch_rows(examination.torch), *operator_rows(examination.packages.get("torch", ""))]
    yield "Variables in force", list(examination.variables.items()) or [("none", "")]
    config = examination.config
    if config is None:
        yield "accelerate configuration", [("none", "accelerate uses its defaults")]
    else:
        rows = [("file", str(config.path)), *((key, str(value)) for key, value in config.settings.items())]
        yield "accelerate configuration", rows + [("", config.error)] * bool(config.error)


def _print_part(title: str, rows: Sequence[tuple[Text, str]], console: Console) -> None:
    if rows:
        console.print(Text(title, style="bold"))
        print_rows(rows, console)
        console.print()


def problem_line(problem: Problem) -> str:
    """Return a problem in a sentence or two."""
    subject = f"with {problem.only_with}" if problem.only_with else problem.id
    return f"{subject}: {problem.effect} {problem.change}".strip()


def _problem_json(problem: Problem) -> dict[str, Any]:
    named = {"id": problem.id, "severity": problem.severity.value, "only_with": problem.only_with or None}
    return {**named, "effect": problem.effect, "change": problem.change or None, "sources": list(problem.sources)}
