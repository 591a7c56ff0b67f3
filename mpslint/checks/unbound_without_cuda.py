"""Names that only a branch for CUDA, or for other devices than MPS, gives a value, and that the program reads whichever branch it takes.

A check because it asks which branch would have given a name a value.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from typing import Any

from mpslint.checks._uses import FUNCTIONS
from mpslint.core.finding import Related
from mpslint.facts.facts import NameRead
from mpslint.program.any_round import SCOPES
from mpslint.program.functions import own_names
from mpslint.program.platform import load_platform
from mpslint.program.walk import at_once, bound_by
from mpslint.rule.judge import Match
from mpslint.settings.evidence import Evidence
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
        error = "UnboundLocalError" if _function_of(read, evidence) is not None else "NameError"
        devices = sorted(_devices_of(branch))
        condition = options["devices"].format(names=", ".join(devices)) if devices else options["cuda"]
        related = Related(evidence.span_of(branch.test), f"{read.node.id} is assigned only under this test")
        values = {"written": read.node.id, "error": error, "condition": condition}
        yield Match(evidence.span_of(read.node), values, related=(related,), context=read.context, node=read.node)


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
    scope = _function_of(read, evidence)
    if None in read.context.calls:
        return None
    bindings = [one for one in evidence.naming(read.node.id) if read.node.id in bound_by(one)]
    found: set[ast.If | None] = set()
    for one in bindings:
        if evidence.above(one, FUNCTIONS) is scope:
            above, branch = evidence.above(one, (ast.stmt,)), None
            while isinstance(above := evidence.above(above, (ast.stmt,)) if above is not None else None, ast.If):
                branch = above
            found.add(branch if above is scope else None)
    branch = found.pop() if len(found) == 1 else None
    return branch if branch is not None and branch.lineno < read.node.lineno and _devices_of(branch) else None


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
