"""The audit of strangers' code measures what it says (`benchmarks/audit.py`, `benchmarks/audit_fixes.py`)."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "benchmarks"))

import audit
import audit_fixes

from mpslint.source.reader import read
from mpslint.target.target import default_target

FOUND = audit.Found("k", "a+b", "a+b/x.py", 3, "MPS501", "error", "m", "", "")


def labels(*pairs: tuple[str, int]) -> list[audit.Labelled]:
    """Return one labelled file."""
    return [audit.Labelled("a/b", "0" * 40, "x.py", frozenset(pairs))]


def test_recall_and_precision_are_counted_by_rule_and_line(capsys: pytest.CaptureFixture[str]) -> None:
    """A miss and a finding beside the labels are named; files without labels don't count."""
    elsewhere = replace(FOUND, path="a+b/y.py")
    assert audit.measure(labels(("MPS501", 3)), [FOUND, elsewhere]) == 0
    assert audit.measure(labels(("MPS501", 3), ("MPS503", 9)), [FOUND, replace(FOUND, line=4)]) == 1
    assert capsys.readouterr().out.splitlines() == [
        "1 files, 1 labels: recall 1.00, precision 1.00",
        "missed MPS503 a+b/x.py:9",
        "beside MPS501 a+b/x.py:4",
        "1 files, 2 labels: recall 0.50, precision 0.50",
    ]


def test_the_labelled_files_are_those_of_public_commits() -> None:
    """Each names a whole commit, and rules that exist or that nobody has written yet."""
    files = audit.labelled(Path(audit.__file__).with_name("labelled.yaml"))
    rules = {path.name[:6] for path in (Path(__file__).parents[1] / "rules").glob("*/MPS*.yaml")}
    assert all(len(file.commit) == 40 for file in files)
    assert {rule for file in files for rule, _ in file.labels} <= rules | {"unknown"}


@pytest.mark.parametrize(
    ("before", "after", "broken"),
    [
        ("x = 1\n", "x = (\n", "does not parse"),
        ("import torch\nd = 'cpu'\n", "import torch\nd = DEVICE\n", "unbound names"),
        ("import torch\nx = 1\n", "import torch\nx = torch.ones(2).cuda()\n", "gains findings"),
        (
            "from transformers import TrainingArguments\na = TrainingArguments('out', fp16=True)\n",
            "from transformers import TrainingArguments\na = TrainingArguments('out', fp16=False)\n",
            "changes with CUDA",
        ),
    ],
)
def test_a_broken_rewrite_is_named(before: str, after: str, broken: str) -> None:
    """Each way in which a rewrite can be wrong is told from the others."""
    files = [read("train.py", text.encode()) for text in (before, after)]
    assert [kind for kind, _ in audit_fixes.broken(files[0], files[1], default_target())] == [broken]


def test_a_right_rewrite_is_not() -> None:
    """What is kept for other machines is kept."""
    before = "import torch\nfrom transformers import TrainingArguments\na = TrainingArguments('out', fp16=True)\n"
    files = [read("train.py", text.encode()) for text in (before, before.replace("True", "not torch.backends.mps.is_available()"))]
    assert not list(audit_fixes.broken(files[0], files[1], default_target()))
