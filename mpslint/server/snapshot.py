"""What is open in an editor, at one moment: a file, or a notebook as its cells; what is checked, and where in it something is."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from typing import Any

from mpslint.core.finding import Span
from mpslint.core.record import record
from mpslint.program.unreached import read
from mpslint.server.part import TextPart
from mpslint.source.document import Document, Kind, Place
from mpslint.source.reader import encoded

_MARK = "\ufeff"
CODE, OTHER = "code", "raw"


@record(frozen=True, eq=False)
class Snapshot:
    """A file as one text; the JSON of a notebook too, where the editor knows no notebooks."""

    uri: str
    path: str
    kind: Kind
    parts: tuple[TextPart, ...]

    def data(self) -> bytes:
        """Return the file as it would be saved. Raises ReadError where it cannot be."""
        return encoded(self.path, self.parts[0].text, self.kind)

    def place(self, document: Document, span: Span) -> tuple[TextPart, int, int]:
        """Return in which text of the editor a span of the Document lies, and where it begins and ends there."""
        part = self.parts[0]
        if document.cells:
            return part, _offset_of(part.text, document.place(span.start)), _offset_of(part.text, document.end_place(span))
        shift = len(_MARK) if part.text.startswith(_MARK) else 0
        return part, span.start + shift, span.end + shift

    def texts_of(self, data: bytes) -> list[str]:
        """Return the texts, one for each part, that the file has with other bytes."""
        if self.kind is Kind.NOTEBOOK:
            return [data.decode("utf-8", "surrogatepass")]
        mark = _MARK if self.parts[0].text.startswith(_MARK) else ""
        return [mark + read(self.path, data, self.kind).text]


@record(frozen=True, eq=False)
class NotebookSnapshot(Snapshot):
    """A notebook as the texts of its cells, in order."""

    kinds: tuple[str, ...]
    """What each cell is: code, or something that is not checked."""
    tags: tuple[tuple[str, ...], ...]

    def data(self) -> bytes:
        """Return the notebook as JSON, without what is not checked: outputs, and the metadata of the whole."""
        cells = [
            {"cell_type": kind, "metadata": {"tags": list(tags)}, "source": part.text}
            for part, kind, tags in zip(self.parts, self.kinds, self.tags, strict=True)
        ]
        return json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}).encode()

    def place(self, document: Document, span: Span) -> tuple[TextPart, int, int]:
        """Return in which cell a span of the Document lies, and where it begins and ends there."""
        cell = document.cell_at(span.start)
        assert cell is not None, "every character of a notebook is in a cell"
        return self.parts[cell.number - 1], span.start - cell.span.start, span.end - cell.span.start

    def texts_of(self, data: bytes) -> list[str]:
        """Return the texts, one for each cell, that the notebook has with other bytes."""
        return [str(cell["source"]) for cell in json.loads(data)["cells"]]


def _offset_of(text: str, place: Place) -> int:
    """Return the offset in the JSON of a notebook at which a place is written."""
    start = 0
    for _ in range(place.physical_line - 1):
        start = text.index("\n", start) + 1
    return start + place.physical_column - 1


def tags_of(metadata: Any) -> tuple[str, ...]:
    """Return the tags of a cell, wherever an editor keeps them: in its metadata, or in the metadata of the file within these."""
    while isinstance(metadata, dict):
        tags = metadata.get("tags")
        if isinstance(tags, Sequence):
            return tuple(tag for tag in tags if isinstance(tag, str))
        metadata = metadata.get("metadata") or metadata.get("custom")
    return ()


def path_for(path: str | None, uri: str, folder: str | None) -> str:
    """Return the path of a file, or for what is no file (`untitled:Untitled-1`) the one that it would have in the project's folder."""
    return path or os.path.join(folder or os.getcwd(), os.path.basename(uri.partition(":")[2].rstrip("/")) or "untitled")
