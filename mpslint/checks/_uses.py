"""What a program does with the device that it selects: whether it comes to the choice at all, puts anything there, or only shows its name.

Every answer is of what the walk noted (`facts/uses.py`). Only what shows a device, and what may be called unseen, is read from the text.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import TypeGuard

from mpslint.core.knowledge import platform_data
from mpslint.facts.values import alternatives_of, origin_of
from mpslint.program.flow import asks_for_main
from mpslint.program.functions import own_names
from mpslint.program.platform import load_platform
from mpslint.program.reach import text_of
from mpslint.program.walk import called_name, walk
from mpslint.rule.guards import is_off
from mpslint.settings.evidence import Evidence, once

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
LOOKS_UP = ("get", "pop", "setdefault", "getattr")
"""What takes a default: `config.get("device", default)`."""
WORKS = (ast.For, ast.AsyncFor, ast.While, ast.With, ast.AsyncWith)
"""Statements of a module that a file for others to import doesn't have."""


def is_never_taken(node: ast.AST, evidence: Evidence) -> bool:
    """Return whether a run never comes to a choice, or takes something else in its place wherever it could be used: it is a default in
    whose stead every call gives a device, or it is in a function, or given to a variable, of another file of which the run makes nothing.

    A file by itself is judged without this: others may call its functions in other ways.
    """
    whole = evidence.whole or evidence
    if not whole.document.parts:
        return False
    function = whole.above(node, FUNCTIONS)
    made, parent = device_made(node, whole)
    if isinstance(parent, ast.arguments):
        function = whole.parents.get(parent)
    elif node in whole.facts.uses.reached:
        is_of_variable = _may_be_unused(node, whole) and isinstance(node, ast.IfExp)
        return _is_looked_up_in_vain(made, parent, whole) or (is_of_variable and not is_used(node, evidence))
    if not isinstance(function, FUNCTIONS) or function.decorator_list or not _is_known(function, whole):
        return False
    is_called = function.body[0] in whole.facts.uses.reached
    if not isinstance(parent, ast.arguments):
        return is_called or _may_be_unused(node, whole)  # of the started file, a function that it never calls is for others
    return is_called and not _reads_of(made, whole) and not _is_lost(_parameter(parent, made), function, whole)


def uses_of(node: ast.AST, evidence: Evidence, are_all: bool = True) -> Sequence[ast.AST] | None:
    """Return the expressions by which a program uses a device, without those that only show it: the device itself, or its name where it
    has one. None where others may read it, unless those that are seen are enough (not `are_all`)."""
    if _is_shown(node, evidence):
        return ()
    whole = evidence.whole or evidence
    made, parent = device_made(node, whole)
    if isinstance(parent, (ast.Call, ast.keyword)):
        return [] if _is_looked_up_in_vain(made, parent, whole) else [made]
    target = parent.targets[0] if isinstance(parent, ast.Assign) else parent.target if isinstance(parent, ast.AnnAssign) else None
    if not isinstance(target, ast.Name):
        return None
    function = whole.above(target, (*FUNCTIONS, ast.ClassDef))
    is_own = isinstance(function, FUNCTIONS) and target.id in own_names(function)
    is_script = whole.is_program or any(isinstance(one, WORKS) for one in evidence.parsed.body)
    if not is_own and are_all and not is_script and _may_end_as(target.id, made, whole):
        return None
    if _is_lost(target.id, function if is_own else None, whole) or (not is_own and target.id in _read_unseen(whole)):
        return None
    found = [one for one in _reads_of(made, whole) if not _is_shown(one, whole)]
    is_cut = whole.facts.is_exhausted or _is_for_other_options(node, whole)
    return None if is_cut and not found else found


def _may_end_as(name: str, made: ast.AST, evidence: Evidence) -> bool:
    """Return whether a name of a module, which others may import, may be a device when the module has run."""
    values = [one.slots[name] for one in evidence.facts.frames if one.parent is None and name in one.slots]
    ends = [origin_of(one) for value in values for one in alternatives_of(value)]
    parts = set(walk(made))
    given = {origin_of(value) for one in evidence.facts.choices if one.node in parts for value in one.given.values()}
    return not ends or any(one is None or one in parts or one in given for one in ends)


def _is_for_other_options(node: ast.AST, evidence: Evidence) -> bool:
    """Return whether the defaults of the options lead past a choice: what it gives is read by nothing that the walk keeps."""
    own = (node, evidence.parents.get(node))
    return any(one.node in own and any(map(is_off, one.context.guards)) for one in evidence.facts.choices)


def _reads_of(made: ast.AST, evidence: Evidence) -> list[ast.expr]:
    """Return the expressions, beside its own, by which a device is read."""
    own = list(walk(made))
    return [one for one in evidence.facts.uses.of(*own) if one not in own]


def is_used(node: ast.AST, evidence: Evidence) -> bool:
    """Return whether a program does more with a device than to show it; of a module to import that is not known."""
    uses = uses_of(node, evidence)
    return uses is None or bool(uses)


def device_made(node: ast.AST, evidence: Evidence) -> tuple[ast.AST, ast.AST | None]:
    """Return the device that is made of a name (`torch.device(name)`), else the name itself, and what that is part of."""
    made, parent = node, node if isinstance(node, ast.stmt) else evidence.parents.get(node)
    while isinstance(parent, ast.Call) and ast.unparse(parent.func) in platform_data("cuda")["devices"]["classes"]:
        made, parent = parent, evidence.parents.get(parent)
    return made, parent


def call_given(use: ast.AST, evidence: Evidence) -> ast.Call | None:
    """Return the call that an expression is an argument of; None for another expression."""
    above = evidence.parents.get(use)
    above = evidence.parents.get(above) if isinstance(above, ast.keyword) else above
    return above if isinstance(above, ast.Call) and above.func is not use else None


def _is_looked_up_in_vain(made: ast.AST, call: ast.AST | None, evidence: Evidence) -> bool:
    """Return whether a device is the default of a lookup that gives something else: a file says `device: cpu`."""
    if not isinstance(call, ast.Call) or called_name(call) not in LOOKS_UP or made not in call.args[1:]:
        return False
    uses = evidence.facts.uses
    is_followed = evidence.above(call, (ast.stmt,)) in uses.reached and call not in evidence.calls_at
    return is_followed and call not in uses.unknown and not _reads_of(made, evidence)


def _is_lost(name: str, function: ast.AST | None, evidence: Evidence) -> bool:
    """Return whether a name of a function, or of a module or class, was read somewhere without being known."""
    uses = evidence.facts.uses
    if not isinstance(function, FUNCTIONS):
        return name in uses.unknown or any(one.parent is None and (id(one.slots), name) in uses.unknown for one in evidence.facts.frames)
    own = own_names(function)
    return any(one.own_names is own and (id(one.slots), name) in uses.unknown for one in evidence.facts.frames)


def _parameter(arguments: ast.arguments, default: ast.AST) -> str:
    """Return the name of the parameter that has a default."""
    places = [*arguments.posonlyargs, *arguments.args]
    pairs = [*zip(places[::-1], arguments.defaults[::-1], strict=False), *zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)]
    return next(one.arg for one, value in pairs if value is default)


def _may_be_unused(node: ast.AST, evidence: Evidence) -> bool:
    """Return whether a place is in another file than the one that is started: what nothing reads there is no use of the run's."""
    started = evidence.document.started
    return started is not None and evidence.document.part_at(evidence.span_of(node).start) is not started


def _is_known(function: ast.FunctionDef | ast.AsyncFunctionDef, evidence: Evidence) -> bool:
    """Return whether the walk saw all calls of a function: it is read only to be called, by what the walk came to."""
    owner = evidence.parents.get(function)
    is_maker = isinstance(owner, ast.ClassDef) and function.name == "__init__"
    called = owner if is_maker and isinstance(owner, ast.ClassDef) else function
    uses = evidence.facts.uses
    unseen = _read_unseen(evidence)
    if evidence.facts.is_exhausted or uses.is_vague or called.name in unseen or called.name in uses.unknown:
        return False
    if isinstance(owner, ast.ClassDef) and function.body[0] not in uses.reached:
        return False  # something outside may call any method
    calls = (evidence.parents.get(read) for read in uses.of(called))
    return all(isinstance(call, ast.Call) and call.func is read for call, read in zip(calls, uses.of(called), strict=True))


@once
def _read_unseen(evidence: Evidence) -> frozenset[str]:
    """Return the names and attributes read by what the walk didn't follow though something may run it: functions, and the main block of a
    file that is also started by itself."""
    uses = evidence.facts.uses
    statements = [statement for parsed in evidence.parsed.files or (evidence.parsed,) for statement in parsed.body]
    waiting = [one for one in walk(*statements) if isinstance(one, FUNCTIONS) and one.body[0] not in uses.reached]
    started = [one for one in statements if isinstance(one, ast.If) and asks_for_main(one) and one.body[0] not in uses.reached]
    unseen = [*walk(*started), *walk(*uses.not_followed)]
    found = {one.id if isinstance(one, ast.Name) else one.attr for one in unseen if isinstance(one, (ast.Name, ast.Attribute))}
    while called := [one for one in waiting if one.name in found or _may_be_called(one, evidence)]:
        waiting = [one for one in waiting if one not in called]
        found |= {name for one in called for name in (*text_of(one).names, *text_of(one).read)}
    return frozenset(found)


def _may_be_called(function: ast.FunctionDef | ast.AsyncFunctionDef, evidence: Evidence) -> bool:
    """Return whether something that the walk doesn't see may call a function: a method, one that a decorator got, one that was read."""
    is_plain = evidence.parents.get(function) is None and not function.decorator_list
    return not is_plain or bool(evidence.facts.uses.of(function))


def _is_shown(node: ast.AST, evidence: Evidence) -> bool:
    """Return whether an expression is only printed or logged, stands at the end of a cell, or is compared with a device that no Mac has."""
    above = evidence.parents.get(node)
    while isinstance(above, (ast.FormattedValue, ast.JoinedStr, ast.BoolOp, ast.BinOp)) or _makes_text(above):
        above = evidence.parents.get(above)
    if isinstance(above, ast.Compare):
        return any(
            isinstance(one, ast.Constant) and load_platform().is_absent_device(one.value) for one in (above.left, *above.comparators)
        )
    if isinstance(node, ast.stmt):
        return False
    shows = platform_data("cuda")["devices"]["shows"]
    return isinstance(above, ast.Expr) or (isinstance(above, ast.Call) and ast.unparse(above.func).rpartition(".")[2] in shows)


def _makes_text(node: ast.AST | None) -> TypeGuard[ast.AST]:
    """Return whether an expression makes a text of what it gets: `str(device)`, `"on {}".format(device)`, `device.type`."""
    if isinstance(node, ast.Attribute):
        return node.attr in ("type", "upper", "lower", "format")
    return isinstance(node, ast.Call) and ast.unparse(node.func).rpartition(".")[2] in ("str", "format", "upper", "lower")
