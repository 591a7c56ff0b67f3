"""The terminal that reports are printed to, and lines that fit it."""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Sequence

from rich.console import Console
from rich.text import Text

_WIDTH = 110
_PIPE_WIDTH = 160


def console() -> Console:
    """Return a console on standard output, without colours when piped or NO_COLOR is set, of a readable width."""
    plain = Console(file=sys.stdout, highlight=False, soft_wrap=False)
    return Console(file=sys.stdout, highlight=False, width=min(_WIDTH, plain.width) if plain.is_terminal else _PIPE_WIDTH)


def print_wrapped(text: str, console: Console, *, indent: int = 0, style: str = "") -> None:
    """Print a text in lines that fit the console, without the trailing spaces that rich's own padding leaves."""
    width = max(30, console.width) - indent
    for line in textwrap.wrap(text, width, break_long_words=False, break_on_hyphens=False):
        console.print(Text(" " * indent + line, style=style), soft_wrap=True)


def print_rows(rows: Sequence[tuple[Text, str]], console: Console) -> None:
    """Print rows of a name and a text, the texts aligned and wrapped."""
    column = max((name.cell_len for name, _ in rows), default=0) + 2
    width = max(30, console.width - column)
    for name, text in rows:
        first, *more = textwrap.wrap(text, width, break_long_words=False, break_on_hyphens=False) or [""]
        console.print(Text.assemble(name, " " * (column - name.cell_len) if first else "", first), soft_wrap=True)
        for line in more:
            console.print(Text(" " * column + line), soft_wrap=True)
