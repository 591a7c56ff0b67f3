"""The IPython extension: `%load_ext mpslint`, then `%%mpslint` checks a cell before it runs, `%mpslint` the cells run so far."""

from __future__ import annotations

import json
from typing import Any

NAME = "this notebook"


def register(ipython: Any) -> None:
    """Give a running IPython the magics `%mpslint` and `%%mpslint`."""

    def mpslint(line: str, cell: str | None = None) -> None:
        """%mpslint checks the cells that have run so far; %%mpslint checks this cell as what comes after them, then runs it."""
        ran = [source for source in ipython.user_ns.get("In", [])[1:-1] if source.strip()]
        report(ran, cell)
        if cell is not None:
            ipython.run_cell(cell)

    ipython.register_magic_function(mpslint, "line_cell", "mpslint")


def report(ran: list[str], cell: str | None) -> None:
    """Print what is wrong with the cells that ran, or, given a cell, what that cell adds."""
    from mpslint.engine import Checked, check
    from mpslint.finding import ReadError
    from mpslint.pins import environment_versions
    from mpslint.report.terminal import terminal
    from mpslint.report.text import print_findings, print_summary
    from mpslint.session import FileResult
    from mpslint.source.document import Kind
    from mpslint.source.reader import read
    from mpslint.target import default_target, with_versions
    from mpslint.view import view

    sources = [*ran, *([cell] if cell is not None else [])]
    cells = [{"cell_type": "code", "metadata": {}, "source": source} for source in sources]
    text = json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5})
    target = default_target()
    for name, (version, source) in environment_versions().items():
        target = with_versions(target, {name: version}, source)
    out = terminal()
    try:
        checked = check(read(NAME, text.encode(), Kind.NOTEBOOK), target)
    except ReadError as error:
        out.line(str(error))
        return
    first = checked.document.cells[-1].span.start if cell is not None and checked.document.cells else 0
    kept = tuple(finding for finding in checked.findings if finding.span.start >= first)
    file = view(FileResult(NAME, Checked(checked.document, target, kept, checked.unread, checked.evidence)))
    print_findings(out, file)
    print_summary(out, [file])
