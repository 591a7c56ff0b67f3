"""The arithmetic of `MPS backend out of memory`: who holds the memory, which Mac it was, and one verdict."""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping
from dataclasses import dataclass

from mpslint.core.knowledge import platform_data
from mpslint.core.versions import VersionRange
from mpslint.diagnose.pattern import compile_pattern
from mpslint.diagnose.sizes import GIB, Size, parse_size
from mpslint.target.macs import MacGuess, Macs, macs

GROWTH = "growth-outside-tensors"
TOO_BIG = "job-too-big"
MIXED = "tensors-and-growth"
GIANT = "one-giant-tensor"
NO_GPU = "no-usable-gpu"
LOW_LIMIT = "limit-set-low"
IMPOSSIBLE = "impossible-numbers"
NO_NUMBERS = "numbers-missing"
VERDICTS = (GROWTH, TOO_BIG, MIXED, GIANT, NO_GPU, LOW_LIMIT, IMPOSSIBLE, NO_NUMBERS)


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


@dataclass(frozen=True, slots=True)
class _Knowledge:
    numbers: Mapping[str, re.Pattern[str]]
    reach: int
    torch: Mapping[str, VersionRange]
    ratio: float
    thresholds: Mapping[str, float]
    says: Mapping[str, str]


def sentences() -> Mapping[str, str]:
    """Return the sentences in which the arithmetic is told."""
    return _knowledge().says


def read_out_of_memory(text: str) -> OutOfMemory:
    """Return what the squeezed text that starts with the message says."""
    known = _knowledge()
    numbers = _read_numbers(text[: known.reach], known)
    table = macs()
    impossible = tuple(
        name for name in AMOUNTS if (size := getattr(numbers, name)) and size.bytes > known.thresholds["impossible"] * table.largest_memory
    )
    sound = Numbers(**{name: getattr(numbers, name) for name in AMOUNTS if name not in impossible}, pool=numbers.pool)
    verdict = judge(sound, table, known.ratio, known.thresholds)
    limit = sound.limit.bytes if sound.limit else 0
    allocated, other = sound.allocated, sound.other
    held = allocated.bytes + other.bytes if allocated and other else 0
    return OutOfMemory(
        numbers=numbers,
        verdict=IMPOSSIBLE if impossible else verdict,
        other_share=other.bytes / held if other and held else None,
        full=allocated.bytes / limit if allocated and limit else None,
        ratio=known.ratio,
        working_set=round(limit / known.ratio) if limit else None,
        macs=() if verdict == NO_GPU or not limit else table.guesses(limit / GIB, known.ratio),
        virtual=table.is_virtual(limit / GIB, known.ratio),
        torch=_torch_versions(numbers, known.torch),
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


def _read_numbers(text: str, known: _Knowledge) -> Numbers:
    found = {name: match.group("value") for name, regex in known.numbers.items() if (match := regex.search(text))}
    return Numbers(**{name: parse_size(found[name]) for name in AMOUNTS if name in found}, pool=found.get("pool", ""))


def _torch_versions(numbers: Numbers, torch: Mapping[str, VersionRange]) -> VersionRange:
    """Return the versions that spell the units and the pool so; nothing when the units contradict one another."""
    spellings = {size.binary for name in AMOUNTS if (size := getattr(numbers, name)) and size.binary is not None}
    terms = torch["binary" if spellings.pop() else "decimal"].terms if len(spellings) == 1 else ()
    if numbers.pool in torch and terms != torch["decimal"].terms:
        terms += torch[numbers.pool].terms
    return VersionRange(terms)


@functools.lru_cache(maxsize=1)
def _knowledge() -> _Knowledge:
    table = platform_data("out_of_memory")
    return _Knowledge(
        numbers={name: compile_pattern(text).regex for name, text in table["numbers"].items()},
        reach=table["reach"],
        torch={name: VersionRange.parse(text) for name, text in table["torch"].items()},
        ratio=float(platform_data("allocator")["watermarks"]["high"]),
        thresholds={name: float(value) for name, value in table["thresholds"].items()},
        says=table["says"],
    )
