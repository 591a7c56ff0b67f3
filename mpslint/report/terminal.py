"""Lines of a report, coloured where somebody sees them and plain, without loading anything for it, where nobody does."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TextIO

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

    @property
    def is_terminal(self) -> bool:
        """Whether a person reads it as it comes, so that long lines are wrapped."""
        return self.rich is not None

    def line(self, *pieces: Piece) -> None:
        """Write one line."""
        if self.rich is None:
            self.stream.write("".join(piece if isinstance(piece, str) else piece[0] for piece in pieces) + "\n")
            return
        from rich.text import Text

        self.rich.print(Text.assemble(*pieces))

    def paragraph(self, label: str, text: str, style: str = "") -> None:
        """Write a text after a label, its lines under one another; on one line where nobody watches."""
        if self.rich is None:
            self.line(label, text)
            return
        import textwrap

        lines = textwrap.wrap(text, self.width - len(label), break_long_words=False, break_on_hyphens=False) or [""]
        for number, line in enumerate(lines):
            self.line(label if number == 0 else " " * len(label), (line, style))


def terminal(stream: TextIO | None = None) -> Terminal:
    """Return a Terminal for a stream (standard output): coloured if it is a terminal or FORCE_COLOR is set, unless NO_COLOR is."""
    stream = stream or sys.stdout
    if not (stream.isatty() or os.environ.get("FORCE_COLOR")):
        return Terminal(stream)
    import shutil

    from rich.console import Console

    width = max(NARROWEST, min(WIDEST, shutil.get_terminal_size((100, 24)).columns))
    return Terminal(stream, Console(file=stream, highlight=False, soft_wrap=True, emoji=False, markup=False), width)
