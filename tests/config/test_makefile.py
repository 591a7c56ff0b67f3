"""Makefiles: the commands of their recipes, with the variables that make puts in."""

from __future__ import annotations

import pytest

from mpslint.config.makefile import read_makefile
from mpslint.facts.values import Known


def flags_of(text: str) -> dict[str, object]:
    """Return the flags of the one command of a Makefile; None for a value that is not known."""
    (command,) = read_makefile(text).commands
    return {name: flag.value.value if isinstance(flag.value, Known) else None for name, flag in command.flags.items()}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("LR = 1\nt:\n\tpython x.py --lr $(LR)\n", "1"),
        ("t:\n\tpython x.py --lr $(LR)\nLR := 1 # a rate\n", "1"),
        ("A = $(B)\nB = 1\nt:\n\tpython x.py --lr ${A}\n", "1"),
        ("LR ?= 1\nt:\n\t@python x.py --lr='$(LR)'\n", "1"),
        ("F = --lr\nF += 1\nt:\n\t-python x.py $(F)\n", "1"),
        ("t:\n\tpython x.py \\\n\t  --lr 1\n", "1"),
        ("export LR = 1\nt:\n\tpython x.py --lr $(LR)\n", "1"),
        ("t:\n\tpython x.py --lr $(LR)\n", None),
        ("LR = 1\nt:\n\tLR=2; python x.py --lr $$LR\n", None),
        ("LR = 1\nt: LR = 2\nt:\n\tpython x.py --lr $(LR)\n", None),
        ("ifdef GPU\nLR = 1\nelse\nLR = 2\nendif\nt:\n\tpython x.py --lr $(LR)\n", None),
        ("define LR\n1\nendef\nt:\n\tpython x.py --lr $(LR)\n", None),
        ("t:\n\tpython x.py --lr $(shell nproc)\n", None),
        ("t:\n\tpython x.py --lr $@\n", None),
        ("LR != date\nt:\n\tpython x.py --lr $(LR)\n", None),
    ],
)
def test_a_flag_has_the_value_that_make_gives_it(text: str, value: str | None) -> None:
    """Unless only make, its user or the shell knows it."""
    assert flags_of(text) == {"lr": value}


def test_each_line_is_a_shell_of_its_own() -> None:
    """A variable that one line exports is lost in the next; one that the Makefile exports is not."""
    found = read_makefile("export A = 1\nt:\n\texport B=2\n\tC=3 python x.py\n")

    assert [(one.name, one.style) for one in found.environment] == [("A", "dotenv"), ("B", "lost"), ("C", "inline")]


def test_words_stand_where_they_are_written() -> None:
    """Those of a variable in its assignment, shifted by where the file begins."""
    text = "F = --lr 12\nt:\n\tpython x.py $(F)\n"
    (command,) = read_makefile(text, 100).commands

    assert [text[one.span.start - 100 : one.span.end - 100] for one in command.given] == ["python", "x.py", "--lr", "12"]


@pytest.mark.parametrize(
    "text", ["", "\t", "A =", "t:\n\t", "define A\n", "endif\n", "A = $(A)$(A)\nt:\n\techo $(A)\n", "$(\n\t$(\n", "t:\n\t\\\n"]
)
def test_odd_files_are_no_mistake_of_ours(text: str) -> None:
    """What is no Makefile gives nothing."""
    assert read_makefile(text).environment == []


def test_variables_that_hold_each_other_twice_are_bounded() -> None:
    """Sixty doublings would be more text than any machine holds."""
    lines = ["D0 = xxxxxxxxxx", *(f"D{n} = $(D{n - 1})$(D{n - 1}) $(D{n - 1})" for n in range(1, 60)), "train:", "\tpython train.py $(D59)"]

    facts = read_makefile("\n".join(lines))

    assert [command.words[:2] for command in facts.commands] == [("python", "train.py")]
