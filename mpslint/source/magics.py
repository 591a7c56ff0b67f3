"""Notebook syntax that is not Python, masked by Python of the same length so that every offset stays true.

What IPython would run (`!cmd`, `%magic`, `x = !cmd`, `name?`, `%%bash`) becomes the name `_`, which the evaluator never knows, padded
with blanks. A line inside a string or a bracket is left alone, whatever it starts with: IPython runs only what begins a statement.
Magics as calls of IPython, `get_ipython().run_line_magic("pip", "install x")`, are read like the magics that they stand for.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator

from mpslint.core.finding import Span
from mpslint.core.record import record
from mpslint.source.document import Snippet, SnippetKind

PLACEHOLDER = "_"

PYTHON_CELLS = frozenset(
    "time timeit capture prun debug python python3 pypy ipytest memit mprun lprun wandb scalene pyinstrument snakeviz".split()
)
"""Cell magics whose body is Python."""
LOCAL_CELLS = frozenset(["timeit"])
"""Cell magics that run their body as a function, so that later cells don't see the names that it binds."""
SHELL_CELLS = frozenset(["bash", "sh", "shell", "script", "!", "system", "sx"])
WRITING_CELLS = frozenset({"writefile", "file"})
AUTOMAGIC = frozenset(
    "pip conda mamba micromamba uv cd ls ll pwd mkdir rmdir rm cp mv cat less more man env set_env load_ext reload_ext autoreload "
    "matplotlib pylab run system sx".split()
)
"""Line magics, and aliases of commands, that IPython also runs without a percent sign."""

_MAY_HOLD_MAGIC = re.compile(r"^[ \t]*[!%?]|\?[ \t]*$|=[ \t]*[!%]", re.MULTILINE)
_MAGIC_START = re.compile(r"[ \t]*[!%?]")
_TIMED = re.compile(r"%(time|timeit|memit)[ \t]+(-\w+([ \t]*\d+)?[ \t]+)*(?!(-|for |while |with |if |def |class ))")
"""A magic that runs what follows it, behind options that are flags and numbers."""
_CELL_MAGIC = re.compile(r"\s*%%(!|[\w.]+)([^\r\n]*)")
_ASSIGNED = re.compile(r"[ \t]*[A-Za-z_][\w.,\[\] \t'\"]*?=[ \t]*(?=[!%][^\s=])")
_HELP = re.compile(r"[ \t]*(\?{1,2}[^\r\n]+|%{0,2}[\w.*]+(\([^()\r\n]*\)|\[[^\[\]\r\n]*\])?\?{1,2})[ \t]*$")
_WORD = re.compile(r"[ \t]*(\w+)[ \t]+(?![=,])\S")
_MAY_HOLD_AUTOMAGIC = re.compile(rf"^[ \t]*(?:{'|'.join(sorted(AUTOMAGIC))})[ \t]+(?![=,])\S", re.MULTILINE)
_NOT_BLANK = re.compile(r"[^\r\n]")
SIGN = "get_ipython()"
_SHELL_CALLS = frozenset({"system", "getoutput"})
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_ESCAPED = {"n": "\n", "t": "\t", "r": "\r", "\\": "\\", "'": "'", '"': '"'}
_QUOTES = re.compile(r"[rRuU]?(\"\"\"|'''|\"|')")


@record(frozen=True, slots=True)
class MaskedCell:
    """What a cell holds: `python` has the length of the cell's text, spans count from its start."""

    python: str
    script: str = ""
    """The body of a `%%writefile x.py`, blank elsewhere, or ''."""
    snippets: tuple[Snippet, ...] = ()


def blank(text: str) -> str:
    """Return spaces for everything but line ends."""
    return _NOT_BLANK.sub(" ", text)


def binds_nothing(text: str) -> bool:
    """Return whether the names that a cell binds are its own."""
    found = _CELL_MAGIC.match(text)
    return found is not None and found[1] in LOCAL_CELLS


def mask_cell(text: str) -> MaskedCell:
    """Return the Python of a cell, and what else it holds.

    Commands without a percent sign (`pip -q install x`, `cd ..`) are masked where they are no Python.
    """
    if SIGN not in text and not _MAY_HOLD_MAGIC.search(text) and not _MAY_HOLD_AUTOMAGIC.search(text):
        return MaskedCell(text)
    cell_magic = _CELL_MAGIC.match(text)
    if cell_magic is None:
        return _mask_lines(text)
    name, rest = cell_magic.groups()
    start = cell_magic.end()
    head, body = blank(text[:start]), text[start:]
    if name in PYTHON_CELLS:
        inner = _mask_lines(body)
        moved = tuple(Snippet(s.kind, Span(s.span.start + start, s.span.end + start), s.text) for s in inner.snippets)
        return MaskedCell(head + inner.python, snippets=moved)
    if name in WRITING_CELLS and rest.split("#")[0].strip().strip("'\"").endswith(".py"):
        return MaskedCell(blank(text), script=head + body)
    is_shell_file = name in WRITING_CELLS and rest.strip().endswith((".sh", ".bash"))
    if is_shell_file or (name in SHELL_CELLS and (name != "script" or rest.split()[:1] in (["bash"], ["sh"]))):
        return MaskedCell(blank(text), snippets=(Snippet(SnippetKind.SHELL, Span(start, len(text)), body),))
    return MaskedCell(blank(text))


def _mask_lines(text: str) -> MaskedCell:
    """Mask the magics of a cell that is Python otherwise."""
    pieces: list[str] = []
    snippets: list[Snippet] = []
    for start, end in _statements(text):
        statement = text[start:end]
        called = called_magic(statement)
        if called is not None:
            python, found = _mask_called(statement, start, called)
            pieces.append(python)
            snippets += found
            continue
        masked = _mask_statement(statement)
        pieces.append(statement if masked is None else masked)
        if masked is not None:
            snippet = snippet_of(statement, start)
            if snippet is not None:
                snippets.append(snippet)
    return MaskedCell("".join(pieces), snippets=tuple(snippets))


def _mask_called(statement: str, start: int, called: CalledMagic) -> tuple[str, list[Snippet]]:
    """Return the mask of a statement that calls a magic, and what the magic says."""
    before, after = statement[: called.start], statement[called.end :]
    if called.body is None:
        found = snippet_of(called.text.strip(), start + called.start + len(called.text) - len(called.text.lstrip()))
        bare = found.text.lstrip() if found is not None else ""
        snippets = [Snippet(found.kind, Span(found.span.end - len(bare), found.span.end), bare)] if found is not None else []
        return before + _placeholder(called.text) + after, snippets
    cell = mask_cell(f"{called.text.strip()}\n{written(statement, called.body)}")
    moved = start + called.body[0] - len(called.text.strip()) - 1
    snippets = [Snippet(one.kind, Span(one.span.start + moved, one.span.end + moved), one.text) for one in cell.snippets]
    python = cell.python[len(called.text.strip()) + 1 :]
    if not python.strip() or python.count("\n") != statement[slice(*called.body)].count("\n"):
        return before + _placeholder(statement[called.start : called.end]) + after, snippets
    head = f"{PLACEHOLDER};" + blank(statement[called.start + 2 : called.body[0]])
    return before + head + python + blank(statement[called.body[1] : called.end]) + after, snippets


def _mask_statement(statement: str) -> str | None:
    """Return the mask of a statement that is a magic, or None when it is Python."""
    bare = statement.lstrip()
    if (timed := _TIMED.match(bare)) is not None:
        return statement[: len(statement) - len(bare)] + f"{PLACEHOLDER};" + " " * (timed.end() - 2) + bare[timed.end() :]
    assigned = _ASSIGNED.match(statement)
    if assigned is not None:
        return statement[: assigned.end()] + _placeholder(statement[assigned.end() :])
    if bare.startswith(("!", "%")) or _HELP.match(statement.rstrip("\r\n")) or _is_automagic(statement):
        return statement[: len(statement) - len(bare)] + _placeholder(bare)
    return None


def _is_automagic(statement: str) -> bool:
    """Return whether a statement is a command that IPython runs without a percent sign: what is valid Python is no such command here."""
    word = _WORD.match(statement)
    if word is None or word.group(1) not in AUTOMAGIC:
        return False
    try:
        ast.parse(statement.strip())
    except (SyntaxError, ValueError):
        return True
    return False


def _placeholder(text: str) -> str:
    return PLACEHOLDER + blank(text[1:])


_KINDS = {
    "env": SnippetKind.ENV,
    "set_env": SnippetKind.ENV,
    **dict.fromkeys(("pip", "uv", "conda"), SnippetKind.INSTALL),
    "run": SnippetKind.RUN,
    "cd": SnippetKind.FOLDER,
    **dict.fromkeys(("sx", "system"), SnippetKind.SHELL),
}
"""What the magics say that say something to a shell or to the environment."""
_WITH_NAME = (SnippetKind.INSTALL, SnippetKind.RUN, SnippetKind.FOLDER)
"""Magics whose name is part of the snippet, as it is a command."""


def snippet_of(statement: str, start: int) -> Snippet | None:
    """Return what a masked statement says to a shell or to the environment, or None when nothing that matters here."""
    offset = len(statement) - len(statement.lstrip())
    assigned = _ASSIGNED.match(statement)
    if assigned is not None:
        offset = assigned.end()
    command = statement[offset:].rstrip("\r\n")
    if _is_automagic(command):
        offset, command = offset - 1, f"%{command}"
    name, has_words, _ = command[1:].partition(" ")
    kind = SnippetKind.SHELL if command[:1] == "!" else _KINDS.get(name) if command[:1] == "%" and has_words else None
    if kind is None:
        return None
    skip = 2 if command[:2] == "!!" else 1 if command[:1] == "!" or kind in _WITH_NAME else len(name) + 2
    return Snippet(kind, Span(start + offset + skip, start + offset + len(command)), command[skip:])


def _statements(text: str) -> Iterator[tuple[int, int]]:
    """Yield the (start, end) of runs of lines that belong together: brackets, strings and backslashes hold lines together.

    Simple statements joined by `;` and the lines of a block each count for themselves: only where a line begins matters here.
    """
    start = position = 0
    while position < len(text):
        is_magic = _MAGIC_START.match(text, position) is not None or _ASSIGNED.match(text, position) is not None
        position = next(_MAGIC_END.finditer(text, position)).end() if is_magic else _end_of_logical_line(text, position)
        yield start, position
        start = position


_MAGIC_END = re.compile(r"(?<!\\)(?:\r\n|\r|(?<!\\\r)\n)|\Z")
"""The first line end that no backslash precedes."""
_TOKEN = re.compile(
    r"'''[^'\\]*(?:(?:\\.|'(?!''))[^'\\]*)*(?:'''|\\?\Z)"
    r'|"""[^"\\]*(?:(?:\\.|"(?!""))[^"\\]*)*(?:"""|\\?\Z)'
    r"|'[^'\\\r\n]*(?:\\(?:\r\n|.)[^'\\\r\n]*)*'?"
    r'|"[^"\\\r\n]*(?:\\(?:\r\n|.)[^"\\\r\n]*)*"?'
    r"|#[^\r\n]*|[\[({\])}]|\\?(?:\r\n|\r|\n)",
    re.DOTALL,
)
"""What makes lines belong together: strings (one of one line ends with its line where the quote is missing), brackets and line ends."""


def _end_of_logical_line(text: str, position: int) -> int:
    """Return where a logical line of Python ends. Unclosed strings and brackets run to the end of the cell."""
    depth = 0
    for token in _TOKEN.finditer(text, position):
        found = token.group()
        if found in "[({":
            depth += 1
        elif found in "])}":
            depth = max(0, depth - 1)
        elif found[0] in "\r\n" and depth == 0:
            return token.end()
    return len(text)


@record(frozen=True, slots=True)
class CalledMagic:
    """A magic that a statement calls, as it would be written in a notebook."""

    start: int
    """Where the call begins in the statement."""
    end: int
    text: str
    """What stands in the call's place: `!` or `%` at its beginning, blanks, and the magic's words where the call has them."""
    body: tuple[int, int] | None = None
    """Where the text of a cell magic lies in the statement."""


def called_magic(statement: str) -> CalledMagic | None:
    """Return the magic that a statement is a call of, or assigns the result of; None for anything else."""
    if SIGN not in statement:
        return None
    bare = statement.strip()
    indent = statement.index(bare)
    try:
        (node,) = ast.parse(bare).body
    except (SyntaxError, ValueError, RecursionError):
        return None
    call = node.value if isinstance(node, (ast.Expr, ast.Assign)) else None
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute) or ast.unparse(call.func.value) != SIGN or call.keywords:
        return None
    words = [(argument.value, *_inside(bare, argument)) for argument in call.args if isinstance(argument, ast.Constant)]
    if len(words) != len(call.args) or not all(isinstance(value, str) for value, _, _ in words):
        return None
    places = [(start + indent, end + indent) for _, start, end in words]
    start, end = _offset(bare, call.lineno, call.col_offset) + indent, _offset(bare, call.end_lineno, call.end_col_offset) + indent
    if call.func.attr in _SHELL_CALLS and len(words) == 1:
        return CalledMagic(start, end, _spread("!", statement, start, places, end))
    if call.func.attr == "run_line_magic" and len(words) == 2:
        return CalledMagic(start, end, _spread("%", statement, start, places, end))
    if call.func.attr == "run_cell_magic" and len(words) == 3:
        return CalledMagic(start, end, _spread("%%", statement, start, places[:2], places[2][0]), places[2])
    return None


def written(statement: str, place: tuple[int, int]) -> str:
    """Return what a literal says in as many characters as it is written in; the backslash of a quote is a blank outside the pair."""
    seen: Counter[str] = Counter()

    def said(found: re.Match[str]) -> str:
        character = _ESCAPED.get(found[1], found[0])
        seen[character] += 1
        return character.ljust(2) if seen[character] % 2 == 0 else character.rjust(2)

    return _ESCAPE.sub(said, statement[slice(*place)])


def _spread(sign: str, statement: str, start: int, places: list[tuple[int, int]], end: int) -> str:
    """Return a sign and the words of some places, with the first right behind the sign and blanks up to the next."""
    first = places[0][0] - len(sign)
    pieces, position = [" " * (first - start), sign], places[0][0]
    for place in places:
        pieces += [" " * (place[0] - position), written(statement, place)]
        position = place[1]
    return "".join([*pieces, " " * (end - position)])


def _inside(text: str, literal: ast.Constant) -> tuple[int, int]:
    """Return where the characters between the quotes of a literal lie."""
    start, end = _offset(text, literal.lineno, literal.col_offset), _offset(text, literal.end_lineno, literal.end_col_offset)
    opening = _QUOTES.match(text, start)
    return (opening.end(), end - len(opening[1])) if opening is not None else (start, start)


def _offset(text: str, line: int | None, column: int | None) -> int:
    """Return the offset of a place of a syntax tree, which counts columns in bytes."""
    lines = text.splitlines(keepends=True)[: line or 1]
    return sum(map(len, lines[:-1])) + len(lines[-1].encode()[: column or 0].decode())
