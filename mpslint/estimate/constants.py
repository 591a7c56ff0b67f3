"""The constants of the step-time model (`rules/platform/step_time.yaml`): fitted to published points, with the spread that was left."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from mpslint.core.knowledge import platform_data
from mpslint.core.versions import Version, VersionRange


@dataclass(frozen=True, slots=True)
class Spread:
    """Measured over estimated: the 10th and the 90th percentile."""

    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Constants:
    """What turns a step's work into seconds. Efficiencies and `share` are parts of a chip's measured rates and bandwidth."""

    efficiency: Mapping[str, float]
    share: float
    overlap: float
    fixed: float
    """Seconds that each step takes whatever it does."""
    launch: float
    wait: float
    """Seconds of one wait for the GPU."""
    older: VersionRange
    older_generations: tuple[str, ...]
    older_factor: float


@dataclass(frozen=True, slots=True)
class Compiling:
    """Seconds that compiling one graph takes, about, and the range."""

    seconds: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Uncovered:
    """Where the published points say little, so that the wide spread holds, and where they say nothing."""

    seconds: float
    share: float
    kinds: tuple[str, ...]
    chips: tuple[str, ...]
    dtypes: tuple[str, ...]
    unknown_share: float
    unknown_kinds: tuple[str, ...]
    unknown: str
    """What is said where the time is not known."""


@functools.lru_cache(maxsize=1)
def constants() -> Constants:
    """Return the constants that mpslint ships."""
    return made_of(platform_data("step_time"))


def made_of(table: Mapping[str, Any]) -> Constants:
    """Return the constants of a table in the form of `step_time.yaml`."""
    model, older = table["model"], table["older"]
    return Constants(
        efficiency={kind: float(value) for kind, value in model["efficiency"].items()},
        **{name: float(model[name]) for name in ("share", "overlap", "fixed", "launch", "wait")},
        older=VersionRange.parse(older["versions"]),
        older_generations=tuple(older["generations"]),
        older_factor=float(older["matmul"]),
    )


@functools.lru_cache(maxsize=1)
def spreads() -> tuple[Mapping[str, Spread], Uncovered]:
    """Return the spreads by name, and what the points do not cover."""
    table = platform_data("step_time")
    wide, unknown = table["wide"], table["unknown"]
    found = {name: Spread(float(row["low"]), float(row["high"])) for name, row in table["spread"].items()}
    return found, Uncovered(
        seconds=float(wide["seconds"]),
        share=float(wide["share"]),
        **{name: tuple(wide[name]) for name in ("kinds", "chips", "dtypes")},
        unknown_share=float(unknown["share"]),
        unknown_kinds=tuple(unknown["kinds"]),
        unknown=unknown["say"],
    )


def compiling(versions: Mapping[str, Version]) -> Compiling | None:
    """Return what compiling a graph takes in a torch; None where the torch is not known."""
    rows = (row for row in platform_data("step_time")["compile"] if VersionRange.parse(row["versions"]).matches(versions))
    return next((Compiling(row["milliseconds"] / 1e3, row["low"] / 1e3, row["high"] / 1e3) for row in rows), None)
