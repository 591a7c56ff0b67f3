"""The numbers of an out-of-memory text give one verdict, and the Mac and the torch that they came from."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mpslint.diagnose import Log, diagnose
from mpslint.diagnose.catalogue import catalogue
from mpslint.diagnose.compact import compact
from mpslint.diagnose.out_of_memory import (
    GIANT,
    GROWTH,
    IMPOSSIBLE,
    LOW_LIMIT,
    MIXED,
    NO_GPU,
    NO_NUMBERS,
    TOO_BIG,
    OutOfMemory,
    evidence,
    read_out_of_memory,
)
from mpslint.diagnose.sizes import GIB, format_bytes, parse_size
from mpslint.target.macs import macs


def read(allocated: str, other: str, limit: str = "", request: str = "51.44 MiB", pool: str = "shared") -> OutOfMemory:
    """Return what a text with these numbers says."""
    allowed = f", max allowed: {limit}" if limit else ""
    text = (
        f"MPS backend out of memory (MPS allocated: {allocated}, other allocations: {other}{allowed}). "
        f"Tried to allocate {request} on {pool} pool."
    )
    return read_out_of_memory(compact(text).text)


@pytest.mark.parametrize(
    ("allocated", "other", "limit", "request_", "verdict", "memory", "ratio", "torch"),
    [
        ("78.40 GB", "2.98 GB", "81.60 GB", "320.00 MB", TOO_BIG, 64, 1.7, "torch <= 2.7"),
        ("4.20 GiB", "43.49 GiB", "47.74 GiB", "51.44 MiB", GROWTH, 36, 1.7, "torch >= 2.8"),
        ("39.50 GiB", "141.24 GiB", "182.78 GiB", "1.00 MiB", GROWTH, 128, 1.7, "torch >= 2.8"),
        ("5.50 GB", "14.76 GB", "20.40 GB", "147.24 MB", GROWTH, 18, 1.7, "torch <= 2.7"),
        ("11.14 GB", "6.65 GB", "18.13 GB", "375.40 MB", MIXED, 16, 1.7, "torch <= 2.7"),
        ("9.48 GiB", "480.00 KiB", "9.47 GiB", "256 bytes", TOO_BIG, 16, 0.8, "torch >= 2.8"),
        ("7.23 GB", "1.54 GB", "9.07 GB", "896.00 MB", TOO_BIG, 8, 1.7, "torch <= 2.7"),
        ("34.09 GB", "1.37 GB", "36.27 GB", "1.09 GB", TOO_BIG, 32, 1.7, "torch <= 2.7"),
        ("15.05 GB", "11.91 GB", "27.20 GB", "1.16 GB", GROWTH, 24, 1.7, "torch <= 2.7"),
        ("72.40 GB", "15.71 GB", "81.60 GB", "256 bytes", TOO_BIG, 64, 1.7, "torch <= 2.7"),
        ("3.00 GiB", "0.50 GiB", "18.13 GiB", "15.00 GiB", GIANT, 16, 1.7, "torch >= 2.8"),
    ],
)
def test_real_numbers(allocated: str, other: str, limit: str, request_: str, verdict: str, memory: int, ratio: float, torch: str) -> None:
    """Numbers that people posted give the verdict that a reader of the whole thread gives, and the right Mac."""
    result = read(allocated, other, limit, request_)

    assert result.verdict == verdict
    assert [(guess.mac.memory, guess.ratio) for guess in result.macs] == [(memory, ratio)]
    assert str(result.torch) == torch


@pytest.mark.parametrize(
    ("allocated", "other", "limit", "request_"),
    [
        ("0 bytes", "0 bytes", "7.93 GB", "256 bytes"),
        ("0 bytes", "0 bytes", "1.70 GB", "0 bytes"),
        ("0 bytes", "0 bytes", "15.87 GiB", "256 bytes"),
        ("0 bytes", "384.00 KiB", "7.93 GiB", "256 bytes"),
        ("1024.00 MB", "0 bytes", "", "256 bytes"),
    ],
)
def test_an_allocation_refused_with_nothing_held_is_a_virtual_machine(allocated: str, other: str, limit: str, request_: str) -> None:
    """Hosted runners list MPS and refuse everything; no Mac is guessed from their limits."""
    result = read(allocated, other, limit, request_)

    assert result.verdict == NO_GPU
    assert result.macs == ()


def test_a_limit_below_any_mac_was_set_by_somebody() -> None:
    """242 MiB is no Mac's limit, so the request is not called giant."""
    assert read("0 bytes", "448.00 KiB", "242.48 MiB", "256.00 MiB").verdict == LOW_LIMIT


def test_without_a_limit_the_shares_still_decide() -> None:
    """With the watermark switched off the text prints no limit, and growth is still growth."""
    result = read("20.00 GiB", "60.00 GiB")

    assert result.verdict == GROWTH
    assert result.working_set is None
    assert any("switched off" in sentence for sentence in evidence(result))
    assert read("40.00 GiB", "1.00 GiB").verdict == TOO_BIG
    assert read("4.00 GiB", "1.00 GiB", request="40.00 GiB").verdict == GIANT


@pytest.mark.parametrize("other", ["67108914.49 GiB", "17179869184.00 GB", "17179869183.90 GiB"])
def test_a_wrapped_number_is_no_memory(other: str) -> None:
    """An unsigned wrap is said to be one, and what is left still counts."""
    result = read("17.00 GiB", other, "18.13 GiB")
    sentences = " ".join(evidence(result))

    assert result.verdict == IMPOSSIBLE
    assert result.impossible == ("other",)
    assert result.beside == TOO_BIG
    assert "unsigned" in sentences
    assert "job too big" in sentences
    assert "outside them" not in sentences


def test_a_wrapped_number_beside_little_live_memory_decides_nothing() -> None:
    """With the other side unreadable, few live tensors do not show growth."""
    assert read("3.20 GiB", "67108914.49 GiB", "20.13 GiB").beside == ""


def test_the_pool_dates_the_text() -> None:
    """Private pools went with torch 2.12, binary units came with 2.8; a mixture of spellings says nothing."""
    assert str(read("4.2 GiB", "43 GiB", "47.74 GiB", pool="private").torch) == "torch >= 2.8, torch <= 2.11"
    assert str(read("4.2 GB", "43 GB", "47.74 GB", "51 MB", pool="private").torch) == "torch <= 2.7"
    assert str(read("4.2 GiB", "43 GB", "47.74 GiB").torch) == ""


@pytest.mark.parametrize(
    "text",
    [
        "MPS backend out of memory",
        "MPS backend out of memory (max allowed: 18.13 GB)",
        "MPS backend out of memory (MPS allocated: 4 GB, max allowed: 18.13 GB)",
        "MPS backend out of memory (MPS allocated: a lot)",
    ],
)
def test_missing_numbers_are_said_to_be_missing(text: str) -> None:
    """Half a message gives no verdict on who holds the memory."""
    assert read_out_of_memory(compact(text).text).verdict == NO_NUMBERS


def test_a_full_limit_needs_no_other_number() -> None:
    """Live tensors near the limit are a job that is too big, even in a shortened text."""
    text = "MPS backend out of memory (MPS allocated: 16.00 GB, max allowed: 18.13 GB)"

    assert read_out_of_memory(compact(text).text).verdict == TOO_BIG


def test_the_lesson_that_everybody_hits() -> None:
    """T5 on XSum with dynamic padding: growth, padding first, torch second, and why the web's cures are none."""
    text = (
        "RuntimeError: MPS backend out of memory (MPS allocated: 4.20 GiB, other allocations: 43.49 GiB, max allowed: "
        "47.74 GiB). Tried to allocate 51.44 MiB on private pool. Use PYTORCH_MPS_HIGH_WATERMARK_RATIO=0.0 to disable "
        "upper limit for memory allocations (may cause system failure)."
    )

    (symptom,) = diagnose(Log("lesson", text)).symptoms

    first, second, *_ = symptom.explanation.changes
    assert symptom.memory is not None
    assert symptom.memory.verdict == GROWTH
    assert first.settings == {"padding.multiple_of": 64}
    assert str(second.upgrade) == "torch >= 2.14"
    assert "PYTORCH_MPS_HIGH_WATERMARK_RATIO=0.0" in symptom.explanation.does_not_mean
    assert "empty_cache() after the error" in symptom.explanation.does_not_mean
    assert "Live tensors hold at most 4.20 GiB; 43.49 GiB is held outside them (91 % of all)." in evidence(symptom.memory)


def test_an_upgrade_that_is_done_is_not_advised() -> None:
    """When the log names a torch that has the better allocator, installing it is no advice."""
    text = "torch==2.15.0\nMPS backend out of memory (MPS allocated: 4.20 GiB, other allocations: 43.49 GiB)"

    (symptom,) = diagnose(Log("named", text)).symptoms

    assert "torch >= 2.14" not in [str(change.upgrade) for change in symptom.explanation.changes]


SIZES = st.sampled_from(["bytes", "KB", "MB", "GB", "KiB", "MiB", "GiB", "TiB", "CB"])


@given(
    numbers=st.lists(st.tuples(st.floats(0, 1e12), SIZES), min_size=4, max_size=4),
    with_limit=st.booleans(),
    pool=st.sampled_from(["private", "shared", "scalar"]),
)
def test_any_numbers_give_a_verdict_and_sentences(numbers: list[tuple[float, str]], with_limit: bool, pool: str) -> None:
    """No combination of numbers stops the arithmetic."""
    allocated, other, limit, request_ = (f"{value:.2f} {unit}" for value, unit in numbers)

    result = read(allocated, other, limit if with_limit else "", request_, pool)

    assert result.verdict in catalogue().verdicts
    assert all("{" not in sentence for sentence in evidence(result))


@given(st.integers(0, 1 << 50), st.booleans())
def test_both_unit_systems_are_read_alike(count: int, binary: bool) -> None:
    """GB and GiB both count in 1024s, and what is printed reads back to itself, but for the digits cut off."""
    printed = format_bytes(count)
    size = parse_size(printed if binary else printed.replace("iB", "B"))

    assert size is not None
    assert abs(size.bytes - count) <= max(1, count) * 0.006
    assert size.binary is (binary if count >= 1024 else None)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("4.20 GiB", round(4.2 * GIB)),
        ("9.07 CB", round(9.07 * GIB)),
        ("4,20 GB", round(4.2 * GIB)),
        ("1,024.00 MB", GIB),
        ("256 bytes", 256),
        ("1 byte", 1),
        ("256", 256),
        ("12.", 12),
        ("GiB", None),
        ("1.2.3 GB", None),
        ("5 parsecs", None),
        ("-5 GB", None),
    ],
)
def test_sizes_as_people_type_them(text: str, expected: int | None) -> None:
    """A misread G, decimal commas and thousands are understood; anything else is no size."""
    size = parse_size(text)

    assert (size.bytes if size else None) == expected


def test_the_table_of_macs_tells_one_mac_from_another() -> None:
    """No two rows print the same default limit, so a limit never names two Macs."""
    limits = [round(1.7 * mac.working_set, 2) for mac in macs().macs]

    assert len(set(limits)) == len(limits)
    for mac in macs().macs:
        assert [guess.mac for guess in macs().guesses(round(1.7 * mac.working_set, 2), 1.7)] == [mac]


def test_a_limit_that_fits_too_many_macs_names_none() -> None:
    """A guess among many is no information."""
    assert macs().guesses(48.0, 1.7) == () or len(macs().guesses(48.0, 1.7)) <= 3
    assert macs().guesses(19.99, 1.7) == ()


def test_sentences_say_only_what_the_numbers_show() -> None:
    """A virtual Mac's limit, a limit that somebody set and one that fits no Mac are told apart."""
    virtual = " ".join(evidence(read("0 bytes", "0 bytes", "7.93 GB", "256 bytes")))
    refused = " ".join(evidence(read("0 bytes", "0 bytes", "18.13 GB", "256 bytes")))
    low = " ".join(evidence(read("0 bytes", "448.00 KiB", "242.48 MiB", "256.00 MiB")))
    odd = " ".join(evidence(read("10.00 GiB", "1.00 GiB", "11.11 GiB")))
    other_ratio = " ".join(evidence(read("9.48 GiB", "480.00 KiB", "9.47 GiB", "256 bytes")))

    assert "is what virtual Macs print" in virtual
    assert "virtual" not in refused
    assert "below that of any Mac" in low
    assert "isn't the working set of any Mac" in odd
    assert "a 16 GB Mac (newer macOS) with ratio 0.8 would print it" in other_ratio
    assert "merely came last" in other_ratio
