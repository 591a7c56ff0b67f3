"""What the walk of a Python text says of a file that is read: which lines a Mac certainly doesn't run (below a test for the system or
its GPU, after an exit), and which commands it starts.
"""

from __future__ import annotations

import ast
import functools
import re
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import replace

from mpslint.core.finding import Span
from mpslint.core.knowledge import platform_data
from mpslint.facts.values import BEHIND, Call, Instance, Items, Known, Symbol, Unknown, Value, is_weak
from mpslint.project.launch import may_start
from mpslint.source import reader
from mpslint.source.document import Cell, Document, Kind, Spawned, Written

_PIECE = re.compile(r"[A-Za-z]{0,2}(\"\"\"|'''|\"|')(.*?)(?<!\\)\1", re.DOTALL)
_PUT_IN = re.compile(r"\{(?:[^{}]|\{[^{}]*\})*\}")
_CONTINUED = re.compile(r"(\\\\|\\)\n")
"""The end of a line that Python joins to the next one, or (with two backslashes) that the shell does."""
_SHELL_CONTINUED = re.compile(r"\\\n")
UNSAID = "$?"
"""What stands in shell text for what is not known."""


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


def spawned_by(document: Document, calls: Sequence[Call]) -> tuple[Spawned, ...]:
    """Return the commands that some calls of a Python text start, each once, in the order of the text."""
    functions = frozenset(platform_data("launchers")["functions"])
    found = dict.fromkeys(one for call in calls if call.name in functions for one in _started(document, call))
    return tuple(sorted(found, key=lambda one: one.span.start))


def _started(document: Document, call: Call) -> Iterator[Spawned]:
    first = call.arguments[0] if call.arguments else call.keywords.get("args")
    value, place = first.value if first is not None else None, _place(document, call.node)
    folder = ""
    if "cwd" in call.keywords:
        given = call.keywords["cwd"].value
        folder = given.value if isinstance(given, Known) and isinstance(given.value, str) else UNSAID
    if isinstance(value, Instance) and value.name in platform_data("launchers")["splitters"] and value.call and value.call.arguments:
        value = value.call.arguments[0].value
    if isinstance(value, Items):
        words = [(index, _word(document, value.slots[index], place.start)) for index in sorted(value.slots)]
        gap = [Written(None, UNSAID, place.start)] if value.open else []
        behind = [word for index, word in words if index >= BEHIND]
        yield Spawned((*(word for index, word in words if index < BEHIND), *gap, *behind, *(gap if behind else ())), place, folder, False)
    elif value is not None and (text := _written(document, value)) is not None:
        yield Spawned((text,), place, folder, True)


def _word(document: Document, value: Value, start: int) -> Written:
    """Return an element of a list as a word; what isn't written as such stands where the list is handed on."""
    if isinstance(value, Symbol) and value.name in platform_data("launchers")["interpreters"]:
        return Written("python", "python", start)
    return _written(document, value) or Written(None, UNSAID, start)


def _written(document: Document, value: Value) -> Written | None:
    """Return a value as it is written in one place of the text; None for one that isn't."""
    node = value.text if isinstance(value, Unknown) else value.origin if isinstance(value, Known) else None
    if isinstance(value, Known) and node is not None and not isinstance(node, ast.JoinedStr):  # of `str(1)` the number
        constants = [one for one in ast.walk(node) if isinstance(one, ast.Constant)]
        node = constants[0] if len(constants) == 1 and str(constants[0].value) == str(value.value) else None
    if not isinstance(node, (ast.Constant, ast.JoinedStr)) or not hasattr(node, "end_col_offset"):
        return None
    place = _place(document, node)
    if isinstance(node, ast.Constant) and not isinstance(node.value, str):
        return Written(str(node.value), document.python[place.start : place.end], place.start, is_weak(value))
    found = _text_of(document, node, place)
    return Written(None if UNSAID in found[0] else found[0], *found, is_weak(value)) if found is not None else None


def _text_of(document: Document, node: ast.Constant | ast.JoinedStr, place: Span) -> tuple[str, int] | None:
    """Return the text of a string as it stands between its quotes, and its offset; None for what has escapes.

    What an f-string puts in is UNSAID, and the quotes between its pieces are blank, at the same length.
    """
    pieces = list(_PIECE.finditer(document.python, place.start, place.end))
    if not pieces or pieces[-1].end() != place.end:
        return None
    found, begin = "", pieces[0].start(2)
    for piece in pieces:
        found += " " * (piece.start(2) - begin - len(found)) + _CONTINUED.sub(_joined, piece[2])
    if isinstance(node, ast.JoinedStr):
        if "{{" in found or "}}" in found or "\\" in _SHELL_CONTINUED.sub("", found):
            return None
        return _PUT_IN.sub(lambda match: UNSAID.ljust(len(match[0]), "_"), found), begin
    if "\\" in _SHELL_CONTINUED.sub("", found):
        return None
    return (found, begin) if _words_of(found) == _words_of(str(node.value)) else None


def _place(document: Document, node: ast.expr) -> Span:
    end = document.offset(node.end_lineno or node.lineno, node.end_col_offset or node.col_offset)
    return Span(document.offset(node.lineno, node.col_offset), end)


def _joined(match: re.Match[str]) -> str:
    """Return the end of a line as the shell gets it, at the same length."""
    return "  " if match[1] == "\\" else " \\\n"


def _words_of(text: str) -> list[str]:
    return _SHELL_CONTINUED.sub(" ", text).split()
