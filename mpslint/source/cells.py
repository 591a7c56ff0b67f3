"""The cells of a notebook -> Document: one text with its magics masked, scripts and snippets set apart."""

from __future__ import annotations

import bisect
import codecs
import itertools
from collections.abc import Callable, Sequence
from dataclasses import replace

from mpslint.core.finding import Edit, ReadError, Span
from mpslint.source.document import Cell, Document, Kind, Snippet, Unread, without_surrogates
from mpslint.source.magics import blank, mask_cell
from mpslint.source.notebook import NotebookText, RawCell, load_cells


def read_notebook(path: str, data: bytes) -> Document:
    """Return the Document of a notebook: its Python cells, one after the other. Raises ReadError, with the line, when it is none."""
    mark = codecs.BOM_UTF8 if data.startswith(codecs.BOM_UTF8) else b""
    try:
        raw = data[len(mark) :].decode("utf-8")
    except UnicodeDecodeError as error:
        where = data.count(b"\n", 0, error.start) + 1
        raise ReadError(f"{path}:{where}: not valid UTF-8, so not a notebook") from None
    raw_cells, metadata = load_cells(raw, path)
    language = _other_language(metadata)
    raw_cells = [cell for cell in raw_cells if _is_python_cell(cell)] if raw.strip() and not language else []
    layout = NotebookText(raw, tuple(cell.number for cell in raw_cells))
    starts = list(itertools.accumulate((len(cell.source) + 1 for cell in raw_cells), initial=0))
    cells = tuple(map(_cell, raw_cells, starts))

    def write_back(edits: Sequence[Edit]) -> bytes:
        placed = []
        for edit in edits:
            index = bisect.bisect_right(starts, edit.span.start, hi=len(cells)) - 1
            begin = starts[index]
            placed.append((index, Edit(Span(edit.span.start - begin, edit.span.end - begin), edit.text)))
        return mark + layout.write(placed).encode("utf-8")

    document = document_of_cells(path, "\n".join(cell.source for cell in raw_cells), cells, write_back, layout.physical)
    unread = tuple(Unread(cell.span, raw_cell.flaw) for cell, raw_cell in zip(cells, raw_cells, strict=True) if raw_cell.flaw)
    return replace(document, unread=unread, physical_end=layout.physical_end, language=language)


def document_of_cells(
    path: str,
    text: str,
    cells: tuple[Cell, ...],
    write_back: Callable[[Sequence[Edit]], bytes],
    physical: Callable[[int, int], tuple[int, int]],
) -> Document:
    """Return the Document of a text with cells; what lies between them is blank in its Python."""
    pieces: list[str] = []
    scripts: list[str] = []
    snippets: list[Snippet] = []
    end = 0
    for span in (cell.span for cell in cells):
        masked = mask_cell(text[span.start : span.end])
        pieces += [blank(text[end : span.start]), masked.python]
        if masked.script:
            scripts.append(without_surrogates(blank(text[: span.start]) + masked.script + blank(text[span.end :])))
        snippets += [Snippet(s.kind, Span(s.span.start + span.start, s.span.end + span.start), s.text) for s in masked.snippets]
        end = span.end
    return Document(
        path,
        Kind.NOTEBOOK,
        text,
        python=without_surrogates("".join([*pieces, blank(text[end:])])),
        scripts=tuple(scripts),
        snippets=tuple(snippets),
        cells=cells,
        write_back=write_back,
        physical=physical,
        physical_end=physical,
    )


def _other_language(metadata: dict[str, object]) -> str:
    """Return a notebook's language, or the name of its kernel, where it says one that isn't Python; else ''."""
    for key, field in (("language_info", "name"), ("kernelspec", "language"), ("kernelspec", "name")):
        about = metadata.get(key)
        if isinstance(about, dict) and isinstance(about.get(field), str) and about[field]:
            name = about[field].lower()
            if field == "name" and key == "kernelspec":
                is_other = name.startswith(("ir", "julia", "r-", "bash", "javascript", "scala", "cpp", "xcpp", "sql"))
            else:
                is_other = "python" not in name and name not in ("pypy", "sage", "xpython")
            return about[field] if is_other else ""
    return ""


def _is_python_cell(cell: RawCell) -> bool:
    metadata = cell.data.get("metadata")
    vscode = metadata.get("vscode") if isinstance(metadata, dict) else None
    language = vscode.get("languageId", "python") if isinstance(vscode, dict) else cell.data.get("language", "python")
    return cell.data.get("cell_type") == "code" and language in ("python", "")


def _cell(raw_cell: RawCell, start: int) -> Cell:
    metadata, count = raw_cell.data.get("metadata"), raw_cell.data.get("execution_count")
    tags = metadata.get("tags") if isinstance(metadata, dict) else None
    return Cell(
        raw_cell.number,
        str(raw_cell.data.get("id") or ""),
        Span(start, start + len(raw_cell.source)),
        tuple(tag for tag in tags if isinstance(tag, str)) if isinstance(tags, list) else (),
        count if type(count) is int else None,
    )
