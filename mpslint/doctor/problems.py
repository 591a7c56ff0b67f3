"""What is wrong, or may be: broken combinations of versions, variables and configuration that do not fit a Mac."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from mpslint.core.finding import Severity
from mpslint.core.knowledge import platform_data
from mpslint.core.versions import Version
from mpslint.doctor.environment import TorchProbe
from mpslint.doctor.machine import ThisMachine
from mpslint.target.packages import Problem, combinations

_HIGH, _LOW = "PYTORCH_MPS_HIGH_WATERMARK_RATIO", "PYTORCH_MPS_LOW_WATERMARK_RATIO"
_FALLBACK = "PYTORCH_ENABLE_MPS_FALLBACK"
_DEFAULT_HIGH, _DEFAULT_LOW, _HIGHEST = 1.7, 1.4, 2.0


def broken_combinations(versions: Mapping[str, Version]) -> tuple[Problem, ...]:
    """Return what is known to break with these versions: what concerns every run first, then the worst first."""
    found = (one for one in combinations() if one.versions.matches(versions))
    return tuple(sorted(found, key=lambda problem: (bool(problem.only_with), problem.severity.rank)))


def machine_problems(machine: ThisMachine, torch: TorchProbe | None) -> tuple[Problem, ...]:
    """Return what is wrong with the machine itself and with what torch says about it."""
    return tuple(_problem(kind.replace("_", "-"), platform_data("doctor")["problems"][kind]) for kind in _wrong_machine(machine, torch))


def _problem(name: str, row: Mapping[str, Any], **fields: object) -> Problem:
    return Problem(name, Severity(row["severity"]), row["says"].format(**fields) if fields else row["says"])


def _wrong_machine(machine: ThisMachine, torch: TorchProbe | None) -> Iterator[str]:
    if machine.rosetta:
        yield "rosetta"
    if machine.virtual:
        yield "virtual"
    if torch is not None and torch.built is None:
        yield "torch_silent"
    elif machine.is_mac and torch is not None:
        if not torch.built:
            yield "not_built"
        elif not torch.available:
            yield "not_available"
        elif torch.usable is False:
            yield "not_usable"


def variables_in_force(environ: Mapping[str, str]) -> Mapping[str, str]:
    """Return the variables that change how MPS is used, with their values."""
    table = platform_data("doctor")
    prefixes = tuple(table["prefixes"])
    return {name: environ[name] for name in sorted(environ) if name in table["variables"] or name.startswith(prefixes)}


def variable_problems(environ: Mapping[str, str]) -> tuple[Problem, ...]:
    """Return what is wrong with the variables in force."""
    table = platform_data("doctor")["problems"]
    fields = {"high": environ.get(_HIGH, _DEFAULT_HIGH), "low": environ.get(_LOW, _DEFAULT_LOW)}
    return tuple(_problem(f"{name}={environ[name]}", table[kind], **fields) for name, kind in _wrong_variables(environ))


def _wrong_variables(environ: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Yield the variables that are wrong, each with the name of its problem in the knowledge."""
    high, low = _ratio(environ, _HIGH, _DEFAULT_HIGH), _ratio(environ, _LOW, _DEFAULT_LOW)
    for name, value in ((_HIGH, high), (_LOW, low), (_FALLBACK, _ratio(environ, _FALLBACK, 0.0))):
        if value is None:
            yield name, "not_a_number"
    if high is not None and not 0 <= high <= _HIGHEST:
        yield _HIGH, "outside_range"
    elif high is not None and low is not None and {_HIGH, _LOW} & set(environ):
        if high == 0:
            yield _HIGH, "unlimited"
        if not 0 <= low <= (high or _HIGHEST):
            yield _LOW if _LOW in environ else _HIGH, "low_above_high"
    known = platform_data("doctor")["variables"]
    yield from ((name, "unknown_variable") for name in variables_in_force(environ) if name not in known)
    if environ.get("ACCELERATE_USE_CPU", "").lower() in {"1", "true", "yes", "on"}:
        yield "ACCELERATE_USE_CPU", "on_cpu"


def _ratio(environ: Mapping[str, str], name: str, default: float) -> float | None:
    try:
        return float(environ.get(name, default))
    except ValueError:
        return None


def config_problems(config: Mapping[str, Any]) -> tuple[Problem, ...]:
    """Return what does not fit a Mac in an accelerate configuration."""
    rows: Sequence[Mapping[str, Any]] = platform_data("doctor")["accelerate_config"]
    known = [(row, config[row["key"]]) for row in rows if row["key"] in config]
    return tuple(_problem(f"{row['key']}: {value}", row) for row, value in known if _is_bad(value, row))


def _is_bad(value: Any, row: Mapping[str, Any]) -> bool:
    if row.get("present"):
        return bool(value)
    if "above" in row:
        return isinstance(value, int) and value > row["above"]
    return value in row["bad"]
