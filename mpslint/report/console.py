"""The terminal that reports are printed to, lines that fit it, and those that are printed while somebody else's program owns it."""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.text import Text

from mpslint.core.inert import inert_lines

_WIDTH = 110
_PIPE_WIDTH = 160
URGENT = ("warning", "stopping", "steps aren't")
CLEAR_LINE = "\r\x1b[2K"
"""A progress bar leaves the cursor on its line: the bar is wiped, our line is printed, and the bar draws itself again below."""


class InertConsole(Console):
    """A console that shows what names and sources hold and obeys none of it: neither control characters nor rich's own markup."""

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """Render something; its text has no active character, only the styles and controls are rich's own."""
        for segment in super().render(renderable, options):
            yield segment if segment.control else Segment(inert_lines(segment.text), segment.style)


def console() -> Console:
    """Return a console on standard output, without colours when piped or NO_COLOR is set, of a readable width."""
    plain = Console(file=sys.stdout, highlight=False, soft_wrap=False)
    return InertConsole(
        file=sys.stdout, highlight=False, markup=False, emoji=False, width=min(_WIDTH, plain.width) if plain.is_terminal else _PIPE_WIDTH
    )


def print_wrapped(text: str, console: Console, *, indent: int = 0, style: str = "") -> None:
    """Print a text in lines that fit the console, without the trailing spaces that rich's own padding leaves."""
    width = max(30, console.width) - indent
    for line in textwrap.wrap(text, width, break_long_words=False, break_on_hyphens=False):
        console.print(Text(" " * indent + line, style=style), soft_wrap=True)


def print_rows(rows: Sequence[tuple[Text, str]], console: Console) -> None:
    """Print rows of a name and a text, the texts aligned and wrapped; a name as wide as a path stands above its text."""
    widest = console.width // 2
    column = max((name.cell_len for name, _ in rows if name.cell_len <= widest), default=2) + 2
    width = max(30, console.width - column)
    for name, text in rows:
        first, *more = textwrap.wrap(text, width, break_long_words=False, break_on_hyphens=False) or [""]
        if name.cell_len > widest:
            console.print(name, soft_wrap=True)
            name = Text("")
        console.print(Text.assemble(name, " " * (column - name.cell_len) if first else "", first), soft_wrap=True)
        for line in more:
            console.print(Text(" " * column + line), soft_wrap=True)


@dataclass(slots=True)
class Lines:
    """Prints to standard error: with colours and beside progress bars on a terminal, as plain lines elsewhere. Keeps the warnings."""

    is_quiet: bool = False
    warnings: list[str] = field(default_factory=list)

    def say(self, text: str) -> None:
        """Print one line."""
        is_urgent = text.startswith(URGENT)
        if is_urgent:
            self.warnings.append(text)
        elif self.is_quiet:
            return
        console = Console(file=sys.stderr, highlight=False, markup=False, emoji=False, soft_wrap=True)
        with console.capture() as line:
            console.print(Text.assemble(("mpslint: ", "bold cyan"), (inert_lines(text), "yellow" if is_urgent else "dim")), soft_wrap=True)
        sys.stderr.write((CLEAR_LINE if console.is_terminal else "") + line.get())  # in one piece: a bar may be drawn between two
        sys.stderr.flush()
