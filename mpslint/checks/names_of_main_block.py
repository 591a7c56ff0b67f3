"""Loaders of a script whose workers would run code that needs a name which only the script's main block gives a value."""

from __future__ import annotations

import ast
import dataclasses
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from mpslint.checks._loaders import TAKEN, run_in_workers, with_workers
from mpslint.core.finding import Related
from mpslint.facts.values import Bound, Frame, Function, Instance, Value, alternatives_of
from mpslint.program.flow import asks_for_main
from mpslint.program.loops import SCOPES
from mpslint.program.walk import at_once, bound_by, children, walk
from mpslint.rule.judge import Match
from mpslint.settings.evidence import Evidence
from mpslint.source.document import Kind

PERHAPS = (ast.If, ast.IfExp, ast.Try, ast.BoolOp, *SCOPES)
"""What may leave the code in it out."""


def find(evidence: Evidence, options: Mapping[str, Any]) -> Iterator[Match]:
    """Yield the workers of loaders that run a function in which such a name is read."""
    if evidence.document.kind is not Kind.PYTHON:
        return
    names: set[str] | None = None
    for _, match, arguments in with_workers(evidence):
        run = [one for name in TAKEN if name in arguments for one in _run_by(arguments[name].value) if _is_in_script(one.frame)]
        if run and names is None:
            names = _only_in_main(evidence.facts.body)
        if not (run and names):
            continue
        read = next(((one, node) for one in run for node in _read_in(one) if node.id in names), None)
        if read is not None:
            function, node = read
            related = (*match.related, Related(evidence.span_of(node), f"{function.name}() reads it here"))
            yield dataclasses.replace(match, values={**match.values, "name": node.id, "function": function.name}, related=related)


def _run_by(value: Value) -> Iterator[Function]:
    """Yield the functions of the program that workers call for an argument of a loader."""
    alternatives = alternatives_of(value)
    if len(alternatives) > 1:
        return
    for one in alternatives:
        if isinstance(one, Bound) and one.function is not None:
            yield one.function
        elif isinstance(one, Function):
            yield one
        elif isinstance(one, Instance) and one.cls is not None:
            yield from run_in_workers(one.cls)


def _is_in_script(frame: Frame) -> bool:
    """Return whether a frame lies in the file that is started, which workers read anew under another name."""
    while frame.parent is not None:
        frame = frame.parent
    return frame.home is None


def _read_in(function: Function) -> Iterator[ast.Name]:
    """Yield the names of others that a function reads whenever it runs."""
    node = function.node
    body = node.body if isinstance(node.body, list) else [node.body]
    own = {name for one in (node.args, *body) for inner in walk(one) for name in bound_by(inner)}
    outer = {name for frame in _above(function.frame) for name in frame.slots}
    waiting: list[ast.AST] = [one for one in reversed(body) if not isinstance(one, PERHAPS)]
    while waiting:
        one = waiting.pop()
        if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Load) and one.id not in own | outer:
            yield one
        if isinstance(one, ast.Return) and one.value is None:
            return
        waiting += reversed([inner for inner in children(one) if not isinstance(inner, PERHAPS)])


def _above(frame: Frame) -> Iterator[Frame]:
    """Yield the frames of functions around one, without the module's."""
    while frame.parent is not None:
        yield frame
        frame = frame.parent


def _only_in_main(body: Iterable[ast.stmt]) -> set[str]:
    """Return the names of a module to which only its main block, or a function by `global`, gives a value; none where that is not known."""
    statements = list(body)
    if not any(asks_for_main(statement) for statement in statements):
        return set()
    inside = {name for statement in statements if asks_for_main(statement) for node in at_once(statement) for name in bound_by(node)}
    others = [statement for statement in statements if not asks_for_main(statement)]
    outside = {name for statement in others for node in at_once(statement) for name in bound_by(node)}
    is_calling = any(isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call) for statement in others)
    declared = {name for statement in others for node in walk(statement) if isinstance(node, ast.Global) for name in node.names}
    return (inside - outside - declared) | (set() if is_calling else declared - outside) - {"*"} if "*" not in outside else set()
