"""What torch on a Mac does by version, as the tables say it."""

from __future__ import annotations

import pytest

from mpslint.core.finding import UsageError
from mpslint.core.knowledge import platform_data
from mpslint.target.macs import limits
from mpslint.verify import platform
from mpslint.verify.spec import VerifiedMac


def test_graph_cache_shrinks_from_version_to_version() -> None:
    """Later torch keeps graphs for fewer operators; a matrix product keeps one in all of them."""
    counts = [len(platform.graph_operators(version)) for version in ("2.5", "2.9", "2.13", "2.15")]

    assert counts == sorted(counts, reverse=True)
    assert all("mm" in platform.graph_operators(version) for version in ("2.1", "2.13", "2.15", "2.99"))
    assert "gelu" in platform.graph_operators("2.12")
    assert "gelu" not in platform.graph_operators("2.13")


def test_missing_operators_by_version() -> None:
    """CTC has a kernel from 2.14 on; adaptive 3-D pooling has none; CPU fallbacks are not missing."""
    assert platform.missing_operators("2.13")["_ctc_loss"] == "2.14"
    assert "_ctc_loss" not in platform.missing_operators("2.14")
    assert platform.missing_operators("2.15")["adaptive_max_pool3d"] == ""
    assert "embedding_renorm_" not in platform.missing_operators("2.15")
    assert "native_group_norm" not in platform.missing_operators("2.5")


@pytest.mark.parametrize(
    ("machine", "precision", "does"),
    [
        (VerifiedMac("2.13", 16, "4.57", "1.10"), "fp16", "raises"),
        (VerifiedMac("2.13", 16, "5.23", "1.15"), "fp16", "works"),
        (VerifiedMac("2.6", 16, "5.23", "1.15"), "fp16", "raises"),
        (VerifiedMac("2.13", 16, "4.57", "1.10"), "bf16", "ignored"),
        (VerifiedMac("2.13", 16, "4.53", "1.15"), "bf16", "raises"),
        (VerifiedMac("2.13", 16, "5.23", "1.15"), "bf16", "works"),
        (VerifiedMac("2.13", 16, "4.50", "0.25"), "fp16", "raises"),
        (VerifiedMac("2.13", 16, "4.50", "0.26"), "fp16", "wrong"),
    ],
)
def test_precision_depends_on_three_versions(machine: VerifiedMac, precision: str, does: str) -> None:
    """The same setting raises, is ignored or works, by the versions of torch, transformers and accelerate."""
    assert platform.precision_outcome("trainer", precision, machine).does == does


def test_limits_of_known_and_unknown_macs() -> None:
    """Out-of-memory messages name 18.13 GB on a 16 GB Mac: 1.7 times two thirds.
    Newer macOS recommends more; sizes between take the smaller one's share, sizes without a newer row the older one."""
    assert limits(16).high / 2**30 == pytest.approx(18.13, abs=0.01)
    assert limits(16, (15,)) == limits(16)
    assert limits(16, (26,)).recommended / 2**30 == pytest.approx(11.84)
    assert limits(20, (26,)).recommended / 2**30 == pytest.approx(20 * 13.32 / 18)
    assert limits(8, (26,)).recommended == limits(8).recommended
    assert limits(4).recommended / 2**30 == pytest.approx(4 * 2 / 3, rel=1e-3)
    assert limits(64).recommended == 48 * 2**30
    assert limits(96, (26,)) == limits(96)
    assert platform.limits_of(VerifiedMac(macos="26"), 32) == limits(32, (26,))


def test_special_cases_are_gated_by_version() -> None:
    """LSTM dropout is wrong up to 2.13 only."""
    assert "lstm-dropout" in {case["name"] for case in platform.special_cases("2.13.1")}
    assert "lstm-dropout" not in {case["name"] for case in platform.special_cases("2.14")}


def test_every_check_of_the_tables_exists() -> None:
    """The predicates that the cases name are coded."""
    pytest.importorskip("torch")
    from mpslint.verify.emulator.operators import PREDICATES

    assert {case["check"] for case in platform_data("operators")["cases"]} <= set(PREDICATES)


def test_a_word_is_no_version() -> None:
    """A torch version that is none is a usage error."""
    with pytest.raises(UsageError, match="is not a version of torch"):
        platform.graph_operators("latest")
