"""The cells of the running notebook, each as it ran last: IPython's history holds every run of it."""

from __future__ import annotations

import json
import re
from dataclasses import field
from difflib import SequenceMatcher

from mpslint.core.record import record

NAME = "this notebook.ipynb"
ALIKE = 0.85
"""How much of its text a cell keeps when it is edited and run again, where the frontend does not say which cell it is."""
_OWN_LINE = re.compile(r"^%mpslint\b.*", re.MULTILINE)
_OWN_CELL = re.compile(r"\A(\s*)%%mpslint\b")


@record()
class Ran:
    """One cell: the id that the frontend gives it, its text and its execution count."""

    id: str
    text: str
    count: int


@record()
class Cells:
    """What has run so far, in the order in which the cells ran first."""

    ran: list[Ran] = field(default_factory=list)

    def add(self, text: str, count: int, id_: str = "") -> Ran | None:
        """Remember a run: the cell's new text where it is known, else a new cell; return it. Lines of mpslint's own are no part of it."""
        text = without_magics(text)
        if not text.strip():
            return None
        known = self._known(text, id_)
        if known is None:
            known = Ran(id_, text, count)
            self.ran.append(known)
        known.text, known.count = text, count
        return known

    def _known(self, text: str, id_: str) -> Ran | None:
        if id_:
            return next((cell for cell in self.ran if cell.id == id_), None)
        alike = [(SequenceMatcher(None, cell.text, text).ratio(), cell) for cell in reversed(self.ran) if not cell.id]
        ratio, cell = max(alike, key=lambda pair: pair[0], default=(0.0, None))
        return cell if ratio >= ALIKE else None

    def notebook(self) -> bytes:
        """Return the cells as a notebook."""
        cells = [
            {"cell_type": "code", "id": f"cell-{number}", "metadata": {}, "source": cell.text, "execution_count": cell.count, "outputs": []}
            for number, cell in enumerate(self.ran)
        ]
        return json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}).encode("utf-8", "surrogatepass")


def without_magics(text: str) -> str:
    """Return a cell's text with the magics of mpslint as comments, so that lines keep their numbers; nothing of one that is only these."""
    text = _OWN_CELL.sub(r"\1#%mpslint", text)
    bare = _OWN_LINE.sub("", text)
    return _OWN_LINE.sub(lambda line: f"# {line.group()}", text) if bare.strip() else ""


def as_written(text: str) -> str:
    """Return a fixed cell as its author would write it: without the comment that stood for the magic of the cell."""
    return re.sub(r"\A\s*#%mpslint[^\n]*\n?", "", re.sub(r"^# (%mpslint\b)", r"\1", text, flags=re.MULTILINE))
