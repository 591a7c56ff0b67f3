"""Names that only the main block of a script gives a value, and functions that read one: the workers of a loader don't run that block."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator

from mpslint.facts.values import Frame, Function
from mpslint.program.any_round import SCOPES
from mpslint.program.flow import asks_for_main
from mpslint.program.walk import at_once, bound_by, children, walk
from mpslint.settings.evidence import Evidence, once

PERHAPS = (ast.If, ast.IfExp, ast.Try, ast.BoolOp, *SCOPES)
"""What may leave the code in it out."""


def read_of(function: Function, names: Collection[str]) -> ast.Name | None:
    """Return where a function of the file that is started, which workers read anew under another name, reads one of some names."""
    is_in_script = function.frame.outermost.home is None
    return next((node for node in _read_in(function) if node.id in names), None) if is_in_script else None


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


@once
def only_in_main(evidence: Evidence) -> set[str]:
    """Return the names of a module to which only its main block, or a function by `global`, gives a value; none where that is not known."""
    statements = evidence.facts.body
    if not any(asks_for_main(statement) for statement in statements):
        return set()
    inside = {name for statement in statements if asks_for_main(statement) for node in at_once(statement) for name in bound_by(node)}
    others = [statement for statement in statements if not asks_for_main(statement)]
    outside = {name for statement in others for node in at_once(statement) for name in bound_by(node)}
    is_calling = any(isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call) for statement in others)
    declared = {name for statement in others for node in walk(statement) if isinstance(node, ast.Global) for name in node.names}
    return (inside - outside - declared) | (set() if is_calling else declared - outside) - {"*"} if "*" not in outside else set()
