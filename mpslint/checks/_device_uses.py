"""What a program does with the device that it selects: whether it puts anything there, or only shows its name."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from pathlib import PurePath
from typing import TypeGuard

from mpslint.checks._written import plain_text
from mpslint.core.knowledge import platform_data
from mpslint.program.walk import walk
from mpslint.settings.evidence import Evidence

SHOWS = frozenset({"print", "pprint", "display", "write", "debug", "info", "warning", "log"})
"""Functions, and methods of a logger, that only show what they get."""
REPORTS = re.compile(r"(?:^|\.)(?:cuda|cudnn|backends)(?:\.|$)")
"""What concerns CUDA alone, so that a Mac's device decides nothing there: `torch.cuda.empty_cache()`, `cudnn.benchmark = True`."""
WORKS = (ast.For, ast.AsyncFor, ast.While, ast.With, ast.AsyncWith)
"""Statements of a module that a file for others to import doesn't have."""


def is_used(node: ast.AST, evidence: Evidence) -> bool:
    """Return whether a program does more with the name of a device than to show it; of a module to import that is not known.

    The node is a device, or the statement that gives it a name.
    """
    uses = uses_of(node, evidence)
    return uses is None or bool(uses)


def uses_of(node: ast.AST, evidence: Evidence, are_all: bool = True) -> Sequence[ast.AST] | None:
    """Return the expressions by which a program uses a device, without those that only show it: the device itself, or its name where it
    has one. None where others may read it, unless those that are seen are enough (not `are_all`)."""
    if _is_shown(node, evidence):
        return ()
    whole = evidence.whole or evidence
    made, parent = device_made(node, whole)
    if isinstance(parent, (ast.Call, ast.keyword)):
        return (made,)
    target = parent.targets[0] if isinstance(parent, ast.Assign) else parent.target if isinstance(parent, ast.AnnAssign) else None
    if not isinstance(target, ast.Name):
        return None
    body = _body_around(target, whole)
    if body is None and are_all and not (whole.is_program or any(isinstance(one, WORKS) for one in evidence.parsed.body)):
        return None
    return [load for load in _loads(target, body, whole) if not _is_shown(load, whole)]


def device_made(node: ast.AST, evidence: Evidence) -> tuple[ast.AST, ast.AST | None]:
    """Return the device that is made of a name (`torch.device(name)`), else the name itself, and what that is part of."""
    made, parent = node, node if isinstance(node, ast.stmt) else evidence.parents.get(node)
    while isinstance(parent, ast.Call) and ast.unparse(parent.func) in platform_data("cuda")["devices"]["classes"]:
        made, parent = parent, evidence.parents.get(parent)
    return made, parent


def _loads(target: ast.Name, body: Sequence[ast.stmt] | None, evidence: Evidence) -> Iterator[ast.AST]:
    """Yield where a name is read: as a name, and, where others can read it, as an attribute of its class or module."""
    is_of_class = evidence.above(target, (ast.ClassDef,)) is not None
    modules = _own_modules(evidence) if body is None else frozenset()
    files = _files_that_read(target, evidence) if body is None else None
    for node in evidence.nodes_beside(target.id, body):
        if isinstance(node, ast.Name) and node.id == target.id and isinstance(node.ctx, ast.Load):
            if files is None or evidence.document.part_at(evidence.span_of(node).start).document.path in files:
                yield node
            continue
        if body is not None or not isinstance(node, ast.Attribute) or node.attr != target.id or not isinstance(node.ctx, ast.Load):
            continue
        if is_of_class or plain_text(node.value) in modules:
            yield node


def _files_that_read(target: ast.Name, evidence: Evidence) -> frozenset[str]:
    """Return the files of a run in which a name of a module is that name: its own, and those that import it from there."""
    own = evidence.document.part_at(evidence.span_of(target).start).document.path
    imports = (node for node in evidence.nodes_beside("import") if isinstance(node, ast.ImportFrom))
    taken = (
        node
        for node in imports
        if (node.module or "").rpartition(".")[2] == PurePath(own).stem and any(one.name in (target.id, "*") for one in node.names)
    )
    return frozenset({own, *(evidence.document.part_at(evidence.span_of(node).start).document.path for node in taken)})


def _own_modules(evidence: Evidence) -> frozenset[str]:
    """Return the names by which the files of a run import one another."""
    stems = {PurePath(part.document.path).stem for part in evidence.document.parts}
    imports = (node for node in evidence.nodes_beside("import") if isinstance(node, (ast.Import, ast.ImportFrom))) if stems else ()
    aliases = (alias for node in imports for alias in node.names)
    return frozenset(alias.asname or alias.name for alias in aliases if alias.name.rpartition(".")[2] in stems)


def _body_around(target: ast.Name, evidence: Evidence) -> Sequence[ast.stmt] | None:
    """Return the body of the function whose own a name is; None for a name that others may read: of the module, or of a class."""
    above = evidence.above(target, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef))
    if not isinstance(above, (ast.FunctionDef, ast.AsyncFunctionDef)):
        return None
    shared = (node for statement in above.body for node in walk(statement) if isinstance(node, (ast.Global, ast.Nonlocal)))
    return None if any(target.id in node.names for node in shared) else above.body


def _is_shown(node: ast.AST, evidence: Evidence) -> bool:
    """Return whether an expression is only printed or logged, stands at the end of a cell, or is asked for before CUDA is described."""
    below, above = node, evidence.parents.get(node)
    while isinstance(above, (ast.FormattedValue, ast.JoinedStr, ast.BoolOp, ast.BinOp, ast.Compare)) or _makes_text(above):
        below, above = above, evidence.parents.get(above)
    if isinstance(above, ast.If) and below is above.test:
        return all(_is_report(statement) for statement in (*above.body, *above.orelse))
    if isinstance(node, ast.stmt):
        return False
    return isinstance(above, ast.Expr) or (isinstance(above, ast.Call) and ast.unparse(above.func).rpartition(".")[2] in SHOWS)


def _is_report(node: ast.stmt) -> bool:
    """Return whether a statement shows something, or changes nothing but CUDA's own state."""
    if isinstance(node, ast.Assign):
        return all(REPORTS.search(ast.unparse(target)) for target in node.targets)
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        name = ast.unparse(node.value.func)
        return name.rpartition(".")[2] in SHOWS or name.startswith("torch.cuda.")
    return isinstance(node, ast.Pass)


def _makes_text(node: ast.AST | None) -> TypeGuard[ast.AST]:
    """Return whether an expression makes a text of what it gets: `str(device)`, `"on {}".format(device)`, `device.type`."""
    if isinstance(node, ast.Attribute):
        return node.attr in ("type", "upper", "lower", "format")
    return isinstance(node, ast.Call) and ast.unparse(node.func).rpartition(".")[2] in ("str", "format", "upper", "lower")
