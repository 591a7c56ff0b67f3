"""Files that no rule is asked about."""

from __future__ import annotations

import pytest

from mpslint.gate.gate import is_suite
from mpslint.source.reader import read

CONFIG = b"model_name_or_path: a/b\nper_device_train_batch_size: 64\n"


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("tests/fixtures/sft.yaml", True),
        ("test/unit/fixtures/sft.yaml", True),
        ("recipes/sft.yaml", False),
        ("tests.yaml", False),
        ("fixtures/sft.yaml", False),
    ],
)
def test_a_fixture_is_for_tests(path: str, expected: bool) -> None:
    """Configuration that a test suite reads trains nothing."""
    assert is_suite(read(path, CONFIG)) is expected
