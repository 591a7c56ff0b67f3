"""The length of the longest sample of a batch goes from name to name, and what is filled up to it is noted."""

from __future__ import annotations

import ast

import pytest

from mpslint.facts.facts import Facts
from mpslint.program.evaluator import evaluate_program
from mpslint.program.parse import parse_program
from mpslint.source.reader import read
from mpslint.target.target import default_target


def walked(text: str) -> Facts:
    """Return what is seen of a program."""
    document = read("train.py", text.encode())
    return evaluate_program(document, parse_program(document, document.python).body, default_target().versions)


def fills(body: str) -> list[str]:
    """Return the calls that find the lengths up to which a collate function fills."""
    text = "import torch\ndef collate(rows):\n" + "".join(f"    {line}\n" for line in body.splitlines())
    return [ast.unparse(node) for node, _ in walked(text).fills]


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

    assert len(walked(f"from functools import partial\nimport torch\n{body}work = {given}\n").fills) == found


def test_the_values_of_a_dict_are_no_more_what_they_were_once_a_loop_writes_some() -> None:
    """Under a key that isn't known, in any round before."""
    facts = walked("d = {k: 0 for k in keys}\nfor k in keys:\n    probe(d['a'])\n    d[k] = d[k] + 1\n")
    (probed,) = (call for call in facts.calls if call.node.args and ast.unparse(call.node.func) == "probe")

    assert getattr(probed.arguments[0].value, "value", None) != 0
