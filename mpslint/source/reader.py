"""Bytes of a file -> Document."""

from __future__ import annotations

import codecs
import io
import os
import re
import tokenize
from collections.abc import Sequence

from mpslint.core.finding import Edit, ReadError
from mpslint.source.document import Document, Kind, without_surrogates
from mpslint.source.magics import SIGN

_SUFFIXES = {
    **dict.fromkeys((".py", ".pyw"), Kind.PYTHON),
    **dict.fromkeys((".ipynb", ".qmd"), Kind.NOTEBOOK),
    **dict.fromkeys((".sh", ".bash", ".zsh"), Kind.SHELL),
    **dict.fromkeys((".yaml", ".yml"), Kind.YAML),
    **{".env": Kind.ENV, ".json": Kind.JSON, ".dockerfile": Kind.DOCKERFILE, ".mk": Kind.MAKEFILE},
}
_MAKEFILES = ("makefile", "gnumakefile")
OF_RUNS = (".py", ".ipynb", ".yaml", ".yml", ".json", ".sh", ".bash", ".zsh", ".mk", "akefile")
"""How the names of files end that a run may read, or be started by."""
_DOCKERFILES = re.compile(r"(?:dockerfile|containerfile)(?:[._-].*)?")
_MAGIC = re.compile(r"^[!%] *[A-Za-z]", re.MULTILINE)
"""A line that only a notebook runs: a script that was exported from one (by Colab, say) may have it."""
MARKDOWN = (".md", ".markdown", ".qmd", ".rmd")
_DATABRICKS = "# Databricks notebook source"
"""How a notebook begins that Databricks exported as Python."""
_JUPYTEXT = "# ---"
"""How a script begins that jupytext wrote: the commands of its notebook are comments."""
LARGEST_PROGRAM, MOST_LINES = 10_000_000, 200_000
"""Characters and lines of Python beyond which a file is data, not a program: a million lines take 14 s and 2.4 GB."""
_CODING = re.compile(rb"^[ \t\f]*#.*?coding[:=][ \t]*([-\w.]+)")


def kind_of(path: str) -> Kind | None:
    """Return what a file of this name is read as, or None when mpslint has nothing to say about such files."""
    name = os.path.basename(path)
    kind = _SUFFIXES.get(name[name.rfind(".") :]) if name[:1] != "." else None
    if kind is not None:
        return kind
    name = name.lower()
    if name == ".env" or name.startswith(".env."):
        return Kind.ENV
    if name in _MAKEFILES:
        return Kind.MAKEFILE
    kind = _SUFFIXES.get(os.path.splitext(name)[1])
    return Kind.DOCKERFILE if kind is None and _DOCKERFILES.fullmatch(name) else kind


def read(path: str, data: bytes, kind: Kind | None = None) -> Document:
    """Return the Document of a file's bytes, read by its name unless `kind` says otherwise.

    Raises ReadError when the bytes are not text of that kind, or more than a program; the message names the file, the place and what is
    wrong.
    """
    document = _read(path, data, kind)
    if len(document.python) > LARGEST_PROGRAM:
        raise ReadError(f"{path}: more than {LARGEST_PROGRAM // 1_000_000} MB of Python, so not read")
    if document.python.count("\n") > MOST_LINES:
        raise ReadError(f"{path}: more than {MOST_LINES:,} lines of Python, so not read")
    return document


def _read(path: str, data: bytes, kind: Kind | None) -> Document:
    """Return the Document of bytes, however much they are. Raises ReadError."""
    is_markdown = path.lower().endswith(MARKDOWN)
    kind = kind or kind_of(path) or (Kind.NOTEBOOK if is_markdown else Kind.PYTHON)
    if kind is Kind.NOTEBOOK and not is_text_notebook(path, data):
        from mpslint.source.cells import read_notebook

        return read_notebook(path, data)
    text, encoding, mark = _decode(path, data, kind)

    def write_back(edits: Sequence[Edit]) -> bytes:
        return mark + _spliced(text, edits).encode(encoding, _errors(kind))

    if kind is Kind.NOTEBOOK or (kind is Kind.PYTHON and (text.startswith(_DATABRICKS) or "import marimo" in text)):
        from mpslint.source.text_notebook import databricks_cells, marimo_cells, markdown_cells, read_cells

        is_databricks = not is_markdown and text.startswith(_DATABRICKS)
        spans = markdown_cells(path, text) if is_markdown else databricks_cells(text) if is_databricks else marimo_cells(text)
        if spans is not None:
            return read_cells(path, without_surrogates(text), spans, write_back, not (is_markdown or is_databricks))
        if is_markdown:
            raise ReadError(f"{path}: not a notebook: Markdown is read as one if its header has the key `jupyter` or `jupytext`")
    python = without_surrogates(text) if kind in (Kind.PYTHON, Kind.NOTEBOOK) else ""
    if SIGN in python or (("\n%" in python or "\n!" in python or python[:1] in ("%", "!")) and _MAGIC.search(python) is not None):
        from mpslint.source.magics import mask_cell

        masked = mask_cell(python)
        return Document(path, kind, text, python=masked.python, snippets=masked.snippets, write_back=write_back)
    if python.startswith(_JUPYTEXT):
        from mpslint.source.text_notebook import commented_magics

        return Document(path, kind, text, python=python, snippets=commented_magics(python), write_back=write_back)
    return Document(path, kind, text, python=python, write_back=write_back)


def is_text_notebook(path: str, data: bytes) -> bool:
    """Return whether a notebook is kept as Markdown or Python, not as JSON."""
    return path.lower().endswith((*MARKDOWN, ".py")) and data.lstrip()[:1] != b"{"


def encoded(path: str, text: str, kind: Kind) -> bytes:
    """Return the bytes that an editor saves a text as, for `read`. Raises ReadError where the encoding that it declares cannot hold it."""
    head = text[:400].encode("utf-8", "replace")
    encoding = _declared_encoding(path, head) if kind is Kind.PYTHON else "utf-8"
    try:
        return text.encode(encoding, "surrogatepass" if encoding == "utf-8" else "strict")
    except (LookupError, UnicodeEncodeError):
        raise ReadError(f"{path}:1: the encoding that it declares, {encoding}, cannot hold this text; save it as UTF-8") from None


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
        unchanged = encoding == "utf-8" or text.encode(encoding, _errors(kind)) == data[len(mark) :]
    except LookupError:
        raise ReadError(f"{path}:1: unknown text encoding {encoding!r}; save the file as UTF-8") from None
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
    except LookupError:  # Python 3.14 decodes the line
        raise ReadError(f"{path}:1: unknown text encoding; save the file as UTF-8") from None
    return "utf-8" if encoding == "utf-8-sig" else encoding
