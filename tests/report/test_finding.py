"""One finding takes six lines at most, whatever its texts, and says what happens and what to do before why."""

from __future__ import annotations

import io
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from mpslint.report.finding import AT_WIDTH, MOST_LINES, Telling, print_finding
from mpslint.report.terminal import Terminal
from mpslint.session.view import ShownFinding
from mpslint.source.document import Place

SENTENCE = st.lists(st.text("abcdefgh`", min_size=1, max_size=12), min_size=1, max_size=24).map(lambda words: f"A {' '.join(words)}.")
TEXT = st.lists(SENTENCE, min_size=1, max_size=3).map(" ".join)
PLACE = Place(7, 5, physical_line=7, physical_column=5)
FOUND = ShownFinding(
    "MPS101", "name", "error", "M.", "W.", PLACE, PLACE, (0, 4), "fp16", "fp16 = True", (0, 4), (), "0" * 16, "F.", "manual"
)


def printed(finding: ShownFinding, telling: Telling, path: str = "train.py") -> list[str]:
    """Return the lines of a finding on a terminal of the width that is meant."""
    stream = io.StringIO()
    console = Console(file=stream, width=AT_WIDTH, color_system=None, soft_wrap=True, highlight=False, markup=False)
    print_finding(Terminal(stream, console, AT_WIDTH), path, finding, telling)
    return stream.getvalue().splitlines()


@given(
    TEXT,
    TEXT,
    TEXT,
    st.sampled_from(["manual", "safe"]),
    st.integers(0, 4),
    st.integers(0, 3),
    st.text("xy ", max_size=200),
    st.booleans(),
    st.sampled_from(["train.py", "examples/pytorch/summarization/train.py"]),
)
def test_a_finding_takes_six_lines(
    message: str, why: str, fix: str, safety: str, others: int, related: int, source: str, is_short: bool, path: str
) -> None:
    """The headline, the first sentence of what happens and the fix among them; its source, unless there's no room for a whole sentence."""
    origins = tuple((f"value {number}", PLACE) for number in range(related))
    finding = replace(
        FOUND, message=message, why=why, fix=fix, safety=safety, source=f"{source}fp16", mark=(len(source), 4), related=origins
    )
    others_found = [replace(finding, place=replace(PLACE, path=f"{path}{number}")) for number in range(others)]
    lines = printed(finding, Telling(others=others_found, is_short=is_short), path)
    text = " ".join(" ".join(lines).split())

    assert len(lines) <= MOST_LINES
    assert lines[0].startswith(f"{path}:7:5  error MPS101 name")
    assert message.split(". ")[0] in text
    assert any(line.startswith("  do    " if safety == "manual" else "  fix   ") for line in lines)
    assert "..." in text or fix.split(". ")[0] in text


def test_what_has_room_is_told_in_the_order_of_use() -> None:
    """All of the message before where a value comes from, that before why, of which one sentence is enough, and the marks last."""
    finding = replace(FOUND, message="One. Two.", why="Because. And so on.", related=(("x is 1", PLACE),), source="a = fp16", mark=(4, 4))

    assert printed(finding, Telling()) == [
        "train.py:7:5  error MPS101 name",
        "  One. Two.",
        "      7 | a = fp16",
        "  from  x is 1 (line 7)",
        "  why   Because.",
        "  do    F.",
    ]
    assert "        |     ^^^^" in printed(replace(finding, related=()), Telling())
