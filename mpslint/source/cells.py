"""The bytes of a notebook -> Document: its Python cells, one after the other."""

from __future__ import annotations

import bisect
import codecs
from collections.abc import Sequence
from dataclasses import replace

from mpslint.core.finding import Edit, ReadError, Span
from mpslint.source.document import Cell, Document, Kind, Snippet, Unread, without_surrogates
from mpslint.source.magics import blank, mask_cell
from mpslint.source.notebook import NotebookText
from mpslint.source.raw_cells import RawCell, load_cells


def read_notebook(path: str, data: bytes) -> Document:
    """Return the Document of a notebook. Raises ReadError, with the line, when it is none."""
    mark = codecs.BOM_UTF8 if data.startswith(codecs.BOM_UTF8) else b""
    try:
        raw = data[len(mark) :].decode("utf-8")
    except UnicodeDecodeError as error:
        where = data.count(b"\n", 0, error.start) + 1
        raise ReadError(f"{path}:{where}: not valid UTF-8, so not a notebook") from None
    raw_cells, metadata = load_cells(raw, path)
    other = _other_language(metadata)
    if not raw.strip() or other:
        raw_cells = []
    joined = _Joined(path, raw, mark, [cell for cell in raw_cells if _is_python_cell(cell)]).document()
    return replace(joined, language=other) if other else joined


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


class _Joined:
    """The cells of a notebook on their way into one Document."""

    def __init__(self, path: str, raw: str, mark: bytes, raw_cells: list[RawCell]) -> None:
        self.path, self.raw, self.mark = path, raw, mark
        self.layout = NotebookText(raw, tuple(cell.number for cell in raw_cells))
        self.cells: list[Cell] = []
        self.raw_cells = raw_cells

    def document(self) -> Document:
        """Return the Document: texts joined with a line end, magics masked, scripts and snippets set apart."""
        texts: list[str] = []
        pythons: list[str] = []
        scripts: list[tuple[int, str]] = []
        snippets: list[Snippet] = []
        unread: list[Unread] = []
        start = 0
        for raw_cell in self.raw_cells:
            source = raw_cell.source
            masked = mask_cell(source)
            texts.append(source)
            pythons.append(masked.python)
            if masked.script:
                scripts.append((start, masked.script))
            snippets += [Snippet(s.kind, Span(s.span.start + start, s.span.end + start), s.text) for s in masked.snippets]
            span, count = Span(start, start + len(source)), raw_cell.data.get("execution_count")
            if raw_cell.flaw:
                unread.append(Unread(span, raw_cell.flaw))
            count = count if type(count) is int else None
            self.cells.append(Cell(raw_cell.number, str(raw_cell.data.get("id") or ""), span, _tags(raw_cell), count))
            start += len(source) + 1
        text = "\n".join(texts)
        return Document(
            self.path,
            Kind.NOTEBOOK,
            text,
            python=without_surrogates("\n".join(pythons)),
            scripts=tuple(without_surrogates(_placed(text, offset, script)) for offset, script in scripts),
            snippets=tuple(snippets),
            cells=tuple(self.cells),
            unread=tuple(unread),
            write_back=self.write_back,
            physical=self.layout.physical,
            physical_end=self.layout.physical_end,
        )

    def write_back(self, edits: Sequence[Edit]) -> bytes:
        """Return the notebook's bytes with these edits made."""
        starts = [cell.span.start for cell in self.cells]
        placed = []
        for edit in edits:
            index = bisect.bisect_right(starts, edit.span.start) - 1
            begin = starts[index]
            placed.append((index, Edit(Span(edit.span.start - begin, edit.span.end - begin), edit.text)))
        return self.mark + self.layout.write(placed).encode("utf-8")


def _tags(cell: RawCell) -> tuple[str, ...]:
    metadata = cell.data.get("metadata")
    tags = metadata.get("tags") if isinstance(metadata, dict) else None
    return tuple(tag for tag in tags if isinstance(tag, str)) if isinstance(tags, list) else ()


def _placed(text: str, offset: int, script: str) -> str:
    """Return a script at its place in a text that is blank elsewhere."""
    return blank(text[:offset]) + script + blank(text[offset + len(script) :])
