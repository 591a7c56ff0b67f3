"""A Document of several files answers for each of them."""

from __future__ import annotations

import dataclasses

from mpslint.core.finding import Span
from mpslint.source.document import Document, Part
from mpslint.source.reader import read


def joined(**texts: str) -> Document:
    """Return the Document of a run of some files."""
    parts: list[Part] = []
    for name, text in texts.items():
        document = read(name.replace("_", "."), text.encode())
        start, first = (parts[-1].span.end, parts[-1].first_line + parts[-1].lines) if parts else (0, 1)
        parts.append(Part(document, Span(start, start + len(text)), first, text.count("\n")))
    whole = "".join(texts.values())
    return dataclasses.replace(parts[0].document, text=whole, python=whole, parts=tuple(parts))


def test_a_pattern_is_looked_for_in_each_file_once() -> None:
    """Another run of the same files asks them nothing that they were asked before."""
    run = joined(a_py="import torch\n", b_py="x = torch.mps\n")
    assert run.mentions(r"torch\.mps")
    second = run.parts[1].document
    second.memo["text", r"torch\.mps"] = False
    assert not run.mentions(r"torch\.mps")


def test_a_pattern_over_many_lines_goes_over_files() -> None:
    """What is looked for before something else may be in another file."""
    run = joined(a_py="half = 1\n", b_py="bfloat16 = 1\n")
    assert run.mentions("(?s)half.*bfloat16")
    assert not run.mentions("half.*bfloat16")
