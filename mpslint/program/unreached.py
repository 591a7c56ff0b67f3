"""What the walk of a Python text says of a file that is read: which lines a Mac certainly doesn't run (below a test for the system or
its GPU, after an exit), and which commands it starts.
"""

from __future__ import annotations

import ast
import functools
import warnings
from dataclasses import replace

from mpslint.core.finding import Span
from mpslint.program.spawned import spawned_by
from mpslint.project.launch import may_start
from mpslint.source import reader
from mpslint.source.document import Cell, Document, Kind, Spawned


def read(path: str, data: bytes, kind: Kind | None = None) -> Document:
    """Return the Document of a file's bytes with those of its lines for a shell that a Mac may run, and what it starts.

    Raises ReadError when the bytes are not text of that kind, or more than a program; the message names the file, the place and what is
    wrong.
    """
    document = reader.read(path, data, kind)
    is_asked = may_start(document.python) or any(_is_indented(document.text, snippet.span) for snippet in document.snippets)
    if not is_asked:
        return document
    python, (lines, spawned) = document.python, walked(document.python, document.cells)
    left = (snippet for snippet in document.snippets if python.count("\n", 0, snippet.span.start) + 1 not in lines)
    return replace(document, snippets=tuple(left), spawned=spawned if document.kind is Kind.PYTHON else ())


def _is_indented(text: str, span: Span) -> bool:
    return text[text.rfind("\n", 0, span.start) + 1 : span.start][:1] in (" ", "\t")


@functools.lru_cache(maxsize=128)  # a file is read for its own sake, and for what it starts
def walked(python: str, cells: tuple[Cell, ...]) -> tuple[frozenset[int], tuple[Spawned, ...]]:
    """Return the numbers of the lines, from 1, that a Mac certainly doesn't run, none of a text that is too much to follow; and what is
    started.
    """
    from mpslint.program.evaluator import evaluate_program  # a file without such lines needs no walk

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(python)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return frozenset(), ()
    document = Document("", Kind.PYTHON, python, python, cells=cells)
    facts = evaluate_program(document, tree.body, {})
    spawned = spawned_by(document, facts.calls)
    if facts.is_exhausted:
        return frozenset(), spawned
    statements = [node for node in ast.walk(tree) if isinstance(node, ast.stmt)]
    if facts.uses.not_followed:  # a further call may come to what is in any function
        inside = {id(node) for one in statements if isinstance(one, (ast.FunctionDef, ast.AsyncFunctionDef)) for node in ast.walk(one)}
        statements = [node for node in statements if id(node) not in inside]
    left = [node for node in statements if node not in facts.uses.reached]
    return frozenset(line for node in left for line in range(node.lineno, (node.end_lineno or node.lineno) + 1)), spawned
