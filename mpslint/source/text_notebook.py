"""Notebooks that are kept as text -> Document: marimo's and Databricks' Python, and Markdown with chunks of code (jupytext, MyST, Quarto).

Their text is that of the file, so offsets are those of the file; what is outside of the cells is blank in `Document.python`.
"""

from __future__ import annotations

import ast
import bisect
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import TypeGuard

from mpslint.core.finding import Edit, Span
from mpslint.source.cells import document_of_cells
from mpslint.source.document import NEWLINE, Cell, Document, Snippet, SnippetKind
from mpslint.source.magics import snippet_of

QUARTO = (".qmd", ".rmd")
"""Markdown that is always a notebook; other Markdown is one if its header says so."""
_HEADER = re.compile(r"---[ \t]*\r?\n.*?^(?:jupyter|jupytext|kernelspec)[ \t]*:.*?^---[ \t]*$", re.DOTALL | re.MULTILINE)
_CHUNK = re.compile(
    r"^(?P<fence>`{3,}|~{3,})[ \t]*(?P<info>[^\r\n`]*)\r?\n(?P<body>.*?)^(?P=fence)[`~]*[ \t]*\r?$", re.DOTALL | re.MULTILINE
)
_PYTHON = re.compile(r"\{(?:python|code-cell)\b[^}]*\}.*")
_PLAIN_PYTHON = re.compile(r"(?:python3?|ipython3?)(?:[ \t].*)?")
_NOT_RUN = re.compile(r"^#\|[ \t]*eval:[ \t]*false\b", re.MULTILINE | re.IGNORECASE)
_OPTIONS = re.compile(r"---[ \t]*\r?\n.*?^---[ \t]*\r?\n|(?:[ \t]*:[\w-]+:[^\r\n]*\r?\n)+", re.DOTALL | re.MULTILINE)
"""How a MyST chunk begins where it has options."""
_COMMENTED = re.compile(r"^#[ ](MAGIC[ ])?(.*)$", re.MULTILINE)
_DATABRICKS = "# Databricks notebook source"
_COMMAND = re.compile(r"^# COMMAND -+[ \t]*(?:\r?\n|\Z)", re.MULTILINE)
_JUPYTEXT_SCRIPT = re.compile(r"# ---[ \t]*\r?\n(?:#[^\r\n]*\r?\n)*?# (?:jupyter|jupytext)[ \t]*:")


def markdown_cells(path: str, text: str) -> list[Span] | None:
    """Return where the Python of a Markdown notebook lies, chunk by chunk; None for Markdown that is no notebook."""
    is_quarto = path.lower().endswith(QUARTO)
    if not is_quarto and _HEADER.match(text) is None:
        return None
    spans = []
    for chunk in _CHUNK.finditer(text):
        info, (start, end) = chunk["info"].strip(), chunk.span("body")
        is_python = _PYTHON.fullmatch(info) or (not is_quarto and _PLAIN_PYTHON.fullmatch(info))
        if is_python and ".noeval" not in info and "eval=FALSE" not in info and not _NOT_RUN.search(chunk["body"]):
            options = _OPTIONS.match(text, start, end) if info.startswith("{code-cell") else None
            spans.append(Span(options.end() if options else start, end))
    return spans


def databricks_cells(text: str) -> list[Span]:
    """Return where the cells of a notebook that Databricks exported lie; those of other languages are comments of Python."""
    marks = [match.span() for match in _COMMAND.finditer(text)]
    starts = [0, *(end for _, end in marks)]
    return [Span(start, end) for start, end in zip(starts, [*(start for start, _ in marks), len(text)], strict=True)]


def marimo_cells(text: str) -> list[Span] | None:
    """Return where the code of a marimo notebook's cells lies, in the order of the file; None for a file that is none, or doesn't parse."""
    if "import marimo" not in text or "App(" not in text:
        return None
    try:
        body = ast.parse(text).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    starts = [0, *(match.end() for match in NEWLINE.finditer(text)), len(text)]
    apps = {_name(target) for node in body if _is_app(node) for target in node.targets}
    if not apps:
        return None
    return [span for node in body for span in _cells_in(node, apps, starts)]


def _is_app(node: ast.stmt) -> TypeGuard[ast.Assign]:
    return isinstance(node, ast.Assign) and isinstance(node.value, ast.Call) and _name(node.value.func).endswith("App")


def _cells_in(node: ast.stmt, apps: set[str], starts: Sequence[int]) -> Iterator[Span]:
    """Yield the lines of a cell's code: without the signature and the result, which marimo writes from the names that the code uses."""
    if isinstance(node, ast.With) and any(_name(item.context_expr).partition(".")[0] in apps for item in node.items):
        yield _lines(node.body, starts)
    elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        decorators = [name for decorator in node.decorator_list if (name := _name(decorator)).partition(".")[0] in apps]
        if any(name.endswith(".cell") for name in decorators):
            code = node.body[:-1] if isinstance(node.body[-1], ast.Return) else node.body
            if code and code[0].lineno > node.lineno:
                yield _lines(code, starts)
        elif decorators:
            yield _lines([node], starts)


def _lines(statements: Sequence[ast.stmt], starts: Sequence[int]) -> Span:
    return Span(starts[statements[0].lineno - 1], starts[min(statements[-1].end_lineno or 0, len(starts) - 1)])


def _name(node: ast.expr) -> str:
    """Return a dotted name, also of what is called; '' for anything else."""
    if isinstance(node, ast.Call):
        return _name(node.func)
    if isinstance(node, ast.Attribute):
        return f"{_name(node.value)}.{node.attr}"
    return node.id if isinstance(node, ast.Name) else ""


def read_cells(path: str, text: str, spans: Sequence[Span], write_back: Callable[[Sequence[Edit]], bytes], is_unordered: bool) -> Document:
    """Return the Document of a notebook whose cells lie at these places of its text."""
    starts = [0, *(match.end() for match in NEWLINE.finditer(text))]

    def physical(index: int, offset: int) -> tuple[int, int]:
        position = spans[index].start + offset
        line = bisect.bisect_right(starts, position)
        return line, position - starts[line - 1] + 1

    cells = tuple(Cell(number, "", span) for number, span in enumerate(spans, start=1))
    document = document_of_cells(path, text, cells, write_back, physical)
    return replace(document, snippets=(*document.snippets, *commented_magics(text)), is_unordered=is_unordered)


def commented_magics(text: str) -> tuple[Snippet, ...]:
    """Return the commands that a notebook keeps as comments of a script: Databricks (`# MAGIC %pip ...`) and jupytext (`# %pip ...`)."""
    is_databricks = text.startswith(_DATABRICKS)
    if not is_databricks and _JUPYTEXT_SCRIPT.match(text) is None:
        return ()
    found: list[Snippet] = []
    is_shell = False
    for line in _COMMENTED.finditer(text):
        if is_databricks and not line[1]:
            is_shell = False
        else:
            start, command = line.start(2), line[2].rstrip("\r")
            if command.startswith(("%sh", "!", "%")):
                is_shell = command.startswith("%sh")
                snippet = snippet_of(command, start)
                found += [snippet] if snippet is not None else []
            elif is_shell and command:
                found.append(Snippet(SnippetKind.SHELL, Span(start, start + len(command)), command))
    return tuple(found)
