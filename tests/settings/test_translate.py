"""How many rows of a data set a Trainer is given."""

from __future__ import annotations

import pytest

from mpslint.settings.evidence import gather_evidence
from mpslint.source.reader import read
from mpslint.target.target import default_target

HEAD = "from datasets import load_dataset\nfrom transformers import Trainer\n"


def rows(data: str) -> object:
    """Return the rows to train on that a script says."""
    document = read("train.py", f"{HEAD}{data}\nTrainer(model, args, train_dataset=rows)\n".encode())
    return gather_evidence(document, document.text, default_target()).plans[0].constant("data.rows")


@pytest.mark.parametrize(
    ("data", "number"),
    [
        ('rows = load_dataset("x", split="train[:50]")', 50),
        ('rows = load_dataset("x", split="train").shuffle(seed=1).select(range(50)).map(tokenize)', 50),
        ('every = load_dataset("x")\nrows = every["train"].select(range(3, 9)).rename_column("a", "b")', 6),
        ('rows = load_dataset("x", split="train[:50%]")', None),
        ('rows = load_dataset("x", split="train")', None),
        ('rows = load_dataset("x", split="train").select(range(some))', None),
        ('rows = load_dataset("x", split="train[:50]").filter(wanted).train_test_split()["train"]', 50),
        ('rows = load_dataset("x", split="train[:50]").flatten_indices()', None),
    ],
)
def test_rows(data: str, number: int | None) -> None:
    """Known where the last step that picks rows says it, and only steps that keep them follow."""
    assert rows(data) == number
