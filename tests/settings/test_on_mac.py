"""What a value that a fix writes is on a Mac."""

from __future__ import annotations

import ast

import pytest

from mpslint.settings.spell import value_on_mac


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("not torch.backends.mps.is_available()", False),
        ("torch.cuda.is_available()", False),
        ("not torch.cuda.is_available()", True),
        ('0 if sys.platform == "darwin" else 4', 0),
        ('"no" if torch.backends.mps.is_available() else "fp16"', "no"),
        ('"cuda" if torch.cuda.is_available() else "mps" if torch.backends.mps.is_available() else "cpu"', "mps"),
        ("not torch.backends.mps.is_available() and (args.half or ask())", False),
        ("None", None),
    ],
)
def test_what_a_fix_writes_has_a_value_on_a_mac(text: str, value: object) -> None:
    """All that fixes ask for is there, but CUDA."""
    assert value_on_mac(ast.parse(text, mode="eval").body) == value
