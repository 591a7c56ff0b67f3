"""Python text -> statements of `ast`, cell by cell where it is a notebook, so that one broken cell costs one cell."""

from __future__ import annotations

import ast
import contextlib
import functools
import re
import warnings
from collections.abc import Mapping

from mpslint.core.finding import Span
from mpslint.core.grouped import grouped
from mpslint.core.record import record
from mpslint.program.walk import Parents, children, walk, words_of
from mpslint.source.document import Cell, Document, Unread

_TOP_IMPORT = re.compile(r"^(?:from[ \t]+[\w.]+[ \t]+import[ \t]+(?:\([^()]*\)|[^\n(;]+)|import[ \t]+[^\n(;]+)", re.MULTILINE)
_PRIVATE = re.compile(r"\b__(?!\w*__\b)\w")
_NAMING = ("id", "attr", "name", "arg", "asname")
"""The fields of nodes that hold a name."""
PARSER_ERRORS = (SyntaxError, ValueError, RecursionError, MemoryError)
_NOT_NEWER = "Missing parentheses in call"
"""How Python's message about a program begins that is written for Python 2: no newer syntax makes it right."""
_PROMPT = re.compile(r"^([ \t]*)(>>>|\.\.\.)(?= |$)", re.MULTILINE)


@record(frozen=True)
class Parsed:
    """The statements of a program, numbered by the lines of `Document.text`, and the parts that could not be parsed."""

    body: list[ast.stmt]
    unread: tuple[Unread, ...] = ()
    files: tuple[Parsed, ...] = ()
    """For a run: the statements of each of its files."""

    @functools.cached_property
    def parents(self) -> Mapping[ast.AST, ast.AST]:
        """The node that each node of the program is right below."""
        return Parents(self.body) if not self.files else {child: node for one in self.files for child, node in one.parents.items()}

    @functools.cached_property
    def by_word(self) -> Mapping[str, list[ast.AST]]:
        """The nodes by each name, or text, that they write."""
        return grouped((word, node) for node in walk(*self.body) for word in words_of(node))


def parse_program(document: Document, text: str, lines_above: int = 0) -> Parsed:
    """Return the statements of `text`, which is `document.python` or one of its scripts. Never raises.

    `lines_above` are the lines before it in the joined text of a run; a notebook has none.
    """
    parsed = _parsed(document, text, lines_above)
    if _PRIVATE.search(text):
        _name_private(parsed.body)
    return parsed


def _parsed(document: Document, text: str, lines_above: int) -> Parsed:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if document.is_unordered:
            return _parse_cells(document, text)
        try:
            body = ast.parse("\n" * lines_above + text).body
        except PARSER_ERRORS as error:
            if not document.cells:
                newer = _in_newer_syntax(text, lines_above) if _may_be_newer(error) else None
                return Parsed([], (_unread(document, Span(0, len(text)), error),)) if newer is None else Parsed(newer)
        else:
            if not document.cells or not _crosses_cells(document, body):
                return Parsed(body)
        return _parse_cells(document, text)


def _name_private(body: list[ast.stmt]) -> None:
    """Give the private names in classes (`self.__size`) the class's own, as Python does when it compiles them."""
    waiting: list[tuple[ast.AST, str]] = [(one, "") for one in body]
    while waiting:
        node, owner = waiting.pop()
        known = vars(node)
        if owner:
            own = {field: f"_{owner}{name}" for field in _NAMING if _is_private(name := known.get(field))}
            known.update({} if isinstance(node, ast.alias) and "name" in own else own)
            if isinstance(node, (ast.Global, ast.Nonlocal)):
                node.names = [f"_{owner}{name}" if _is_private(name) else name for name in node.names]
        within = set(map(id, node.body)) if isinstance(node, ast.ClassDef) else ()
        waiting += [(one, node.name.lstrip("_") if id(one) in within else owner) for one in children(node)]  # type: ignore[attr-defined]


def _is_private(name: object) -> bool:
    return isinstance(name, str) and name[:2] == "__" and name[-2:] != "__"


def _may_be_newer(error: BaseException) -> bool:
    """Return whether a newer Python may parse what this one does not: loading LibCST to ask it takes as long as checking thirty files."""
    return isinstance(error, SyntaxError) and not isinstance(error, IndentationError) and not error.msg.startswith(_NOT_NEWER)


def _in_newer_syntax(text: str, lines_above: int) -> list[ast.stmt] | None:
    """Return the statements of a program that a newer Python than the running one parses; None where none does."""
    from mpslint.program.newer_syntax import in_older_syntax  # LibCST, for programs that `ast` can't read only

    older = in_older_syntax(text)
    if older is None:
        return None
    with contextlib.suppress(*PARSER_ERRORS):
        return ast.parse("\n" * lines_above + older).body
    return None


def _crosses_cells(document: Document, body: list[ast.stmt]) -> bool:
    """Return whether a statement begins in one cell and ends in another, as two broken cells can make one whole."""
    lasts = iter([document.line_at(cell.span.end) for cell in document.cells])
    last = next(lasts)
    for statement in body:
        while statement.lineno > last:
            last = next(lasts)
        if (statement.end_lineno or statement.lineno) > last:
            return True
    return False


def _parse_cells(document: Document, text: str) -> Parsed:
    cells: list[list[ast.stmt]] = []
    unread = []
    for cell in document.cells:
        found = _parse_cell(document, text, cell)
        if isinstance(found, Unread):
            unread.append(found)
            cells.append(_imports_in(document, text, cell))
        else:
            cells.append(found)
    ordered = _as_they_run(cells) if document.is_unordered else cells
    return Parsed([statement for cell in ordered for statement in cell], tuple(unread))


def _as_they_run(cells: list[list[ast.stmt]]) -> list[list[ast.stmt]]:
    """Return cells in an order in which each comes after those that define its names; what needs each other stays in the file's order."""
    used, defined = [], []
    for cell in cells:
        names = [node for statement in cell for node in ast.walk(statement) if isinstance(node, ast.Name)]
        used.append({node.id for node in names if isinstance(node.ctx, ast.Load)})
        defined.append({name for statement in cell for name in _defined_by(statement)})
    ordered: list[int] = []
    waiting = list(range(len(cells)))
    while waiting:
        free = (one for one in waiting if not any(used[one] & defined[other] for other in waiting if other != one))
        chosen = next(free, waiting[0])
        ordered.append(chosen)
        waiting.remove(chosen)
    return [cells[index] for index in ordered]


def _defined_by(statement: ast.stmt) -> set[str]:
    """Return the names that a statement of a cell binds, as far as it says them."""
    if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        return {statement.name}
    found = {node.id for node in ast.walk(statement) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    imports = [node for node in ast.walk(statement) if isinstance(node, (ast.Import, ast.ImportFrom))]
    return found | {(alias.asname or alias.name).partition(".")[0] for node in imports for alias in node.names}


def _parse_cell(document: Document, text: str, cell: Cell) -> list[ast.stmt] | Unread:
    """Return the statements of one cell: as it is, or with the indent and prompts that IPython strips."""
    source = text[cell.span.start : cell.span.end]
    above = "\n" * (document.line_at(cell.span.start) - 1)
    try:
        return ast.parse(above + source).body
    except PARSER_ERRORS as error:
        failure = error
    unprompted = _PROMPT.sub(lambda match: " " * len(match.group()), source)
    if source[:1].isspace() or unprompted != source:
        with contextlib.suppress(*PARSER_ERRORS):
            wrapper = ast.parse("if 1:\n" + unprompted).body[0]
            if isinstance(wrapper, ast.If):
                return [ast.increment_lineno(statement, len(above) - 1) for statement in wrapper.body]
    newer = _in_newer_syntax(source, len(above)) if _may_be_newer(failure) else None
    return _unread(document, cell.span, failure) if newer is None else newer


def _imports_in(document: Document, text: str, cell: Cell) -> list[ast.stmt]:
    """Return the imports of a cell that doesn't parse: who runs the notebook completes the cell first, and others use its names."""
    found: list[ast.stmt] = []
    for match in _TOP_IMPORT.finditer(text, cell.span.start, cell.span.end):
        with contextlib.suppress(*PARSER_ERRORS):
            found += ast.parse("\n" * (document.line_at(match.start()) - 1) + match.group()).body
    return found


_LINE_NAMED = re.compile(r"on line (\d+)")


def _unread(document: Document, span: Span, error: BaseException) -> Unread:
    """Return why a part could not be parsed, at the place that the parser names."""
    if not isinstance(error, SyntaxError):
        reason = f"does not parse: {error}" if isinstance(error, ValueError) else "too deeply nested to be parsed"
        return Unread(Span(span.start, span.start), reason)
    # The parser's own `on line 442` counts through all cells; in a run it counts the lines of the files before this one, too.
    starts = document.line_starts
    in_cell = _LINE_NAMED.sub(lambda named: f"on line {document.place(starts[min(int(named[1]), len(starts)) - 1]).line}", error.msg)
    if not error.lineno:
        return Unread(Span(span.start, span.start), f"does not parse: {in_cell}")
    line = min(error.lineno, len(document.line_starts))
    end = document.line_starts[line - 1] + len(document.line_text(line))
    start = min(document.line_starts[line - 1] + max(0, (error.offset or 1) - 1), end)
    start, end = (max(span.start, min(span.end, offset)) for offset in (start, end))
    return Unread(Span(start, end), f"does not parse: {in_cell}")
