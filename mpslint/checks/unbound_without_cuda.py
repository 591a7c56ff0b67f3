"""Names and attributes that only a branch for CUDA, or for other devices than MPS, gives a value, and that are read in any case.

A check because it asks which branch would have given a name a value.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from typing import Any

from mpslint.checks._uses import FUNCTIONS
from mpslint.core.finding import Related
from mpslint.facts.facts import NameRead
from mpslint.facts.values import Context
from mpslint.program.any_round import SCOPES
from mpslint.program.functions import own_names
from mpslint.program.platform import load_platform
from mpslint.program.walk import at_once, bound_by
from mpslint.rule.judge import Match
from mpslint.settings.evidence import Evidence, once
from mpslint.tensors.kinds import load_kinds

PERHAPS = (ast.IfExp, ast.BoolOp, *SCOPES)
"""What may leave the code in it out."""


def find(evidence: Evidence, options: Mapping[str, Any]) -> Iterator[Match]:
    """Yield each such name where it is read first, after the branch."""
    told: set[ast.AST] = set()
    for read in () if evidence.facts.uses.is_vague else evidence.facts.unbound:
        branch = _branch_that_binds(read, evidence) or _branch_for_devices(read, evidence)
        if branch is None or branch in told or not _is_certain(read.node, evidence):
            continue
        if any(_is_changed_by(one, read.node.id) for one in evidence.naming(read.node.id)):
            continue
        told.add(branch)
        in_class = isinstance(evidence.above(read.node, (*FUNCTIONS, ast.ClassDef)), ast.ClassDef)  # which reads names otherwise
        is_local = _function_of(read, evidence) is not None and not in_class
        yield _match(read.node, read.context, branch, "UnboundLocalError" if is_local else "NameError", evidence, options)
    for node, context in evidence.facts.lacking:
        branch = _branch_of_attribute(node, context, evidence)
        if branch is not None and branch not in told and _is_certain(node, evidence):
            told.add(branch)
            yield _match(node, context, branch, "AttributeError", evidence, options)


def _match(node: ast.expr, context: Context, branch: ast.If, error: str, evidence: Evidence, options: Mapping[str, Any]) -> Match:
    """Return what is said of a name or an attribute, and of the branch that alone gives it a value."""
    written, devices = ast.unparse(node), sorted(_devices_of(branch))
    condition = options["devices"].format(names=", ".join(devices)) if devices else options["cuda"]
    related = Related(evidence.span_of(branch.test), f"{written} is assigned only under this test")
    values = {"written": written, "error": error, "condition": condition}
    return Match(evidence.span_of(node), values, related=(related,), context=context, node=node)


def _branch_of_attribute(read: ast.Attribute, context: Context, evidence: Evidence) -> ast.If | None:
    """Return the outermost `if` in which alone an attribute is given a value: one for devices that it names, or for CUDA.

    None where a text names it (`hasattr`, `setattr`), where the error may be caught, or where nothing calls the function.
    """
    return None if None in context.calls or context.handlers else _branch_around_writes(evidence, read.attr)


@once
def _branch_around_writes(evidence: Evidence, name: str) -> ast.If | None:
    """Return that `if` for the attributes of a name, however they are read."""
    branches: set[ast.If | None] = set()
    for node in evidence.naming(name):
        if not isinstance(node, ast.Attribute) or isinstance(node.ctx, ast.Del):
            return None
        if isinstance(node.ctx, ast.Store):
            branches.add(_outermost_if(node, evidence))
    branch = branches.pop() if len(branches) == 1 else None
    asks_for_cuda = any(one.node is branch and one.source in load_platform().cuda_questions for one in evidence.facts.choices)
    return branch if branch is not None and (asks_for_cuda or _devices_of(branch)) else None


def _outermost_if(node: ast.AST, evidence: Evidence) -> ast.If | None:
    """Return the `if` around all others that a statement is in, where nothing else of its function is around it."""
    above, branch = evidence.above(node, (ast.stmt,)), None
    while isinstance(above := evidence.above(above, (ast.stmt,)) if above is not None else None, ast.If):
        branch = above
    return branch if above is None or isinstance(above, FUNCTIONS) else None


def _branch_that_binds(read: NameRead, evidence: Evidence) -> ast.If | None:
    """Return the last `if` for CUDA that would have given a name a value before it was read; None where none would."""
    questions = load_platform().cuda_questions
    for choice in reversed(evidence.facts.choices[: read.choices]):
        if isinstance(choice.node, ast.If) and choice.frame is read.home and choice.source in questions:
            skipped = choice.node.orelse if choice.answer else choice.node.body
            if any(name == read.node.id for statement in skipped for node in at_once(statement) for name in bound_by(node)):
                return choice.node
    return None


def _function_of(read: NameRead, evidence: Evidence) -> ast.AST | None:
    """Return the function that a name is local to; None for one of the module."""
    function = evidence.above(read.node, FUNCTIONS)
    return function if isinstance(function, FUNCTIONS) and own_names(function) is read.home.own_names else None


def _branch_for_devices(read: NameRead, evidence: Evidence) -> ast.If | None:
    """Return the `if` that alone gives a name a value, for devices that it names; None where another statement does, or in a loop.

    A function that nothing calls isn't known to get MPS.
    """
    if None in read.context.calls:
        return None
    branch = _branch_around_bindings(evidence, read.node.id, _function_of(read, evidence))
    return branch if branch is not None and branch.lineno < read.node.lineno and _devices_of(branch) else None


@once
def _branch_around_bindings(evidence: Evidence, name: str, scope: ast.AST | None) -> ast.If | None:
    """Return the outermost `if` in which alone a name of a function, or of the module, is given a value; None where there is none."""
    bindings = (one for one in evidence.naming(name) if name in bound_by(one) and evidence.above(one, FUNCTIONS) is scope)
    found = {_outermost_if(one, evidence) for one in bindings}
    return found.pop() if len(found) == 1 else None


def _devices_of(branch: ast.If) -> set[str]:
    """Return the devices for which the tests of an `if` and of each `elif` ask; nothing where one asks for MPS, or for something else."""
    kinds, devices, one = load_kinds(), set[str](), branch
    while True:
        is_asked = isinstance(one.test, ast.Compare) and isinstance(one.test.ops[0], (ast.Eq, ast.In))
        sides = [one.test.left, *one.test.comparators] if is_asked and isinstance(one.test, ast.Compare) else []
        named = {side.value for side in sides if isinstance(side, ast.Constant) and isinstance(side.value, str)}
        if not named or any(kinds.is_no_device(name) or name.startswith(kinds.gpu) for name in named):
            return set()
        devices |= named
        if len(one.orelse) != 1 or not isinstance(one.orelse[0], ast.If):
            return devices
        one = one.orelse[0]


def _is_changed_by(node: ast.AST, name: str) -> bool:
    """Return whether a name loses its value, or may be given one by a function that nothing here calls."""
    is_deleted = isinstance(node, ast.Name) and isinstance(node.ctx, ast.Del) and node.id == name
    return is_deleted or (isinstance(node, (ast.Global, ast.Nonlocal)) and name in node.names)


def _is_certain(node: ast.AST, evidence: Evidence) -> bool:
    """Return whether a name is read whenever its statement runs; a default is, where its function is defined."""
    above = evidence.above(node, (*PERHAPS, ast.stmt))
    is_default = isinstance(above, FUNCTIONS) and node in (*above.args.defaults, *above.args.kw_defaults)
    return not isinstance(above, PERHAPS) or is_default
