"""What torch on a Mac does by version, read from `rules/platform/`: graph cache, operators, allocator, precision,
memory."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from mpslint.core.finding import UsageError
from mpslint.core.knowledge import Behaviour, behaviour_in, platform_data
from mpslint.core.versions import Version, VersionRange, format_version, parse_version
from mpslint.target.macs import MemoryLimits, limits
from mpslint.target.target import Target
from mpslint.verify.spec import VerifiedMac


def minor(text: str) -> Version:
    """Return major and minor of a version. Raises UsageError when `text` is no version."""
    version = parse_version(text)
    if version is None:
        raise UsageError(f"{text!r} is not a version of torch; write it as 2.13")
    return (*version, 0, 0)[:2]


def is_at_least(version: str, other: str) -> bool:
    """Return whether one version is the other or later, compared by major and minor."""
    return minor(version) >= minor(other)


def graph_operators(torch: str) -> frozenset[str]:
    """Return the operators (`mm`, `copy_:cast`) that keep one compiled graph per shape in this torch."""
    return frozenset(op for entry in _graph_functions(torch) for op in entry["ops"])


def float_keyed_operators(torch: str) -> frozenset[str]:
    """Return the operators that keep one compiled graph for each float they are given, too."""
    return frozenset(op for entry in _graph_functions(torch) if entry.get("floats") for op in entry["ops"])


def _graph_functions(torch: str) -> Iterator[Mapping[str, Any]]:
    """Yield the functions that keep compiled graphs in this torch."""
    table = platform_data("graph_cache")
    own = max(minor(torch), minor(table["first"]))
    for entry in table["functions"]:
        if minor(entry["since"]) <= own and ("until" not in entry or own <= minor(entry["until"])):
            yield entry


def retaining_operators() -> frozenset[str]:
    """Return the operators whose compiled graphs keep a buffer as big as the result."""
    return frozenset(op for op, entry in platform_data("retained")["operators"].items() if entry["keeps"] == "result")


def missing_operators(torch: str) -> dict[str, str]:
    """Return the operators that raise for want of an MPS kernel in this torch, with the version that brings one (or an empty text)."""
    on_cpu = platform_data("operators")["cpu_fallback"]
    return {name: first for name, first in _without_kernel(torch).items() if name not in on_cpu}


def cpu_operators(torch: str) -> list[str]:
    """Return the operators that this torch computes on the CPU of its own accord, for want of an MPS kernel."""
    missing = _without_kernel(torch)
    return [name for name in platform_data("operators")["cpu_fallback"] if name in missing]


def _without_kernel(torch: str) -> dict[str, str]:
    own, names = minor(torch), platform_data("operators")
    missing = {name: first for first, group in names["first"].items() if own < minor(first) for name in group}
    return missing | dict.fromkeys(names["never"], "")


def operators_left(torch: str) -> list[tuple[str, list[str], str]]:
    """Return what becomes of the operators that MPS doesn't compute in this torch: in a word, their names, and the rule about them."""
    known = platform_data("operators")
    names = {"missing": missing_operators(torch), "cpu_fallback": cpu_operators(torch)}
    whole = {word: list(dict.fromkeys(one.partition(".")[0] for one in names[word] if not one.startswith("_"))) for word in names}
    return [(said["says"], whole[word], said["rule"]) for word, said in known["told"].items()]


def special_cases(torch: str) -> list[Mapping[str, Any]]:
    """Return what kernels refuse or miscompute in this torch: the operators, the predicate that recognises it, what to say."""
    own = {"torch": parse_version(torch) or ()}
    return [case for case in platform_data("operators")["cases"] if VersionRange.parse(case.get("versions", "")).matches(own)]


def precision_outcome(kind: str, precision: str, machine: VerifiedMac) -> Behaviour:
    """Return what `precision` does on the machine; `kind` is how it is asked for: trainer, accelerator, autocast or grad_scaler.
    Unknown versions count as the newest."""
    versions = machine.versions()
    behaviour = behaviour_in(f"precision.{kind}.{precision}", versions)
    named = {name: format_version(version) for name, version in versions.items()}
    return replace(behaviour, text=behaviour.text.format_map(named))


def limits_of(machine: VerifiedMac, memory_gb: int = 0) -> MemoryLimits:
    """Return what a machine can hold, or a machine with the same macOS and other memory."""
    return limits(memory_gb or machine.memory_gb, machine.versions().get("macos"))


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
    low_watermark: int = 0
    high_watermark: int = 0


def heap_rules(torch: str, low_watermark: int = 0, high_watermark: int = 0) -> HeapRules:
    """Return the allocator's rules for this torch; a watermark of 0 models a Mac that never comes under pressure, or never raises."""
    data = {name: value for name, value in platform_data("allocator").items() if name != "watermarks"}
    coalesces = is_at_least(torch, data.pop("coalesces_from"))
    return HeapRules(**data, coalesces=coalesces, low_watermark=low_watermark, high_watermark=high_watermark)


def rules_on(machine: VerifiedMac, ratio: float | None = None) -> HeapRules:
    """Return the allocator's rules on a machine. `ratio` is PYTORCH_MPS_HIGH_WATERMARK_RATIO where it is set; 0 never raises."""
    bounds = limits_of(machine)
    return heap_rules(machine.torch, bounds.low, bounds.high if ratio is None else int(ratio * bounds.recommended))


def machine_of(target: Target) -> tuple[VerifiedMac, list[str]]:
    """Return the Mac that a Target means, and what had to be assumed of it."""
    versions = {name: format_version(version) for name, version in target.versions.items()}
    assumed = int(platform_data("assumptions")["memory_gb"])
    said = [] if target.memory_gib else [f"the Mac's memory is not stated: {assumed} GB (--memory says another)"]
    memory = target.memory_gib or assumed
    origin = target.describe(("torch", "transformers", "accelerate"))
    machine = VerifiedMac(versions["torch"], memory, versions["transformers"], versions["accelerate"], versions["macos"], origin)
    return machine, said


PACKAGES = ("torch", "transformers", "accelerate", "lightning")


def versions(*names: str) -> dict[str, str]:
    """Return the installed versions of some packages, of those that a run rests on where none are named."""
    found = {}
    for name in names or PACKAGES:
        with contextlib.suppress(PackageNotFoundError):
            found[name] = version(name)
    return found
