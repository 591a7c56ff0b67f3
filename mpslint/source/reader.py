"""Bytes of a file -> Document."""

from __future__ import annotations

import bisect
import codecs
import io
import re
import tokenize
from collections.abc import Sequence
from pathlib import PurePath

from mpslint.finding import Edit, ReadError, Span
from mpslint.source.document import Cell, Document, Kind, Snippet, Unread
from mpslint.source.magics import blank, mask_cell
from mpslint.source.notebook import NotebookText, RawCell, load_cells

_SUFFIXES = {
    ".py": Kind.PYTHON,
    ".pyw": Kind.PYTHON,
    ".ipynb": Kind.NOTEBOOK,
    ".sh": Kind.SHELL,
    ".bash": Kind.SHELL,
    ".zsh": Kind.SHELL,
    ".env": Kind.ENV,
    ".yaml": Kind.YAML,
    ".yml": Kind.YAML,
    ".json": Kind.JSON,
    ".dockerfile": Kind.DOCKERFILE,
}
_DOCKERFILES = re.compile(r"(?:dockerfile|containerfile)(?:[._-].*)?")
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")
_CODING = re.compile(rb"^[ \t\f]*#.*?coding[:=][ \t]*([-\w.]+)")


def kind_of(path: str) -> Kind | None:
    """Return what a file of this name is read as, or None when mpslint has nothing to say about such files."""
    name = PurePath(path).name.lower()
    if name == ".env" or name.startswith(".env."):
        return Kind.ENV
    suffix = _SUFFIXES.get(PurePath(name).suffix)
    return Kind.DOCKERFILE if suffix is None and _DOCKERFILES.fullmatch(name) else suffix


def read(path: str, data: bytes, kind: Kind | None = None) -> Document:
    """Return the Document of a file's bytes, read by its name unless `kind` says otherwise.

    Raises ReadError when the bytes are not text of that kind; the message names the file, the place and what is wrong.
    """
    kind = kind or kind_of(path) or Kind.PYTHON
    if kind is Kind.NOTEBOOK:
        return _read_notebook(path, data)
    text, encoding, mark = _decode(path, data, kind)

    def write_back(edits: Sequence[Edit]) -> bytes:
        return mark + _spliced(text, edits).encode(encoding, _errors(kind))

    python = _without_surrogates(text) if kind is Kind.PYTHON else ""
    return Document(path, kind, text, python=python, write_back=write_back)


def _spliced(text: str, edits: Sequence[Edit]) -> str:
    pieces, position = [], 0
    for edit in sorted(edits, key=lambda edit: edit.span):
        pieces += [text[position : edit.span.start], edit.text]
        position = edit.span.end
    return "".join([*pieces, text[position:]])


def _decode(path: str, data: bytes, kind: Kind) -> tuple[str, str, bytes]:
    """Return a file's text, its encoding and its byte order mark."""
    if b"\0" in data[:8192]:
        raise ReadError(f"{path}: not text: it holds null bytes (is it compiled, or saved as UTF-16?)")
    mark = codecs.BOM_UTF8 if data.startswith(codecs.BOM_UTF8) else b""
    encoding = _declared_encoding(path, data) if kind is Kind.PYTHON else "utf-8"
    try:
        text = data[len(mark) :].decode(encoding, _errors(kind))
        unchanged = text.encode(encoding, _errors(kind)) == data[len(mark) :]
    except LookupError:
        raise ReadError(f"{path}:1: {encoding!r} is no encoding of text; save it as UTF-8") from None
    except UnicodeError as error:
        where = data.count(b"\n", 0, getattr(error, "start", 0)) + 1
        hint = "declare its encoding in the first line, or save it as UTF-8"
        raise ReadError(f"{path}:{where}: not valid {encoding}: {hint}") from None
    if not unchanged:
        raise ReadError(f"{path}: its {encoding} text cannot be written back as it was; save it as UTF-8")
    return text, encoding, mark


def _errors(kind: Kind) -> str:
    """Shell files may hold any bytes; they come back as they were."""
    return "strict" if kind is Kind.PYTHON else "surrogateescape"


def _declared_encoding(path: str, data: bytes) -> str:
    """Return the encoding that a Python file declares (PEP 263), else UTF-8."""
    if not any(_CODING.match(line) for line in data[:400].splitlines()[:2]):
        return "utf-8"
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
    except (SyntaxError, UnicodeDecodeError) as error:
        raise ReadError(f"{path}:1: {str(error).splitlines()[0]}") from None
    return "utf-8" if encoding == "utf-8-sig" else encoding


def _without_surrogates(text: str) -> str:
    """Return the text with half surrogate pairs replaced, which no parser takes."""
    return text if text.isascii() else _LONE_SURROGATE.sub("?", text)


def _read_notebook(path: str, data: bytes) -> Document:
    mark = codecs.BOM_UTF8 if data.startswith(codecs.BOM_UTF8) else b""
    try:
        raw = data[len(mark) :].decode("utf-8")
    except UnicodeDecodeError as error:
        where = data.count(b"\n", 0, error.start) + 1
        raise ReadError(f"{path}:{where}: not valid UTF-8, so not a notebook") from None
    raw_cells, metadata = load_cells(raw, path)
    if not raw.strip() or not _is_python(metadata):
        raw_cells = []
    return _Joined(path, raw, mark, [cell for cell in raw_cells if _is_python_cell(cell)]).document()


def _is_python(metadata: dict[str, object]) -> bool:
    """Return whether a notebook's language is Python, as far as it says."""
    for key, field in (("language_info", "name"), ("kernelspec", "language"), ("kernelspec", "name")):
        about = metadata.get(key)
        if isinstance(about, dict) and isinstance(about.get(field), str) and about[field]:
            name = about[field].lower()
            if field == "name" and key == "kernelspec":
                return not name.startswith(("ir", "julia", "r-", "bash", "javascript", "scala", "cpp", "xcpp", "sql"))
            return "python" in name or name in ("pypy", "sage", "xpython")
    return True


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
            self.cells.append(Cell(raw_cell.number, str(raw_cell.data.get("id") or ""), Span(start, start + len(source)), _tags(raw_cell)))
            start += len(source) + 1
        text = "\n".join(texts)
        return Document(
            self.path,
            Kind.NOTEBOOK,
            text,
            python=_without_surrogates("\n".join(pythons)),
            scripts=tuple(_without_surrogates(_placed(text, offset, script)) for offset, script in scripts),
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
