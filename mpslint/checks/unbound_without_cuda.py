"""Names that only a branch for CUDA gives a value, and that the program reads whichever branch it takes."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterator, Mapping, Sequence, Set
from typing import Any

from mpslint.checks._bindings import at_once, bound
from mpslint.core.finding import Related
from mpslint.facts.facts import Choice
from mpslint.program.loops import SCOPES
from mpslint.program.platform import load_platform
from mpslint.program.walk import children, walk
from mpslint.rule.judge import Match
from mpslint.settings.evidence import Evidence

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
PERHAPS = (ast.IfExp, ast.BoolOp, *SCOPES)
"""What may leave the code in it out."""
UNFOLLOWED = frozenset({"exec", "eval", "globals", "locals", "vars", "get_ipython"})
"""Functions that may give any name a value."""


def find(evidence: Evidence, options: Mapping[str, Any]) -> Iterator[Match]:
    """Yield each such name where it is read first, after the branch."""
    questions = load_platform().cuda_questions
    reads = [one for one in evidence.facts.unbound if _is_certain(one.node, evidence)]
    decided = [one for one in evidence.facts.choices if isinstance(one.node, ast.If)] if reads else []
    asked = [one for one in decided if one.source in questions]
    scopes = {id(scope): scope for choice in asked if (scope := _scope_of(choice.node, evidence)) is not None}
    skipped = {key: _only_skipped(scope, asked, decided, evidence) for key, scope in scopes.items()}
    told: set[ast.If] = set()
    for read in reads if any(skipped.values()) else ():
        name, inside = read.node.id, _scope_of(read.node, evidence)
        scope = _binder(name, inside, evidence)
        branch = skipped.get(id(scope), {}).get(name)
        is_before = branch is not None and scope is inside and read.node.lineno <= (branch.end_lineno or read.node.lineno)
        if branch is None or branch in told or is_before or (scope is not inside and _is_set_from_outside(name, evidence)):
            continue
        told.add(branch)
        error = "UnboundLocalError" if isinstance(scope, FUNCTIONS) and scope is inside else "NameError"
        related = Related(evidence.span_of(branch.test), f"{name} is assigned only under this test")
        yield Match(
            evidence.span_of(read.node), {"written": name, "error": error}, related=(related,), context=read.context, node=read.node
        )


def _is_certain(node: ast.AST, evidence: Evidence) -> bool:
    """Return whether a name is read whenever its statement runs."""
    above = evidence.above(node, (*PERHAPS, ast.stmt))
    return not isinstance(above, PERHAPS) or _is_default(node, above)


def _is_default(node: ast.AST, function: ast.AST | None) -> bool:
    """Return whether a node is the default of an argument, which is evaluated where the function is defined."""
    return isinstance(function, FUNCTIONS) and node in (*function.args.defaults, *function.args.kw_defaults)


def _binder(name: str, scope: ast.AST | list[ast.stmt] | None, evidence: Evidence) -> ast.AST | list[ast.stmt] | None:
    """Return the scope that a name of a scope belongs to: its own, or that of a function around it, or of the module."""
    while isinstance(scope, FUNCTIONS):
        arguments = {one.arg for one in ast.walk(scope.args) if isinstance(one, ast.arg)}
        if name in arguments or any(name in bound(at_once(statement)) for statement in scope.body):
            break
        outer: ast.AST = scope
        while isinstance(above := evidence.above(outer, SCOPES), ast.ClassDef):
            outer = above  # methods don't see the names of their class
        scope = _scope_of(outer, evidence)
    return scope


def _is_set_from_outside(name: str, evidence: Evidence) -> bool:
    """Return whether the program gives a module such a name: `settings.device = "mps"`."""
    files = evidence.parsed.files or (evidence.parsed,)
    found = (node for parsed in files for statement in parsed.body for node in walk(statement))
    return any(isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store) and node.attr == name for node in found)


def _scope_of(node: ast.AST, evidence: Evidence) -> ast.AST | list[ast.stmt] | None:
    """Return the function that a node belongs to, or the statements of its module; None for a class and what isn't in the program."""
    around = evidence.above(node, SCOPES)
    around = evidence.above(around, SCOPES) if around is not None and _is_default(node, around) else around
    if around is not None:
        return around if isinstance(around, FUNCTIONS) else None
    top = node
    while (above := evidence.parents.get(top)) is not None:
        top = above
    bodies = [parsed.body for parsed in evidence.parsed.files or (evidence.parsed,)]
    return next((body for body in bodies if any(one is top for one in body)), None)


def _only_skipped(
    scope: ast.AST | list[ast.stmt], asked: Sequence[Choice], decided: Sequence[Choice], evidence: Evidence
) -> dict[str, ast.If]:
    """Return the names of a scope to which only branches that need CUDA give a value, each with the last `if` that does."""
    skipped = {id(_skipped_by(one)) for one in decided}
    statements = scope if isinstance(scope, list) else scope.body if isinstance(scope, FUNCTIONS) else []
    everything = [node for statement in statements for node in walk(statement)]
    if any(isinstance(node, ast.Name) and node.id in UNFOLLOWED for node in everything):
        return {}
    others = {name for node in everything if isinstance(node, (ast.Global, ast.Nonlocal)) for name in node.names} | set(dir(builtins))
    others |= {name for statement in statements for name in bound(_taken(statement, skipped))}
    if isinstance(scope, FUNCTIONS):
        others |= {one.arg for one in ast.walk(scope.args) if isinstance(one, ast.arg)}
    if "*" in others:
        return {}
    found: dict[str, ast.If] = {}
    for choice in asked:
        if isinstance(choice.node, ast.If) and _scope_of(choice.node, evidence) is scope:
            names = {name for statement in _skipped_by(choice) for name in bound(at_once(statement))}
            found |= dict.fromkeys(names - others, choice.node)
    return found


def _skipped_by(choice: Choice) -> list[ast.stmt]:
    """Return the branch that a Mac doesn't take."""
    return (choice.node.orelse if choice.answer else choice.node.body) if isinstance(choice.node, ast.If) else []


def _taken(statement: ast.stmt, skipped: Set[int]) -> Iterator[ast.AST]:
    """Yield the nodes of a statement that run with it, without the branches that are skipped."""
    waiting: list[ast.AST] = [statement]
    while waiting:
        node = waiting.pop()
        yield node
        if isinstance(node, ast.If):
            waiting.append(node.test)
            for branch in (node.body, node.orelse):
                waiting += branch if id(branch) not in skipped else []
        elif not isinstance(node, SCOPES):
            waiting += children(node)
