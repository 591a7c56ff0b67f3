"""The arithmetic of `MPS backend out of memory`: who holds the memory, which Mac it was, and one verdict; and its sentences (`says:` in
`rules/platform/out_of_memory.yaml`)."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from mpslint.core.knowledge import platform_data
from mpslint.core.versions import VersionRange
from mpslint.diagnose.compact import compile_pattern
from mpslint.diagnose.sizes import GIB, MIB, Size, format_bytes, parse_size
from mpslint.target.macs import MacGuess, Macs, macs

GROWTH = "growth-outside-tensors"
TOO_BIG = "job-too-big"
MIXED = "tensors-and-growth"
GIANT = "one-giant-tensor"
NO_GPU = "no-usable-gpu"
LOW_LIMIT = "limit-set-low"
IMPOSSIBLE = "impossible-numbers"
NO_NUMBERS = "numbers-missing"
AMOUNTS = ("allocated", "other", "limit", "request")


@dataclass(frozen=True, slots=True)
class Numbers:
    """The numbers as printed; None where the text does not show one. `limit` is missing when it was switched off."""

    allocated: Size | None = None
    other: Size | None = None
    limit: Size | None = None
    request: Size | None = None
    pool: str = ""


@dataclass(frozen=True, slots=True)
class OutOfMemory:
    """What the numbers say.

    `other_share` is the share outside live tensors, `full` the share of the limit that live tensors fill, `ratio` the
    watermark ratio in force unless somebody sets another, `working_set` what Metal recommended with it (bytes), `macs`
    the Macs that would print this limit, `virtual` whether virtual Macs print it, `torch` the versions that spell it
    so, `impossible` the names of numbers that no machine can have, `beside` the verdict on the numbers that are left.
    """

    numbers: Numbers
    verdict: str
    other_share: float | None
    full: float | None
    ratio: float
    working_set: int | None
    macs: tuple[MacGuess, ...]
    virtual: bool
    torch: VersionRange
    impossible: tuple[str, ...]
    beside: str = ""


def read_out_of_memory(text: str) -> OutOfMemory:
    """Return what the squeezed text that starts with the message says."""
    known, patterns, versions = _knowledge()
    text, thresholds, ratio = text[: known["reach"]], known["thresholds"], float(platform_data("allocator")["watermarks"]["high"])
    found = {name: match.group("value") for name, regex in patterns.items() if (match := regex.search(text))}
    numbers = Numbers(**{name: parse_size(found[name]) for name in AMOUNTS if name in found}, pool=found.get("pool", ""))
    table = macs()
    impossible = tuple(
        name for name in AMOUNTS if (size := getattr(numbers, name)) and size.bytes > thresholds["impossible"] * table.largest_memory
    )
    sound = Numbers(**{name: getattr(numbers, name) for name in AMOUNTS if name not in impossible}, pool=numbers.pool)
    verdict = judge(sound, table, ratio, thresholds)
    limit = sound.limit.bytes if sound.limit else 0
    allocated, other = sound.allocated, sound.other
    held = allocated.bytes + other.bytes if allocated and other else 0
    return OutOfMemory(
        numbers=numbers,
        verdict=IMPOSSIBLE if impossible else verdict,
        other_share=other.bytes / held if other and held else None,
        full=allocated.bytes / limit if allocated and limit else None,
        ratio=ratio,
        working_set=round(limit / ratio) if limit else None,
        macs=() if verdict == NO_GPU or not limit else table.guesses(limit / GIB, ratio),
        virtual=table.is_virtual(limit / GIB, ratio),
        torch=_torch_versions(numbers, versions),
        impossible=impossible,
        beside=verdict if impossible and verdict != NO_NUMBERS else "",
    )


def judge(numbers: Numbers, table: Macs, ratio: float, thresholds: Mapping[str, float]) -> str:
    """Return the verdict on numbers that are all possible."""
    if numbers.allocated is None:
        return NO_NUMBERS
    allocated = numbers.allocated.bytes
    other = numbers.other.bytes if numbers.other else None
    request = numbers.request.bytes if numbers.request else 0
    held = allocated + (other or 0)
    if numbers.limit is None:
        if numbers.request and held < thresholds["no_limit_held"] * GIB and request < GIB:
            return NO_GPU
        return GIANT if request >= max(GIB, held) else _who_holds(allocated, other, None, thresholds)
    limit = numbers.limit.bytes
    refused_below_limit = held <= thresholds["idle"] * limit and held + request <= limit
    if refused_below_limit or (held == 0 and table.is_virtual(limit / GIB, ratio)):
        return NO_GPU
    if limit < thresholds["low_limit"] * GIB:
        return LOW_LIMIT
    if request >= thresholds["giant"] * limit:
        return GIANT
    return _who_holds(allocated, other, limit, thresholds)


def _who_holds(allocated: int, other: int | None, limit: int | None, thresholds: Mapping[str, float]) -> str:
    """Return whether live tensors, other allocations or both hold the memory."""
    if other is not None and other > thresholds["growth"] * (allocated + other):
        return GROWTH
    if limit is not None and allocated > thresholds["full"] * limit:
        return TOO_BIG
    if other is None:
        return NO_NUMBERS
    return TOO_BIG if other < thresholds["little"] * (allocated + other) else MIXED


def _torch_versions(numbers: Numbers, torch: Mapping[str, VersionRange]) -> VersionRange:
    """Return the versions that spell the units and the pool so; nothing when the units contradict one another."""
    spellings = {size.binary for name in AMOUNTS if (size := getattr(numbers, name)) and size.binary is not None}
    terms = torch["binary" if spellings.pop() else "decimal"].terms if len(spellings) == 1 else ()
    if numbers.pool in torch and terms != torch["decimal"].terms:
        terms += torch[numbers.pool].terms
    return VersionRange(terms)


@functools.cache
def _knowledge() -> tuple[Mapping[str, Any], Mapping[str, re.Pattern[str]], Mapping[str, VersionRange]]:
    """Return the table, its patterns of numbers, and which versions spell them how."""
    table = platform_data("out_of_memory")
    numbers = {name: compile_pattern(text).regex for name, text in table["numbers"].items()}
    return table, numbers, {name: VersionRange.parse(text) for name, text in table["torch"].items()}


def evidence(memory: OutOfMemory) -> Iterator[str]:
    """Yield the sentences that the numbers support, in the order to read them."""
    says, numbers = _knowledge()[0]["says"], memory.numbers
    allocated = numbers.allocated if "allocated" not in memory.impossible else None
    request = numbers.request if "request" not in memory.impossible else None
    if memory.impossible:
        values = ", ".join(str(getattr(numbers, name)) for name in memory.impossible)
        names = ", ".join(says["limit_name" if name == "limit" else name] for name in memory.impossible)
        yield says["impossible"].format(names=names, values=values)
    if allocated and memory.other_share is not None:
        share = f"{memory.other_share:.0%}".replace("%", " %")
        yield says["held"].format(allocated=allocated, other=numbers.other, share=share)
    elif allocated:
        yield says["held_by_tensors"].format(allocated=allocated)
    if allocated and "limit" not in memory.impossible and (memory.verdict != NO_GPU or memory.virtual):
        yield _limit(memory, says)
        if memory.numbers.limit and memory.verdict in {GROWTH, TOO_BIG, MIXED}:
            yield says["limit_in_force"]
    if request and memory.verdict == GIANT:
        yield says["request_large"].format(request=request)
    elif request and request.bytes <= MIB and memory.verdict not in {NO_GPU, LOW_LIMIT}:
        yield says["request_small"].format(request=request)
    if memory.beside:
        yield says["beside"].format(verdict=memory.beside.replace("-", " "))
    if memory.torch.terms:
        yield says["torch"].format(torch=memory.torch)


def _limit(memory: OutOfMemory, says: Mapping[str, str]) -> str:
    """Return the sentence on the limit: which Mac it belongs to, or why that cannot be told."""
    if memory.numbers.limit is None or memory.working_set is None:
        return says["limit_off"]
    fields = {"limit": memory.numbers.limit, "working_set": format_bytes(memory.working_set), "ratio": memory.ratio}
    if memory.verdict == NO_GPU:
        return says["limit_virtual"].format(**fields)
    if memory.verdict == LOW_LIMIT:
        return says["limit_low"].format(**fields)
    if not memory.macs:
        return says["limit_unknown_mac"].format(**fields)
    default = all(guess.ratio == memory.ratio for guess in memory.macs)
    macs = " or ".join(
        says["mac" if default else "mac_with_ratio"].format(memory=guess.mac.memory, macos=guess.mac.macos, ratio=f"{guess.ratio:g}")
        for guess in memory.macs
    )
    return says["limit" if default else "limit_other_ratio"].format(macs=macs, **fields)
