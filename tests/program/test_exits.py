"""What a Mac doesn't reach, because the program ends there without CUDA, is not reported."""

from __future__ import annotations

import json

import pytest

from mpslint.api import check

HEAD = "import os, sys\nimport torch\n\n"
REST = "x = torch.ones(2).cuda()\ntorch.cuda.synchronize()\n"
EXITS = [
    "if not torch.cuda.is_available():\n    print('no GPU')\n    sys.exit(1)\n",
    "if not torch.cuda.is_available():\n    raise RuntimeError('no GPU')\n",
    "if torch.cuda.is_available():\n    device = torch.device('cuda')\nelse:\n    raise SystemExit('no GPU')\n",
    "if torch.cuda.device_count() == 0:\n    exit()\n",
    "assert torch.cuda.is_available(), 'no GPU'\n",
]


@pytest.mark.parametrize("ends", EXITS)
def test_only_the_exit_is_reported(ends: str) -> None:
    """One cause is one finding: what follows never runs on the Mac."""
    assert [finding.rule for finding in check(HEAD + ends + REST).findings] == ["MPS504"]


@pytest.mark.parametrize("ends", EXITS)
def test_an_exit_of_a_function_ends_that_function(ends: str) -> None:
    """What follows in the function is not reached; what another one does is judged."""
    inside = "".join(f"    {line}\n" for line in (ends + REST).splitlines())
    text = HEAD + f"def train():\n{inside}\n\ndef other():\n    torch.cuda.synchronize()\n\ntrain()\nother()\n"
    assert [finding.rule for finding in check(text).findings] == ["MPS504", "MPS505"]


@pytest.mark.parametrize(
    "goes_on",
    [
        "if not torch.cuda.is_available():\n    print('slow')\n",
        "if not torch.cuda.is_available() and '--cpu' not in sys.argv:\n    sys.exit(1)\n",
        "try:\n    assert torch.cuda.is_available()\nexcept AssertionError:\n    pass\n",
    ],
)
def test_what_may_be_reached_is_reported(goes_on: str) -> None:
    """A warning, a test that the Mac doesn't decide and an exit that is caught go on."""
    assert "MPS501" in [finding.rule for finding in check(HEAD + goes_on + REST).findings]


def test_a_script_that_ends_after_its_work_is_judged_whole() -> None:
    """`sys.exit(main())` ends what is done, so helpers that nothing calls are judged, as in every other script."""
    text = (
        HEAD
        + "def main():\n    if not torch.cuda.is_available():\n        print('slow')\n\n\ndef helper():\n    torch.ones(2).cuda()\n\n\nif __name__ == '__main__':\n    sys.exit(main())\n"
    )
    assert [finding.rule for finding in check(text).findings] == ["MPS501"]


def test_a_cell_that_raises_keeps_nobody_from_the_next() -> None:
    """A notebook is run cell by cell."""
    cells = [HEAD, EXITS[1], REST]
    notebook = {"cells": [{"cell_type": "code", "metadata": {}, "outputs": [], "execution_count": None, "source": one} for one in cells]}
    text = json.dumps({**notebook, "metadata": {}, "nbformat": 4, "nbformat_minor": 5})
    assert [finding.rule for finding in check(text, filename="a.ipynb").findings] == ["MPS504", "MPS501", "MPS505"]


def test_the_rest_of_a_cell_that_raises_is_not_reported() -> None:
    """It isn't reached; the names that it gives values are, once the check is put right, what later cells read."""
    cells = [
        "import torch\nassert torch.cuda.is_available()\ntorch.cuda.synchronize()\nDEVICE = 'cuda:0'",
        "x = torch.ones(2).to(DEVICE)",
    ]
    notebook = {"cells": [{"cell_type": "code", "metadata": {}, "outputs": [], "execution_count": None, "source": one} for one in cells]}
    text = json.dumps({**notebook, "metadata": {}, "nbformat": 4, "nbformat_minor": 5})
    assert [finding.rule for finding in check(text, filename="a.ipynb").findings] == ["MPS504", "MPS501"]


def test_a_text_that_is_cleaned_was_decided_where_it_was_written() -> None:
    """`requested.strip().lower()` is not the place that one changes."""
    text = "import torch\n\ndef choose(name):\n    return name.strip().lower()\n\nx = torch.ones(2).to(choose('cuda'))\n"
    assert [finding.line for finding in check(text).findings] == [6]
