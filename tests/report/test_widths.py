"""A report fits its terminal, and no word is broken at the edge."""

from __future__ import annotations

import io
import os
from pathlib import Path

import pytest
from rich.console import Console

from mpslint.report.rules import print_rule
from mpslint.report.terminal import Terminal
from mpslint.report.text import print_report
from mpslint.rule.loading import load_rules
from mpslint.session.runs import check_paths
from mpslint.session.session import Options
from mpslint.session.view import view

FILE = os.path.relpath(Path(__file__).parents[2] / "samples" / "amp_loop.py")


@pytest.fixture(scope="module")
def views() -> list[object]:
    """What is found in a sample."""
    return [view(result) for result in check_paths([FILE], Options())]


def terminal(width: int) -> Terminal:
    """A terminal of a width that keeps what it is given."""
    stream = io.StringIO()
    return Terminal(stream, Console(file=stream, width=width, highlight=False, soft_wrap=True, emoji=False, markup=False), width)


@pytest.mark.parametrize("rule", ["MPS301", "MPS603"])
def test_a_rule_is_printed_without_marks_of_its_making(rule: str) -> None:
    """No escaped line ends where nobody watches, no fix told twice, no sentence that begins small after a version was left out."""
    stream = io.StringIO()
    print_rule(Terminal(stream), next(one for one in load_rules() if one.id == rule))
    printed = stream.getvalue().partition("\nBefore")
    fixes = [part for part in printed[0].split("\n\n") if part.startswith("Fix, ")]

    assert printed[1], "the heading stands at the beginning of a line"
    assert "\\n" not in printed[2].replace('"\\n"', "")
    assert len(fixes) == len(set(fixes)) > 0
    assert ". each new length" not in printed[0]


@pytest.mark.parametrize("width", [60, 72, 80, 100, 140, 200])
def test_a_report_breaks_between_words(views: list[object], width: int) -> None:
    """Every line fits, but for source and for words that are longer than the terminal; the words are those of the widest one."""
    narrow, wide = terminal(width), terminal(2000)
    for out in (narrow, wide):
        print_report(out, views)  # type: ignore[arg-type]
        print_rule(out, next(rule for rule in load_rules() if rule.id == "MPS603"))
    lines = narrow.stream.getvalue().splitlines()  # type: ignore[attr-defined]
    prose, whole = ([line for line in text if " | " not in line] for text in (lines, wide.stream.getvalue().splitlines()))  # type: ignore[attr-defined]

    assert [line for line in prose if len(line) > width and len(line.split()) > 1 and not line.startswith("  ")] == []
    assert set(" ".join(prose).split()) == set(" ".join(whole).split())
