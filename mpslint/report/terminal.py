"""Lines of a report, coloured where somebody sees them and plain, without loading anything for it, where nobody does."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TextIO

from mpslint.core.inert import inert

if TYPE_CHECKING:
    from rich.console import Console

Piece = str | tuple[str, str]
"""A text, or a text and its style."""
NARROWEST, WIDEST = 32, 120


@dataclass
class Terminal:
    """Where lines go: a stream, through rich where there are colours to be seen."""

    stream: TextIO
    rich: Console | None = None
    width: int = field(default=WIDEST)
    has_links: bool = False
    """Whether what is shown can be clicked (OSC 8)."""

    @property
    def is_terminal(self) -> bool:
        """Whether a person reads it as it comes, so that long lines are wrapped."""
        return self.rich is not None

    def linked(self, text: str, url: str, style: str = "bold") -> Piece:
        """Return a text as a piece that leads to an address, where terminals can follow it."""
        return text, f"{style} link {url}" if url and self.has_links else style

    def wrapped(self, *pieces: Piece, indent: int = 2) -> None:
        """Write a text over as many lines as it needs, broken between words; on one line where nobody watches."""
        if self.rich is None:
            self.line(*pieces)
            return
        import textwrap

        from rich.text import Text

        text = Text.assemble(*map(_inert, pieces))
        lines = textwrap.wrap(
            text.plain,
            self.width,
            subsequent_indent=" " * indent,
            expand_tabs=False,
            replace_whitespace=False,
            break_long_words=False,
            break_on_hyphens=False,
        )
        start = 0
        for number, line in enumerate(lines):
            bare = line[indent if number else 0 :]
            start = text.plain.index(bare, start)
            self.rich.print(Text(" " * indent if number else "") + text[start : start + len(bare)])
            start += len(bare)

    def line(self, *pieces: Piece) -> None:
        """Write one line; what a file or its name holds is shown, and not obeyed."""
        if self.rich is None:
            self.stream.write(inert("".join(piece if isinstance(piece, str) else piece[0] for piece in pieces)) + "\n")
            return
        from rich.text import Text

        self.rich.print(Text.assemble(*map(_inert, pieces)))

    def paragraph(self, label: str, text: str, style: str = "") -> None:
        """Write a text after a label, its lines under one another; on one line where nobody watches."""
        if self.rich is None:
            self.line(label, text.replace("\n", " "))
            return
        import textwrap

        lines = textwrap.wrap(text, self.width - len(label), break_long_words=False, break_on_hyphens=False) or [""]
        for number, line in enumerate(lines):
            self.line(label if number == 0 else " " * len(label), (line, style))


def _inert(piece: Piece) -> Piece:
    return inert(piece) if isinstance(piece, str) else (inert(piece[0]), piece[1])


def terminal(stream: TextIO | None = None) -> Terminal:
    """Return a Terminal for a stream (standard output): coloured if it is a terminal or FORCE_COLOR is set, unless NO_COLOR is."""
    stream = stream or sys.stdout
    if not (stream.isatty() or os.environ.get("FORCE_COLOR")):
        return Terminal(stream)
    import shutil

    from rich.console import Console

    width = max(NARROWEST, min(WIDEST, shutil.get_terminal_size((100, 24)).columns))
    shown = Console(file=stream, highlight=False, soft_wrap=True, emoji=False, markup=False)
    return Terminal(stream, shown, width, has_links=stream.isatty() and not shown.no_color and os.environ.get("TERM") not in (None, "dumb"))
