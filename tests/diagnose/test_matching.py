"""A message is found however it was pasted: wrapped, coloured, prefixed, quoted, indented."""

from __future__ import annotations

import re

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from mpslint.diagnose import Log, diagnose
from mpslint.diagnose.compact import blank_escapes, compact, squeeze, strip_escapes, unwrap
from mpslint.diagnose.matching import MOST_TIMES
from tests.diagnose.pasted import pasted

EXAMPLES = [
    (message.id, example.text)
    for message, example in pasted()
    # Words in a row are searched line by line, so a line break in their middle hides them; patterns are searched across lines.
    if not any(words.search(example.text) for words in message.words)
]
PREFIXES = [
    "",
    "    ",
    "[rank0]: ",
    "ERR: ",
    "[ERROR] ",
    "2026-03-01 10:00:00,123 - ",
    "2026-03-01T10:00:00.1234567Z ",
    "[2026-03-01 10:00:00] ",
    "(RayTrainWorker pid=4711) ",
    "train-1  | ",
    "E   ",
    "> ",
    "│ ",
]
COLOURS = ["", "\x1b[0;31m", "\x1b[0m", "\x1b[38;5;241m", "[31m", "\\u001b[1m", "^[[0m"]


@settings(max_examples=300)
@given(data=st.data())
def test_wraps_prefixes_and_colours_hide_nothing(data: st.DataObject) -> None:
    """A text broken at any character, each line with the same prefix and with colours in it, is still its message."""
    name, text = data.draw(st.sampled_from(EXAMPLES))
    prefix = data.draw(st.sampled_from(PREFIXES))
    text = " ".join(text.split())
    cuts = sorted(data.draw(st.sets(st.integers(1, max(1, len(text) - 1)), max_size=4)))
    pieces = [text[start:end] for start, end in zip([0, *cuts], [*cuts, len(text)], strict=True)]
    # A piece that looks like a prefix itself is taken for one; no line wrap of a terminal makes such pieces.
    assume(not any(re.match(r"\s*(?:[\d\[(EIWF]|#|//|>)", piece) for piece in pieces[1:]))
    assume(not re.fullmatch(r"\s*[EIWF>]\s*", pieces[0]))
    colour = data.draw(st.sampled_from(COLOURS))
    pasted = "\n".join(f"{prefix}{piece}{colour}" for piece in pieces)

    found = [symptom.message.id for symptom in diagnose(Log("pasted", pasted)).symptoms]

    assert name in found


@settings(max_examples=100)
@given(width=st.integers(20, 200), example=st.sampled_from(EXAMPLES))
def test_a_terminal_of_any_width_hides_nothing(width: int, example: tuple[str, str]) -> None:
    """A text wrapped hard at one width, in the middle of words, is still its message."""
    name, text = example
    text = " ".join(text.split())
    lines = [text[start : start + width] for start in range(0, len(text), width)]
    assume(not any(re.match(r"\s*(?:[\d\[(EIWF]|#|//|>)", line) for line in lines[1:]))

    assert name in [symptom.message.id for symptom in diagnose(Log("pasted", "\n".join(lines))).symptoms]


def test_a_rich_panel_hides_nothing() -> None:
    """The box that rich draws around a message, with lines on both sides, does not count."""
    panel = (
        "╭──────────────────────────────────────────╮\n"
        "│ RuntimeError: MPS backend out of memory  │\n"
        "│ (MPS allocated: 4.20 GiB, other          │\n"
        "│ allocations: 43.49 GiB, max allowed:     │\n"
        "│ 47.74 GiB). Tried to allocate 51.44 MiB  │\n"
        "│ on private pool.                         │\n"
        "╰──────────────────────────────────────────╯\n"
    )

    (symptom,) = diagnose(Log("panel", panel)).symptoms

    assert symptom.memory is not None
    assert symptom.memory.verdict == "growth-outside-tensors"
    assert symptom.quote.startswith("RuntimeError: MPS backend out of memory (MPS allocated: 4.20 GiB, other allocations")
    assert symptom.place.line == 2


def test_markdown_and_quotation_marks_do_not_count() -> None:
    """Lost underscores, eaten stars and curly quotes leave a text what it is."""
    pasted = "“RuntimeError: sharefilename: only available on CPU” … *Error: total bytes of NDArray > 2**32*"

    found = {symptom.message.id for symptom in diagnose(Log("pasted", pasted)).symptoms}

    assert found == {"worker-shares-mps-tensor", "ndarray-over-4-gib"}


def test_places_are_true_in_a_long_log() -> None:
    """The line of a message is right behind colours, other alphabets and a megabyte of other lines."""
    filler = "\x1b[32m進捗 █████\x1b[0m loss 0.1 ünïcödé\n"
    log = filler * 20_000 + "RuntimeError: Placeholder tensor is empty!\n" + filler * 100

    (symptom,) = diagnose(Log("long", log)).symptoms

    assert symptom.place.line == 20_001


def test_a_message_across_the_border_of_two_chunks_is_found() -> None:
    """Logs are searched in pieces; a message that lies on the border of two pieces is in one of them whole."""
    text = "RuntimeError: Placeholder storage has not been allocated on MPS device!"
    for shift in range(0, 90, 9):
        log = "x" * ((1 << 18) - shift) + "\n" + text + "\n" + "y" * 3_000

        assert [symptom.message.id for symptom in diagnose(Log("border", log)).symptoms] == ["placeholder-storage"]


def test_a_line_of_a_million_characters_is_no_trouble() -> None:
    """Progress bars end in carriage returns, so one line can hold a whole training."""
    log = "\r".join(f"{step:>6}/9999 [00:10<?, 5.4it/s]" for step in range(40_000)) + "MPS backend out of memory"

    (symptom,) = diagnose(Log("bars", log)).symptoms

    assert symptom.message.id == "out-of-memory"


def test_a_warning_in_every_step_is_counted_to_a_limit() -> None:
    """A text that a log repeats thousands of times is located only so often."""
    line = "'pin_memory' argument is set as true but not supported on MPS now, device pinned memory won't be used.\n"

    (symptom,) = diagnose(Log("repeated", (line + "loss 0.1\n" * 30) * 3_000)).symptoms

    assert symptom.message.id == "pin-memory-ignored"
    assert MOST_TIMES <= symptom.times < 5 * MOST_TIMES
    assert symptom.place.line == 1


def test_a_capture_is_read_as_it_was_pasted() -> None:
    """What a message names keeps its underscores, its case and its end."""
    (operator,) = diagnose(
        Log("op", "The operator 'aten::_Foo_bar.out' is not currently implemented for\n[rank0]: the MPS device.")
    ).symptoms
    (argument,) = diagnose(
        Log(
            "arg",
            "TypeError: TrainingArguments.__init__() got an unexpected keyword argument 'use_mps_device'\nnext line",
        )
    ).symptoms

    assert operator.captures == {"operator": "aten::_Foo_bar.out"}
    assert "aten::_Foo_bar.out" in operator.explanation.title
    assert argument.captures == {"argument": "use_mps_device"}


@given(st.text())
def test_squeezing_line_by_line_agrees_with_squeezing_at_once(text: str) -> None:
    """The fast form and the exact form keep the same characters where no line has a prefix or an escape."""
    assume(compact(text).text.isprintable() or not text)
    text = re.sub(r"[^ -~\n]", "", text)
    assume(not any(re.match(r"\s*[\d\[(A-Za-z#>/|]", line) for line in text.split("\n")) and "\\" not in text)
    assume("[" not in text and "^" not in text)

    assert compact(text).text == squeeze(text)


@given(st.text())
def test_blanking_keeps_offsets(text: str) -> None:
    """Colours are overwritten, never cut, so a place in the result is a place in the text."""
    assert len(blank_escapes(text)) == len(text)


@given(st.text(min_size=1))
def test_origins_point_at_the_character(text: str) -> None:
    """Every squeezed character stands where its origin says."""
    squeezed = compact(text)

    assert all(text[origin].lower() == kept for kept, origin in zip(squeezed.text, squeezed.origins, strict=True))


@pytest.mark.parametrize(
    ("pasted", "shown"),
    [
        ("\x1b[31mred\x1b[0m and\n  wrapped", "red and wrapped"),
        ("│ in a box │\n│ of rich  │", "in a box of rich"),
        ("[rank0]: a\n[rank0]: b", "[rank0]: a b"),
        ("ends here.\\n\\tThe next", "ends here. The next"),
        ("C:\\new\\table", "C:\\new\\table"),
    ],
)
def test_quotes_are_shown_on_one_line(pasted: str, shown: str) -> None:
    """A quoted text reads as a sentence, and paths stay what they are."""
    assert unwrap(pasted) == shown
    assert "\x1b" not in strip_escapes(pasted)


@pytest.mark.parametrize(
    ("text", "known"),
    [
        ("Epoch 11/100 | step 1200 of 48000 | 3.1 it/s | Loss:\n nan | lr 0.0003", True),
        ("Epoch 11/100 | step 1200 of 48000 | 3.1 it/s | train_loss\n=nan", True),
        ("avr_loss=\n    nan", True),
        ("the column loss\nnan values were dropped", False),
        ("a loss\n\n\nnan", False),
    ],
)
def test_words_in_a_row_are_found_where_a_terminal_wrapped_them(text: str, known: bool) -> None:
    """A long line, or one that ends in a mark, goes on in the next; two short lines are two."""
    assert any(symptom.message.id == "loss-is-nan" for symptom in diagnose(Log("log", text)).symptoms) is known
