"""A `match` for the system is walked as a Mac takes it."""

from __future__ import annotations

import pytest

from mpslint.api import check

HEAD = "import platform\nimport torch\n\nnet = torch.nn.Linear(2, 2)\n"


@pytest.mark.parametrize(
    ("text", "is_found"),
    [
        ("match platform.system():\n    case 'Linux':\n        net.cuda()\n    case 'Darwin':\n        net.to('mps')\n", False),
        ("match platform.system():\n    case 'Linux' | 'Windows':\n        net.cuda()\n", False),
        ("match platform.system():\n    case 'Darwin':\n        pass\n    case _:\n        net.cuda()\n", False),
        ("match platform.system():\n    case 'Linux':\n        pass\n    case _:\n        net.cuda()\n", True),
        ("match name:\n    case 'big':\n        net.cuda()\n", True),
    ],
)
def test_a_case_that_a_mac_does_not_take_is_not_judged(text: str, is_found: bool) -> None:
    """A case counts where the Mac takes it, or may."""
    assert ("MPS501" in {finding.rule for finding in check(HEAD + text).findings}) is is_found
