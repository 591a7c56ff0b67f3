"""The length of the longest sample of a batch, and that which samples have before, go from name to name."""

from __future__ import annotations

import ast

import pytest

from mpslint.facts.facts import Facts
from mpslint.program.evaluator import evaluate_program
from mpslint.program.lengths import has_one_length
from mpslint.program.parse import parse_program
from mpslint.source.reader import read
from mpslint.target.target import default_target


def walked(text: str) -> Facts:
    """Return what is seen of a program."""
    document = read("train.py", text.encode())
    return evaluate_program(document, parse_program(document, document.python).body, default_target().versions)


START = "from torch.utils.data import DataLoader, Dataset\nimport torch\n"


def fills(body: str, collate: str = "collate") -> list[str]:
    """Return the calls that find the lengths up to which a collate function fills."""
    text = f"{START}def collate(rows):\n" + "".join(f"    {line}\n" for line in body.splitlines())
    text += f"loader = DataLoader(data, collate_fn={collate})\n"
    return [ast.unparse(node) for one in walked(text).preparations for node, _ in one.fills]


@pytest.mark.parametrize(
    "body",
    [
        "n = max(len(row) for row in rows) + 2\nreturn torch.zeros(len(rows), n)",
        "sizes = {'most': max(map(len, rows))}\nreturn [row + [0] * (sizes['most'] - len(row)) for row in rows]",
        "n = 0\nfor row in rows:\n    n = max(n, len(row))\nreturn torch.full((len(rows), n), 0)",
        "rows = sorted(rows, key=len, reverse=True)\nreturn torch.zeros(len(rows), len(rows[0]))",
        "rows = list(rows)\nrows.sort(key=lambda row: len(row), reverse=True)\nreturn torch.zeros(len(rows), len(rows[0]))",
        "rows.sort(key=lambda row: len(row[1]), reverse=True)\nreturn torch.zeros(len(rows), len(rows[0][1]))",
        "n = max(len(row) for row in rows)\nn += 8 - n % 8\nreturn torch.zeros(len(rows), n)",
    ],
)
def test_what_is_filled_up_to_the_longest_is_noted(body: str) -> None:
    """However the length gets there."""
    assert len(set(fills(body))) == 1


@pytest.mark.parametrize(
    "body",
    [
        "n = max(len(row) for row in rows)\nreturn torch.zeros(len(rows), (n + 63) // 64 * 64)",
        "n = max(len(row) for row in rows)\nreturn torch.zeros(len(rows), (n + 64 - 1) // 64 * 64)",
        "n = max(len(row) for row in rows)\nn += 64 - n % 64\nreturn torch.zeros(len(rows), n)",
        "n = max(len(row) for row in rows)\nn = 512\nreturn torch.zeros(len(rows), n)",
        "n = max(row['score'] for row in rows)\nreturn torch.zeros(len(rows), n)",
        "n = max(len(row) for row in rows)\nprint(n)\nreturn torch.zeros(len(rows), 512)",
        "n = max(16, *[len(row) for row in rows])\nreturn torch.zeros(len(rows), n)",
    ],
)
def test_another_length_is_none_of_the_longest(body: str) -> None:
    """One that is rounded up leaves a few, and one that is given is the same for all batches."""
    assert fills(body) == []


@pytest.mark.parametrize(("given", "found"), [("partial(collate, n=512)", 0), ("partial(collate)", 1)])
def test_what_a_partial_gives_is_what_its_function_gets(given: str, found: int) -> None:
    """A length that is given there is not looked for."""
    body = (
        "def collate(rows, n=None):\n    if n is None:\n        n = max(len(row) for row in rows)\n    return torch.zeros(len(rows), n)\n"
    )

    (one,) = walked(f"from functools import partial\n{START}{body}loader = DataLoader(data, collate_fn={given})\n").preparations

    assert len(one.fills) == found


@pytest.mark.parametrize(
    ("sample", "expected"),
    [
        ("row[:80] + [0] * (80 - len(row))", True),
        ("torch.nn.functional.pad(row[start : start + self.most], (0, self.most - len(row)))", True),
        ("self.filled(row[: self.most])", True),
        ("torch.zeros(80)", True),
        ("tokenizer(row, padding='max_length', truncation=True)['input_ids']", True),
        ("librosa.util.fix_length(row, size=80)", True),
        ("row[:80]", False),
        ("row + [0] * (80 - len(row))", False),
        ("row[:-1]", False),
        ("tokenizer(row, padding='max_length')['input_ids']", False),
        ("len(row)", False),
    ],
)
def test_a_sample_has_one_length_that_is_cut_and_filled_to_it(sample: str, expected: bool) -> None:
    """Wherever in the data set that is done, and in whichever words."""
    text = f"""{START}import librosa


class Data(Dataset):
    def filled(self, row):
        while len(row) < self.most:
            row.extend([0] * (self.most - len(row)))
        return row

    def __getitem__(self, index):
        row = self.rows[index]["text"]
        return {{"part": {sample}, "label": 1}}


def collate(rows):
    probe(rows[0]["part"])


loader = DataLoader(torch.utils.data.random_split(Data(), [0.9, 0.1])[0], collate_fn=collate)
"""
    (one,) = walked(text).preparations
    (probed,) = (call for call in one.calls if ast.unparse(call.node.func) == "probe")

    assert has_one_length(probed.arguments[0].value) is expected


def test_the_values_of_a_dict_are_no_more_what_they_were_once_a_loop_writes_some() -> None:
    """Under a key that isn't known, in any round before."""
    facts = walked("d = {k: 0 for k in keys}\nfor k in keys:\n    probe(d['a'])\n    d[k] = d[k] + 1\n")
    (probed,) = (call for call in facts.calls if call.node.args and ast.unparse(call.node.func) == "probe")

    assert getattr(probed.arguments[0].value, "value", None) != 0
