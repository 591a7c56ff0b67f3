"""What torch on a Mac does by version, read from `rules/platform/`: graph cache, operators, allocator, precision,
memory."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from mpslint.finding import UsageError
from mpslint.knowledge import read_yaml, rules_folder
from mpslint.verify.spec import Machine
from mpslint.versions import Version, VersionRange, parse_version


@functools.lru_cache(maxsize=16)
def table(name: str) -> Any:
    """Return the content of one file of `rules/platform/`."""
    return read_yaml(rules_folder() / "platform" / f"{name}.yaml")


def minor(text: str) -> Version:
    """Return major and minor of a version. Raises UsageError when `text` is no version."""
    version = parse_version(text)
    if version is None:
        raise UsageError(f"{text!r} is no version of torch; write it as 2.13")
    return (*version, 0, 0)[:2]


def is_at_least(version: str, other: str) -> bool:
    """Return whether one version is the other or later, compared by major and minor."""
    return minor(version) >= minor(other)


def graph_operators(torch: str) -> frozenset[str]:
    """Return the operators (`mm`, `copy_:cast`) that keep one compiled graph per shape in this torch."""
    own = minor(torch)
    found: set[str] = set()
    for entry in table("graph_cache")["functions"]:
        if minor(entry["since"]) <= max(own, minor(table("graph_cache")["first"])) and (
            "until" not in entry or own <= minor(entry["until"])
        ):
            found.update(entry["ops"])
    return frozenset(found)


def missing_operators(torch: str) -> dict[str, str]:
    """Return the operators without an MPS kernel in this torch, with the version that brings one (or an empty text)."""
    own, names = minor(torch), table("operators")
    missing = {name: first for first, group in names["first"].items() if own < minor(first) for name in group}
    missing.update(dict.fromkeys(names["never"], ""))
    return {name: first for name, first in missing.items() if name not in names["cpu_fallback"]}


@dataclass(frozen=True, slots=True)
class Case:
    """A kernel that refuses or miscomputes something: the operators, the predicate that recognises it, what to say."""

    name: str
    check: str
    severity: str
    message: str
    ops: tuple[str, ...]
    versions: str = ""


def special_cases(torch: str) -> tuple[Case, ...]:
    """Return the special cases in force in this torch."""
    cases = (Case(**{**entry, "ops": tuple(entry["ops"])}) for entry in table("operators")["cases"])
    own = parse_version(torch) or ()
    return tuple(case for case in cases if VersionRange.parse(case.versions).matches({"torch": own}))


@dataclass(frozen=True, slots=True)
class Outcome:
    """What an asked-for precision really does: works, raises, ignored or unscaled, and the words for it."""

    does: str
    message: str


def precision_outcome(kind: str, precision: str, machine: Machine) -> Outcome:
    """Return what `precision` does on the machine; `kind` is trainer or autocast.
    Unknown versions count as the newest."""
    entries = table("precision")[kind]
    if isinstance(entries, Mapping):
        entries = entries.get(precision, [])
    for entry in entries:
        if VersionRange.parse(entry["versions"]).matches(machine.versions()):
            return Outcome(entry["does"], entry["message"])
    return Outcome("works", "")


@dataclass(frozen=True, slots=True)
class Limits:
    """What one Mac can hold, in bytes: what Metal recommends, and where torch starts to collect and where it raises."""

    memory_gb: int
    recommended: int
    low: int
    high: int
    reserve: int = 0


def limits(memory_gb: int) -> Limits:
    """Return the memory limits of a Mac of `memory_gb`; a size between two known ones takes the share of the
    smaller."""
    data = table("mac_memory")
    known = [size for size in sorted(data["macs"]) if size <= memory_gb] or [min(data["macs"])]
    recommended = int(memory_gb * 2**30 * data["macs"][known[-1]])
    return Limits(memory_gb, recommended, int(recommended * data["low"]), int(recommended * data["high"]), data["reserve"])


def mac_sizes() -> tuple[int, ...]:
    """Return the memory sizes of Macs that reports list, in GB."""
    return tuple(sorted(table("mac_memory")["macs"]))


@dataclass(frozen=True, slots=True)
class HeapRules:
    """The sizes that the MPS allocator works with, in bytes, and whether it splits and joins blocks."""

    alignment: int
    page: int
    small_limit: int
    large_limit: int
    small_heap: int
    large_heap: int
    extra_large_heap: int
    round_large: int
    oversize: int
    coalesces: bool
    low_watermark: int = field(default=0)


def heap_rules(torch: str, low_watermark: int = 0) -> HeapRules:
    """Return the allocator's rules for this torch; `low_watermark` 0 models a Mac that never comes under pressure."""
    data = dict(table("allocator"))
    coalesces = is_at_least(torch, data.pop("coalesces_from"))
    return HeapRules(**data, coalesces=coalesces, low_watermark=low_watermark)
