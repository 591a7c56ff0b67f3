"""Imports that fixes write: which names are bound at a place already, and where a missing import goes."""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Sequence

from mpslint.core.finding import Edit, Span
from mpslint.core.knowledge import platform_data
from mpslint.facts.facts import EnvironmentWrite
from mpslint.program.names import Bindings
from mpslint.program.walk import first_line
from mpslint.settings.evidence import Evidence, once
from mpslint.source.document import Cell
from mpslint.source.magics import binds_nothing

_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


def bound_names(evidence: Evidence, place: Span, names: Collection[str]) -> frozenset[str]:
    """Return which of some names the file of a place binds on every path before it is reached; of a file without order, in its end."""
    evidence = evidence.around(place)
    document = evidence.document
    start = document.part_at(place.start).span.end if document.is_unordered else place.start
    line = document.line_at(start)
    column = len(document.text[document.line_starts[line - 1] : start].encode("utf-8", "surrogatepass"))
    cell = document.cell_at(place.start)
    is_local = cell is not None and binds_nothing(document.text[cell.span.start : cell.span.end])
    key = "bindings", frozenset(names), cell if is_local else None
    if key not in evidence.memo:
        evidence.memo[key] = Bindings([one for one in evidence.parsed.body if _is_kept(one, cell, evidence)], names)
    found: frozenset[str] = evidence.memo[key].at((line, column))
    return found


def import_edits(evidence: Evidence, module: str, place: Span) -> list[Edit]:
    """Return the edit that adds `import module` above the imports of a place's file; none where the name is surely bound there already.

    A package that reads variables only once is imported below those that the file sets for it.
    """
    evidence = evidence.around(place)
    if module in bound_names(evidence, place, [module]):
        return []
    first = evidence.document.part_at(place.start).span.start
    is_unordered = evidence.document.is_unordered  # then there is one place for an import, whoever needs it
    cell = evidence.document.cell_at(place.start)
    kept = [one for one in evidence.parsed.body if _is_kept(one, cell, evidence)]
    above = [one for one in kept if is_unordered or first <= evidence.span_of(one).start <= place.start]
    if not above:
        return []
    written = None if is_unordered else last_variable(evidence, above, module)
    below = [] if written is None else above[above.index(written) + 1 :][:1]
    imports = [s for s in above if isinstance(s, (ast.Import, ast.ImportFrom)) and getattr(s, "module", "") != "__future__"]
    statement = (below or imports or above[: 1 if is_unordered else None][-1:])[0]
    start = evidence.document.line_starts[(first_line(statement) or 1) - 1]
    newline = evidence.document.newline_at(start)
    before = re.match(r"[ \t]*(?:>>>[ \t]+)?", evidence.document.text[start : evidence.span_of(statement).start])
    prefix = before.group() if before is not None else ""
    gap = newline if below and not prefix and not isinstance(statement, (ast.Import, ast.ImportFrom)) else ""
    return [Edit(Span(start, start), f"{prefix}import {module}{newline}{gap}")]


def _is_kept(statement: ast.stmt, cell: Cell | None, evidence: Evidence) -> bool:
    """Return whether what a statement binds is there in a cell."""
    own = evidence.document.cell_at(evidence.span_of(statement).start)
    return own is None or own is cell or not binds_nothing(evidence.document.text[own.span.start : own.span.end])


def last_variable(evidence: Evidence, statements: Sequence[ast.stmt], module: str) -> ast.stmt | None:
    """Return the last of some statements of a module that sets a variable which a package reads only once."""
    starts = [write.start for write in evidence.facts.environment if is_read_once(write, module)]
    spans = ((statement, evidence.span_of(statement)) for statement in reversed(statements) if not isinstance(statement, _DEFINITIONS))
    return next((statement for statement, span in spans if any(span.start <= start < span.end for start in starts)), None)


def is_read_once(write: EnvironmentWrite, module: str) -> bool:
    """Return whether the program sets a variable for itself that a package reads only once."""
    return write.style in ("python", "magic") and write.name.startswith(tuple(platform_data("environment")["read_once"].get(module, ())))


@once
def has_forks(evidence: Evidence) -> bool:
    """Return whether a run may fork processes: CUDA works in none of them where it was asked for before."""
    called = evidence.calls_of_name.keys()
    names = {one.name for one in evidence.facts.imports if f"{one.name}.spawn" not in called} | called  # `spawn` starts Python anew
    said = platform_data("cuda")
    return not names.isdisjoint(said["forks"]) and any(True for word in said["forking"] for _ in (evidence.whole or evidence).naming(word))


def is_imported_after(write: EnvironmentWrite, place: int, evidence: Evidence) -> bool:
    """Return whether the file of a place is certainly imported once a variable is set, by the last import above the place."""
    start = evidence.document.part_at(place).span.start
    above = [index for index, one in enumerate(evidence.facts.imports) if start <= evidence.span_of(one.node).start < place]
    return bool(above) and 0 <= write.imports_before <= above[-1]
