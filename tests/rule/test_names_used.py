"""What a condition `uses` finds in a program: its names, not what its comments and sentences say."""

from __future__ import annotations

import pytest

from mpslint.settings.evidence import gather_evidence
from mpslint.source.document import Kind
from mpslint.source.reader import read
from mpslint.target.target import default_target

SCRIPT = '''
"""Not mps."""
from lightning import Trainer as Loop  # nor cuda
from torch.utils import data


def step(batch, device="mps:0", *, lora_rank=8):
    loss = model(**batch.to(device), labels=None)
    print("trained on xla", getattr(model, "hf_device_map", None))
    accelerator.mixed_precision
    return loss
'''


@pytest.mark.parametrize(
    "name",
    [
        "step",
        "batch",
        "device",
        "lora_rank",
        "model",
        "labels",
        "hf_device_map",
        "'hf_device_map'",
        "mps:0",
        "accelerator.mixed_precision",
        ".mixed_precision",
        ".to",
        "lightning",
        "Trainer",
        "data",
        "unpacked batch",
    ],
)
def test_a_name_of_the_program(name: str) -> None:
    """A name, a parameter, an argument, an attribute with or without what it is of, a text, a module, an unpacked mapping."""
    assert name in names(SCRIPT)


@pytest.mark.parametrize("name", ["mps", "cuda", "xla", "trained", "'labels'", "unpacked model"])
def test_no_name_of_the_program(name: str) -> None:
    """A word of a comment, of a docstring or of a longer text; a name in quotes that is no text."""
    assert name not in names(SCRIPT)


def test_the_words_of_a_command_are_names() -> None:
    """`yolo train` trains as `model.train()` does."""
    assert {"command train", "command mode=tune"} <= names("yolo detect train data=x\nyolo mode=tune\n", Kind.SHELL)


def names(text: str, kind: Kind = Kind.PYTHON) -> frozenset[str]:
    """Return the names that a file has."""
    document = read("train.sh" if kind is Kind.SHELL else "train.py", text.encode(), kind)
    return gather_evidence(document, document.python, default_target()).names_used
