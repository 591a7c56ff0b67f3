"""Imports of packages that no Mac has end the branch they stand in."""

from __future__ import annotations

import pytest

from mpslint.api import check
from mpslint.settings.evidence import gather_evidence
from mpslint.source.reader import read
from mpslint.target.target import default_target

BRANCH = """import torch

def load(weights):
    if weights.endswith(".engine"):
{body}
    return torch.ones(1)

load(weights)
"""
PLAIN = """        import tensorrt as trt
        torch.zeros(1)"""
CAUGHT = """        try:
            from tensorrt import Logger
            torch.zeros(1)
        except ImportError:
            pass"""
COLAB = """        from google.colab import drive
        torch.zeros(1)"""
OF_GOOGLE = """        from google.cloud import storage
        torch.zeros(1)"""
PRESENT = """        import numpy
        torch.zeros(1)"""


@pytest.mark.parametrize(("body", "expected"), [(PLAIN, False), (CAUGHT, False), (COLAB, False), (OF_GOOGLE, True), (PRESENT, True)])
def test_what_follows_the_import(body: str, expected: bool) -> None:
    """What follows such an import is not reached, whether its error is caught or not; the code around the branch is."""
    document = read("load.py", BRANCH.format(body=body).encode())
    evidence = gather_evidence(document, document.python, default_target())

    assert ("torch.zeros" in evidence.calls_of_name) is expected
    assert "torch.ones" in evidence.calls_of_name


GUARDED = """import torch

try:
    import {package}
    {flag}
except {error}:
    {package} = None
    HAS = False

model = torch.nn.Linear(2, 2)
if {test}:
    model = model.cuda()
"""


@pytest.mark.parametrize("error", ["ImportError", "ModuleNotFoundError", "Exception", "(ImportError, OSError)"])
@pytest.mark.parametrize(("flag", "test"), [("", "{} is not None"), ("", "{}"), ("HAS = True", "HAS")])
def test_what_asks_for_the_package_is_not_reached(error: str, flag: str, test: str) -> None:
    """The handler of the import runs, and nothing of the `try` below it."""
    test = test.format("flash_attn")
    text = GUARDED.format(package="flash_attn", error=error, flag=flag, test=test)

    assert check(text).findings == ()
    assert "MPS501" in [finding.rule for finding in check(text.replace(f"if {test}", "if model")).findings]


def test_a_package_that_a_mac_may_have_is_there() -> None:
    """What is imported in a `try` is taken to be installed."""
    text = GUARDED.format(package="wandb", error="ImportError", flag="", test="wandb is not None")

    assert "MPS501" in [finding.rule for finding in check(text).findings]


NAMED = """
import torch
{before}try:
    from trl import SFTConfig, SFTTrainer
    {flag}
except ImportError:
    from trl import SFTTrainer
    SFTConfig = None
    {other}

model = torch.nn.Linear(2, 2)
if {test}:
    model = model.to("mps")
else:
    model = model.cuda()
"""


@pytest.mark.parametrize(
    ("before", "flag", "other", "test"),
    [
        ("", "TRL_V1 = True", "TRL_V1 = False", "TRL_V1"),
        ("", "OLD: bool = False", "OLD: bool = True", "not OLD"),
        ("TRL_V1 = False\n", "TRL_V1 = True", "pass", "TRL_V1"),
    ],
)
def test_what_is_noted_beside_an_import_holds_with_it(before: str, flag: str, other: str, test: str) -> None:
    """The branch for versions that lack the name is not judged by those that have it."""
    assert "MPS501" not in [finding.rule for finding in check(NAMED.format(before=before, flag=flag, other=other, test=test)).findings]


def test_other_work_beside_an_import_may_fail() -> None:
    """Where more than imports may raise the error, the handler is a path of its own."""
    text = NAMED.format(before="", flag="TRL_V1 = load()", other="TRL_V1 = False", test="TRL_V1")

    assert "MPS501" in [finding.rule for finding in check(text).findings]
