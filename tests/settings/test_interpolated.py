"""The `!` lines of a notebook take the variables of Python, as IPython writes them in."""

from __future__ import annotations

import pytest

from mpslint.facts.values import Known
from mpslint.rewrite.apply import fix
from mpslint.settings.evidence import gather_evidence
from mpslint.source.reader import read
from mpslint.target.target import default_target
from tests.notebooks import notebook

UNKNOWN = object()


def flags(*cells: str) -> dict[str, object]:
    """Return the flags of the first script that a notebook starts, with their values."""
    document = read("train.ipynb", notebook(*cells))
    (launch, *_) = gather_evidence(document, document.python, default_target()).facts.commands
    command = launch.script or launch
    return {name: flag.value.value if isinstance(flag.value, Known) else UNKNOWN for name, flag in command.flags.items()}


LINES = [
    ("A = 4", "!python t.py --a $A", {"a": "4"}),
    ("A = 'x/y'", "!python t.py --a=$A", {"a": "x/y"}),
    ('A = "4"', "!python t.py --a={A}", {"a": "4"}),
    ("A = 2e-6", "!python t.py --a {A} --b", {"a": "2e-06", "b": True}),
    ('A = "4"', '!python t.py --a "$A"', {"a": "4"}),
    ("A = ''", "!python t.py $A --b", {"b": True}),
    ("A = '--use_lora'\nB = True", "!python t.py $A --b $B", {"use_lora": True, "b": "True"}),
    ("A = ''\nB = True\nif B:\n    A = '--use_lora'", "!python t.py $A --b 1", {"use_lora": True, "b": "1"}),
    ("A = '--rank 4 --fp16'", "!python t.py $A", {"rank": "4", "fp16": True}),
    ("A = 2", "!python t.py --a ${A}", {"a": "2"}),
]


@pytest.mark.parametrize(("cell", "line", "wanted"), LINES)
def test_a_line_takes_what_the_cells_above_say(cell: str, line: str, wanted: dict[str, object]) -> None:
    """A value, several words, none."""
    assert flags(cell, line) == wanted


OPEN = [
    ("A = len(x)", "!python t.py --a $A", ""),
    ("A = 2 * 2", "!python t.py --a $A", ""),
    ("A = 4", "!python t.py --a $A", "A = 8"),
    ("A = 4", "%%bash\npython t.py --a $A", ""),
    ("A = 'x $HOME'", "!python t.py --a $A", ""),
    ("B = 4", "!python t.py --a $A", ""),
    ("A = 'a\\tb'", "!python t.py --a $A", ""),
]


@pytest.mark.parametrize(("cell", "line", "below"), OPEN)
def test_what_is_not_plain_stays_open(cell: str, line: str, below: str) -> None:
    """Computed, set again further down, in a shell cell, with something of the shell's own, or not set at all."""
    assert flags(cell, line, below) == {"a": UNKNOWN}


def test_a_fix_is_made_where_the_value_is_written() -> None:
    """In the cell above, not in the line that takes it."""
    before = notebook('PRECISION = "fp16"', "!accelerate launch --mixed_precision=$PRECISION train.py")

    fixed = fix(read("train.ipynb", before), default_target(), unsafe=True)

    assert fixed.data == before.replace(b'\\"fp16\\"', b'\\"no\\"')
