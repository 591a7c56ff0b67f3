"""Makefiles: the commands of their recipes, with the variables that make puts in."""

from __future__ import annotations

import os
import shutil
import subprocess

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from mpslint.config.makefile import read_makefile
from mpslint.config.shell_words import Shell
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


_SIDES = ["$(A)", "$(B)", "$(C)", "a", "b", ""]
_ASSIGNED = ["A{}a", "A{}b", "A{}$(B)", "A{}$(C)$(B)", "B{}a", "B{}b", "B{}$(C)", "B{}$(C)$(C)", "C{}a", "C{}b"]
_STATEMENTS = st.one_of(
    st.builds(str.format, st.sampled_from(_ASSIGNED), st.sampled_from([" = ", "=", ":=", " ?= ", "+="])),
    st.builds("{} ({},{})".format, st.sampled_from(["ifeq", "ifneq"]), st.sampled_from(_SIDES), st.sampled_from(_SIDES)),
    st.sampled_from(["else", "endif", "endif", "ifdef A"]),
)


@pytest.mark.skipif(shutil.which("make") is None, reason="make is the oracle")
@settings(max_examples=300)
@given(st.lists(_STATEMENTS, min_size=2, max_size=12))
def test_what_is_certain_is_what_make_puts_in(lines: list[str]) -> None:
    """However variables hold each other, are given anew, and depend on conditions."""
    depth = 0
    kept: list[str] = []
    for line in lines:
        opens, closes = line.startswith("if"), line == "endif"
        if (closes or line == "else") and (not depth or (line == "else" and "else" in kept[-depth:])):
            continue
        depth += opens - closes
        kept.append(line)
    text = "\n".join([*kept, *["endif"] * depth, "t:", "\t@echo --a=$(A) --b=$(B) --c=$(C)", ""])
    made = subprocess.run(
        ["make", "-f", "-", "t"], input=text, capture_output=True, text=True, env={"PATH": os.environ["PATH"]}, check=False
    )
    assume(made.returncode == 0)
    real = dict(word.split("=", 1) for word in made.stdout.strip("-\n").split(" --"))

    (command,) = read_makefile(text).commands
    for name, flag in command.flags.items():
        if isinstance(flag.value, Known) and not flag.value.weak and flag.value.value is not True:
            assert flag.value.value == real[name], (name, text, made.stdout)


def test_conditions_read_no_variable_twice_that_stays_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sixty variables that triple and 3,000 conditions were read 3,000 times over: more than a minute for 34 KB."""
    read: list[str] = []
    original = Shell.unquoted
    monkeypatch.setattr(Shell, "unquoted", lambda shell, raw, *rest, **named: read.append(raw) or original(shell, raw, *rest, **named))
    tripled = "".join(f"A{n + 1}=$(A{n})$(A{n})$(A{n})\n" for n in range(60))

    read_makefile("A0=a\n" + tripled + "ifeq ($(A60),b)\nendif\n" * 3000)
    assert len(read) == 61

    read.clear()
    read_makefile("A0=a\n" + tripled + "".join(f"A0={n}\nifeq ($(A60),b)\nendif\n" for n in range(1000)))
    assert len(read) < 40 * 1061


def test_what_variables_put_into_recipes_is_bounded() -> None:
    """A variable of 400 words that a line holds thousands of times stands there no more often than the text allows."""
    (command,) = read_makefile("A=" + "a " * 400 + "\nt:\n\tpython x.py " + "$(A) " * 20_000 + "\n").commands

    assert command.words[:2] == ("python", "x.py")
    assert len(command.words) < 100_000
