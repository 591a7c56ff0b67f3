"""The lines that mpslint prints while somebody else's program owns the terminal."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field

from rich.console import Console
from rich.text import Text

from mpslint.core.inert import inert_lines

URGENT = ("warning", "stopping", "steps aren't")
CLEAR_LINE = "\r\x1b[2K"
"""A progress bar leaves the cursor on its line: the bar is wiped, our line is printed, and the bar draws itself again below."""


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
