"""The user's code as pieces that can be run: a script whole, a notebook by its code cells, magics left out."""

from __future__ import annotations

import ast
import asyncio
import contextlib
import inspect
import json
import pickle
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from traceback import walk_stack
from types import CodeType
from typing import Any

from mpslint.core.finding import ReadError
from mpslint.source.magics import mask_cell
from mpslint.verify.child.torch_patches import Report
from mpslint.verify.emulator.intercept import without_addresses

ANSWERS: Mapping[str, object] = {"_": []}
"""What a cell finds under the name that stands for magics: a command that was not run printed no lines."""


class _OnMac(ast.NodeTransformer):
    """Has code take the branches of `sys.platform` that it takes on a Mac; libraries go on as their builds here do."""

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        if ast.unparse(node) == "sys.platform" and isinstance(node.ctx, ast.Load):
            return ast.copy_location(ast.Constant("darwin"), node)
        return self.generic_visit(node)


@dataclass(frozen=True, slots=True)
class Piece:
    """Code that runs as one: how tracebacks name it, how reports name it, and its text."""

    file: str
    shown: str
    text: str

    def compiled(self) -> CodeType:
        """Return the piece compiled; top-level `await` is allowed as in a notebook. Raises ReadError when it does not parse."""
        try:
            flags = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT if self.is_cell else 0
            tree = compile(self.text, self.file, "exec", flags | ast.PyCF_ONLY_AST)
            code: CodeType = compile(_OnMac().visit(tree), self.file, "exec", flags)
        except SyntaxError as error:
            raise ReadError(f"{self.shown}:{error.lineno}: this does not parse: {error.msg}") from None
        return code

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
            text = mask_cell("".join(cell.get("source", ""))).python  # what IPython would run is the name `_` in its place
            found.append(Piece(f"<cell {number}>", f"{shown} cell {number}", text))
    return found


def unguarded(piece: Piece, line: int) -> bool:
    """Return whether a line at the top level of a script runs again when a worker process imports it: outside of a main guard."""
    for node in ast.parse(piece.text).body:
        if node.lineno <= line <= (node.end_lineno or node.lineno):
            return not (isinstance(node, ast.If) and "__name__" in {name.id for name in ast.walk(node.test) if isinstance(name, ast.Name)})
    return False


def siblings(path: Path, root: Path) -> dict[str, str]:
    """Return the other Python files of a script's project, which its imports may run."""
    return {str(other): str(other.relative_to(root)) for other in root.rglob("*.py") if other != path}


def texts_of(files: Iterable[str]) -> Iterator[str]:
    """Yield the texts of the files that can be read, of some."""
    for file in files:
        with contextlib.suppress(OSError, UnicodeDecodeError):
            yield Path(file).read_text(encoding="utf-8-sig")


def execute(code: CodeType, namespace: dict[str, Any]) -> None:
    """Run compiled code in a namespace; a cell with a top-level `await` runs in an event loop."""
    if code.co_flags & inspect.CO_COROUTINE:
        asyncio.run(eval(code, namespace))
    else:
        exec(code, namespace)


NO_GUARD = (
    "DataLoader workers are spawned on macOS and import this script again: without `if __name__ "
    '== "__main__":` it raises "An attempt has been made to start a new process before the current '
    'process has finished its bootstrapping phase"'
)


def check_workers(loader: Any, main: Piece, report: Report) -> None:
    """Report a loader whose workers could not start."""
    running = ((frame.f_code, line) for frame, line in walk_stack(sys._getframe(1)))
    lines = [line for code, line in running if code.co_filename == main.file and code.co_name == "<module>"]
    if lines and not main.is_cell and unguarded(main, lines[0]):
        report("main-guard", "error", NO_GUARD)
    for name, value in (("dataset", loader.dataset), ("collate_fn", loader.collate_fn)):
        try:
            pickle.dumps(value)
        except (pickle.PicklingError, TypeError, AttributeError) as error:
            report("workers", "error", f"the loader's {name} cannot be sent to spawned workers: {without_addresses(str(error))}")
