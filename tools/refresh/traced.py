"""`traced_lines.yaml`: the lines at which tracebacks through torch stand, by release, from the files in its wheels."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable
from pathlib import Path

from packaging.version import Version

from .arguments import Rebuilt
from .operators import _last_of_minors
from .tables import parsed
from .wheels import Wheels


def traced_lines(path: Path, wheels: Wheels, releases: Iterable[str], bounds: bool) -> Rebuilt:
    """Return the table with the lines of the newest release, or of the last one of every minor version."""
    done = Rebuilt(path.read_text(encoding="utf-8"))
    listed = sorted(releases, key=Version)
    for release in _last_of_minors(listed) if bounds else listed[-1:]:
        for place, row in parsed(done.text).items():
            file, _, function = place.partition(":")
            text = wheels.text(file.partition("/")[0], release, file)
            number = line_of(text, function, row["written"]) if text is not None else None
            done.unread += number is None
            done.checked += number is not None
            known = {str(one): line for one, line in row["lines"].items()}
            if number is None or known.get(release) == number:
                continue
            known[release] = number
            lines = ", ".join(f'"{one}": {known[one]}' for one in sorted(known, key=Version))
            done.text = re.sub(
                rf"(^{re.escape(place)}:\n  written: .*\n  lines: )\{{.*\}}$", rf"\g<1>{{{lines}}}", done.text, flags=re.MULTILINE
            )
            done.lines.append(f"{place}: line {number} in {release}")
    return done


def line_of(text: str, function: str, written: str) -> int | None:
    """Return the line of the statement in a function that holds some code; None where not exactly one does."""
    functions = [
        node for node in ast.walk(ast.parse(text)) if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and node.name == function
    ]
    found = {
        node.lineno
        for one in functions
        for node in ast.walk(one)
        if isinstance(node, (ast.Return, ast.Expr, ast.Assign)) and written in (ast.get_source_segment(text, node) or "")
    }
    return found.pop() if len(found) == 1 else None
