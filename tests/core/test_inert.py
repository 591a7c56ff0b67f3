"""Text of strangers is shown and not obeyed: in terminals, pages, JSON, and the log of GitHub Actions."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mpslint.core.inert import html_text, inert, inert_json, inert_lines, without_commands

ACTIVE = [chr(number) for number in (*range(9), *range(11, 32), *range(0x7F, 0xA0))]
ACTIVE += list("\u061c\u200b\u200e\u200f\u2028\u2029\u202a\u202e\u2066\u2069\ufeff\ufff9\U000e0041")


@pytest.mark.parametrize("letter", ACTIVE, ids=lambda letter: f"U+{ord(letter):04X}")
def test_an_active_character_is_an_escape(letter: str) -> None:
    """Controls, marks of direction, separators and invisible letters show as what they are."""
    shown = inert(f"a{letter}b")

    assert shown.isascii()
    assert shown.isprintable()
    assert shown == inert_lines(f"a{letter}b")
    assert letter not in html_text(f"a{letter}b")
    assert letter not in inert_json(json.dumps(letter, ensure_ascii=False))


@given(st.text())
def test_inert_text_stays_inert(text: str) -> None:
    """What is inert is left alone, JSON keeps its meaning, and a line stays one line."""
    assert inert(inert(text)) == inert(text)
    assert json.loads(inert_json(json.dumps(text, ensure_ascii=False))) == text
    assert len(inert(text).splitlines()) <= 1


@pytest.mark.parametrize("text", ["ordinary text: naïve, 日本語, עברית, \U0001f600", "a\tb"])
def test_ordinary_text_is_left_alone(text: str) -> None:
    """Letters of all scripts, emoji and tabs are no commands."""
    assert inert(text) == text


@pytest.mark.parametrize(
    "line", ["::error file=x::y", "  ::stop-commands::abc", "\t::set-output name=x::y", "a\n::add-mask::b", "x ##[error] y", "##[group]"]
)
def test_no_line_is_a_command(line: str) -> None:
    """Neither form of a workflow command survives, at the start of any line or, of the old form, anywhere."""
    shown = without_commands(line)

    assert not any(part.lstrip().startswith("::") for part in shown.splitlines())
    assert "##[" not in shown


def test_colons_elsewhere_stay() -> None:
    """Only what begins a line is a command."""
    assert without_commands("std::vector and a[::2]") == "std::vector and a[::2]"
