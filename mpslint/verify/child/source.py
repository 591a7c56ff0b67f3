"""The user's code as pieces that can be run: a script whole, a notebook by its code cells, magics left out."""

from __future__ import annotations

import ast
import json
from dataclasses import dataclass
from pathlib import Path
from types import CodeType

from mpslint.core.finding import ReadError

MAGICS = ("!", "%", "?")


@dataclass(frozen=True, slots=True)
class Piece:
    """Code that runs as one: how tracebacks name it, how reports name it, and its text."""

    file: str
    shown: str
    text: str

    def compiled(self) -> CodeType:
        """Return the piece compiled; top-level `await` is allowed as in a notebook.
        Raises ReadError when it does not parse."""
        try:
            return compile(self.text, self.file, "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT if self.is_cell else 0)
        except SyntaxError as error:
            raise ReadError(f"{self.shown}:{error.lineno}: this does not parse: {error.msg}") from None

    @property
    def is_cell(self) -> bool:
        """Whether this is a cell of a notebook."""
        return self.file.startswith("<cell")


def pieces(path: Path, shown: str) -> list[Piece]:
    """Return the pieces of a script or notebook. Raises ReadError when it cannot be read."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise ReadError(f"{shown}: cannot be read: {error}") from None
    if path.suffix != ".ipynb":
        return [Piece(str(path), shown, text)]
    try:
        cells = json.loads(text)["cells"]
    except (ValueError, KeyError, TypeError) as error:
        raise ReadError(f"{shown}: not a notebook: {error}") from None
    found = []
    for number, cell in enumerate(cells, start=1):
        if cell.get("cell_type") == "code":
            source = cell.get("source", "")
            found.append(Piece(f"<cell {number}>", f"{shown} cell {number}", plain("".join(source))))
    return found


def plain(text: str) -> str:
    """Return a cell without what only a notebook understands; the numbers of its lines stay true."""
    lines = text.split("\n")
    first = next((line for line in lines if line.strip()), "")
    if first.startswith("%%") and first[2:].split()[:1] not in (["time"], ["timeit"], ["capture"], ["prun"]):
        return ""
    kept, goes_on = [], False
    for line in lines:
        bare = line.lstrip()
        is_magic = goes_on or bare.startswith(MAGICS) or bare.endswith("?") or _assigns_magic(bare)
        goes_on = is_magic and line.rstrip().endswith("\\")
        kept.append(line[: len(line) - len(bare)] + "pass" if is_magic and bare else line)
    return "\n".join(kept)


def _assigns_magic(line: str) -> bool:
    """Return whether a line is `name = !command` or `name = %magic`, or installs by automagic."""
    name, equals, value = line.partition("=")
    return (bool(equals) and name.strip().isidentifier() and value.lstrip().startswith(("!", "%"))) or line.startswith(
        ("pip install ", "conda install ")
    )


def unguarded(piece: Piece, line: int) -> bool:
    """Return whether a line at the top level of a script runs again when a worker process imports it:
    outside of a main guard."""
    for node in ast.parse(piece.text).body:
        if node.lineno <= line <= (node.end_lineno or node.lineno):
            return not (isinstance(node, ast.If) and "__name__" in {name.id for name in ast.walk(node.test) if isinstance(name, ast.Name)})
    return False
