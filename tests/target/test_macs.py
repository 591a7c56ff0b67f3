"""The chips that a Target may name."""

from __future__ import annotations

import pytest

import mpslint
from mpslint.core.finding import UsageError
from mpslint.target.macs import known_chip


@pytest.mark.parametrize("name", ["m9", "Apple M12 Pro"])
def test_a_chip_that_nobody_sells_is_refused(name: str) -> None:
    """Its typing error would be checked for as if it were a Mac."""
    with pytest.raises(UsageError, match="isn't known; known chips: m1, m2"):
        mpslint.check("import torch\n", target={"chip": name})


@pytest.mark.parametrize("name", ["m1", "M4 Pro", "apple m5 max", ""])
def test_known_chips_are_taken(name: str) -> None:
    """In any case."""
    assert known_chip(name) == name
