"""The terminal that reports are printed to."""

from __future__ import annotations

import sys

from rich.console import Console

_WIDTH = 110


def console() -> Console:
    """Return a console on standard output, without colours when piped or NO_COLOR is set, of a readable width."""
    plain = Console(file=sys.stdout, highlight=False, soft_wrap=False)
    return Console(file=sys.stdout, highlight=False, width=min(_WIDTH, plain.width) if plain.is_terminal else _WIDTH)
