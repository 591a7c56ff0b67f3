"""The table of chips: every row is whole, names are found in any case, and mistakes are one clear line."""

from __future__ import annotations

import pytest

from mpslint.core.finding import UsageError
from mpslint.core.knowledge import platform_data
from mpslint.estimate.timing import chips, macs_of, named_chips


def test_each_chip_is_there_once() -> None:
    """A chip with its number of cores is one row, and each has a float32 rate, bandwidth and memory."""
    rows = [(chip.name, chip.cores) for chip in chips()]

    assert len(rows) == len(set(rows))
    assert all(chip.rate("float32") > 1e12 and chip.bandwidth >= 6e10 and chip.memory for chip in chips())


def test_a_name_means_all_its_variants() -> None:
    """`m4 pro` means both GPUs that are sold under the name, and not the M4."""
    assert [chip.cores for chip in named_chips("m4 pro")] == [16, 20]
    assert named_chips("Apple M4 Pro") == named_chips("M4 Pro")


def test_an_unknown_chip_is_refused_with_the_known_ones() -> None:
    """The error of a misspelt chip lists the names that there are."""
    with pytest.raises(UsageError, match=r"no chip 'M4 Turbo'; known chips are M1, M1 Pro"):
        named_chips("M4 Turbo")


def test_listed_macs_are_sold() -> None:
    """What is listed without --chip exists in the table with that memory."""
    assert all(mac.memory in mac.chip.memory for mac in macs_of(()))
    assert len(macs_of(())) == len(platform_data("chips")["listed"])


def test_half_precision_is_faster_on_m5_only() -> None:
    """bfloat16 is emulated on the M1, float16 gains a tenth up to M4 and four times on the M5."""
    gain = {name: chip.rate("float16") / chip.rate("float32") for name in ("M1", "M4", "M5") for chip in named_chips(name)[-1:]}

    assert 1 < gain["M1"] < 1.2
    assert 1 < gain["M4"] < 1.2
    assert gain["M5"] > 3
    assert named_chips("M1")[0].rate("bfloat16") < named_chips("M1")[0].rate("float32")
