"""Names and attributes that only a branch for CUDA, or for other devices than MPS, gives a value."""

from __future__ import annotations

import pytest

from mpslint.engine import check
from mpslint.source import reader as source
from mpslint.target.target import default_target

BRANCH = 'if torch.cuda.is_available():\n    d = "cuda"\n'


@pytest.mark.parametrize(
    ("text", "is_found"),
    [
        (f"{BRANCH}print(d)\n", True),
        (f"{BRANCH}for i in range(3):\n    print(d)\n    d = i\n", True),
        (f"{BRANCH}for i in range(3):\n    d = i\nprint(d)\n", False),
        (f"def setup():\n    global d\n    d = 1\n\n\n{BRANCH}print(d)\n", False),
        (f"d = 1\n{BRANCH}del d\nprint(d)\n", False),
        (f"{BRANCH}g = vars()\ng['d'] = 2\nprint(d)\n", False),
        (f"{BRANCH}exec(open('x').read())\nprint(d)\n", False),
        (f"for k in range(2):\n    if k:\n        print(d)\n{BRANCH}", False),
        (f"{BRANCH}if (d := x):\n    print(d)\n", False),
        (f"{BRANCH}with open('x') as d:\n    pass\nprint(d)\n", False),
        (f"{BRANCH}def use():\n    print(d)\n\n\nd = 2\nuse()\n", False),
    ],
)
def test_a_name_is_found_where_the_walk_reads_it_without_a_value(text: str, is_found: bool) -> None:
    """Whatever else may give it a value, on any path, leaves it alone."""
    found = check(source.read("train.py", f"import torch\n\n{text}".encode()), default_target()).findings

    assert any(one.rule == "MPS567" for one in found) == is_found


@pytest.mark.parametrize(
    ("read", "error"),
    [("print(d)", "UnboundLocalError"), ("class A:\n        x = d", "NameError")],
)
def test_the_error_is_that_of_the_scope_that_reads(read: str, error: str) -> None:
    """The body of a class looks a name up otherwise than the function around it."""
    text = f"import torch\n\n\ndef run():\n    if torch.cuda.is_available():\n        d = object\n    {read}\n\n\nrun()\n"
    found = check(source.read("train.py", text.encode()), default_target()).findings

    assert [one.message.endswith(f"raises {error}.") for one in found if one.rule == "MPS567"] == [True]


OF_AN_OBJECT = """import torch


class Run:
    def __init__(self, device):
        {made}

    def step(self):
        {read}


Run("mps").step()
"""
IF_CUDA = "if torch.cuda.is_available():\n            self.kind = 1"


@pytest.mark.parametrize(
    ("made", "read", "is_found"),
    [
        (IF_CUDA, "print(self.kind)", True),
        (
            'if device == "cuda":\n            self.kind = 1\n        elif device == "cpu":\n            self.kind = 2',
            "print(self.kind)",
            True,
        ),
        ('if device == "cuda":\n            self.kind = 1\n        else:\n            self.kind = 2', "print(self.kind)", False),
        (IF_CUDA, "print(self.kind if hasattr(self, 'kind') else None)", False),
        (IF_CUDA, "print(torch.cuda.is_available() and self.kind)", False),
        (IF_CUDA, "try:\n            print(self.kind)\n        except AttributeError:\n            pass", False),
        (f"{IF_CUDA}\n        self.kind = 2", "print(self.kind)", False),
        ("self.kind = 2", f"del self.kind\n        {IF_CUDA}\n        print(self.kind)", False),
    ],
)
def test_an_attribute_is_found_where_its_object_lacks_it(made: str, read: str, is_found: bool) -> None:
    """An object of a class of the program has what the branches of this run gave it, and nothing else."""
    found = check(source.read("train.py", OF_AN_OBJECT.format(made=made, read=read).encode()), default_target()).findings

    assert any(one.rule == "MPS567" for one in found) == is_found
