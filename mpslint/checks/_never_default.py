"""Choices of a device to which no call of a run comes.

They are the default of a parameter, in whose place every call gives something else, or in a function that nothing calls.
"""

from __future__ import annotations

import ast
import re

from mpslint.checks._device_uses import device_made, is_used
from mpslint.checks._written import plain_text
from mpslint.core.knowledge import platform_data
from mpslint.core.record import record
from mpslint.settings.evidence import Evidence

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
OPTIONS = re.compile(r"(^|\.)(args|opts?|options|cfg|config|conf|hparams|params|flags)$", re.IGNORECASE)
"""What holds options, whose device may be None."""

BY_NAME = re.compile(r"\bglobals\(\)|\bsys\.modules\b|\bimport_module\(|\b__import__\(")
"""What a program says that takes functions by names which are put together."""


@record(frozen=True)
class _Default:
    """The parameter of a function that a choice is the default of."""

    function: ast.FunctionDef | ast.AsyncFunctionDef
    name: str
    instead_of_none: bool
    """The function asks for None (`if device is None: device = choice`), so a call that gives None takes the default, too."""


def is_never_default(node: ast.AST, evidence: Evidence) -> bool:
    """Return whether a choice is a parameter's default in whose place every call of a run gives something else.

    The node is the choice, or the statement that makes it. A file by itself is judged without this: others may call its functions in
    other ways.
    """
    whole = evidence.whole or evidence
    default = (_in_signature(node, whole) or _in_place_of_none(node, whole)) if whole.document.parts else None
    if default is None or default.function.decorator_list:
        return False
    arguments, owner = default.function.args, whole.parents.get(default.function)
    called = owner.name if isinstance(owner, ast.ClassDef) and default.function.name == "__init__" else default.function.name
    if any(isinstance(one, ast.alias) and one.name == called and one.asname for one in whole.nodes_beside(called, with_main=True)):
        return False  # called by another name
    number = [one.arg for one in _parameters(arguments)].index(default.name) - isinstance(owner, ast.ClassDef)
    for read in whole.nodes_beside(called, with_main=True):
        if isinstance(read, (ast.Name, ast.Attribute)) and plain_text(read).rpartition(".")[2] == called:
            call = whole.parents.get(read)
            if not isinstance(call, ast.Call) or call.func is not read or not _gives(call, default, number, whole):
                return False
    return True


def is_unused(node: ast.AST, evidence: Evidence) -> bool:
    """Return whether a choice in a file that a run imports has no use: no file of the run names its function, or reads its variable."""
    started, part = evidence.document.started, evidence.document.part_at(evidence.span_of(node).start)
    if started is None or part is started:
        return False
    return _is_in_unused_function(node, evidence) or (isinstance(node, ast.IfExp) and not is_used(node, evidence))


def _is_in_unused_function(node: ast.AST, evidence: Evidence) -> bool:
    function = evidence.above(node, FUNCTIONS)
    is_of_module = isinstance(function, FUNCTIONS) and evidence.parents.get(function) is None and not function.decorator_list
    if not isinstance(function, FUNCTIONS) or not is_of_module or BY_NAME.search(evidence.text):
        return False
    reads = (
        one
        for one in evidence.nodes_beside(function.name, with_main=True)
        if isinstance(one, (ast.Name, ast.Attribute, ast.alias, ast.Constant))
    )
    return not any(_names(one, function.name) for one in reads)


def _names(node: ast.AST, name: str) -> bool:
    if isinstance(node, ast.alias):
        return name in (node.name, node.asname)
    if isinstance(node, ast.Constant):
        return isinstance(node.value, str) and name in node.value
    return plain_text(node).rpartition(".")[2] == name


def _parameters(arguments: ast.arguments) -> list[ast.arg]:
    return [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]


def _in_signature(node: ast.AST, evidence: Evidence) -> _Default | None:
    """Return the parameter whose default in the signature a choice is: `def load(device=choice)`."""
    default, arguments = device_made(node, evidence)
    function = evidence.parents.get(arguments) if isinstance(arguments, ast.arguments) else None
    if not isinstance(arguments, ast.arguments) or not isinstance(function, FUNCTIONS):
        return None
    places = [*arguments.posonlyargs, *arguments.args]
    pairs = [*zip(places[::-1], arguments.defaults[::-1], strict=False), *zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)]
    return _Default(function, next(one.arg for one, value in pairs if value is default), instead_of_none=False)


def _in_place_of_none(node: ast.AST, evidence: Evidence) -> _Default | None:
    """Return the parameter that takes a choice where a call gives none: `if device is None: device = choice`, `device or choice`."""
    statement = node if isinstance(node, ast.stmt) else evidence.above(node, (ast.stmt,))
    function = evidence.above(node, FUNCTIONS)
    if statement is None or not isinstance(function, FUNCTIONS):
        return None
    names = {one.arg for one in _parameters(function.args)}
    made, above = device_made(node, evidence)
    while isinstance(above, (ast.BoolOp, ast.IfExp)):
        part = above.values[0] if isinstance(above, ast.BoolOp) and isinstance(above.op, ast.Or) else None
        asked = _asked_for_none(part if part is not None else above.test if isinstance(above, ast.IfExp) else made)
        if asked in names and made is not part:
            return _Default(function, asked, instead_of_none=True)
        made, above = above, evidence.parents.get(above)
    outer = evidence.parents.get(statement)
    while isinstance(outer, ast.If) and statement in outer.body:
        asked = _asked_for_none(outer.test)
        if asked in names:
            return _Default(function, asked, instead_of_none=True)
        statement, outer = outer, evidence.parents.get(outer)
    return None


def _asked_for_none(test: ast.expr | ast.AST) -> str:
    """Return the name of which a test asks whether it is None, or false; '' for any other test."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        test = test.operand
    if isinstance(test, ast.Compare) and len(test.ops) == 1 and isinstance(test.ops[0], (ast.Is, ast.IsNot, ast.Eq, ast.NotEq)):
        is_none = isinstance(test.comparators[0], ast.Constant) and test.comparators[0].value is None
        test = test.left if is_none else test
    return test.id if isinstance(test, ast.Name) else ""


def _gives(call: ast.Call, default: _Default, number: int, evidence: Evidence) -> bool:
    """Return whether a call gives a parameter a value, by name or by its place, which the function takes; `*` and `**` may not."""
    named = next((one.value for one in call.keywords if one.arg == default.name), None)
    placed = call.args[number] if len(call.args) > number else None
    given = named if named is not None else placed
    if given is None or any(isinstance(one, ast.Starred) for one in call.args[: number + 1]):
        return False
    return not default.instead_of_none or _is_no_none(given, call, evidence)


def _is_no_none(given: ast.expr, call: ast.Call, evidence: Evidence) -> bool:
    """Return whether what a call gives is a device for sure: its name, `torch.device(...)`, or what an object keeps as its own device."""
    if isinstance(given, ast.Attribute) and given.attr == "device":
        kept = (one for one in evidence.nodes_beside(".device", with_main=True) if isinstance(one, ast.Assign))
        values = [one.value for one in kept if any(isinstance(target, ast.Attribute) and target.attr == "device" for target in one.targets)]
        return OPTIONS.search(plain_text(given.value)) is None and not any(isinstance(one, (ast.Name, ast.Attribute)) for one in values)
    if isinstance(given, ast.Name):
        part = evidence.document.part_at(evidence.span_of(call).start)
        nodes = [one for one in evidence.nodes_beside(given.id, with_main=True) if isinstance(one, (ast.Assign, ast.Name, ast.arg))]
        own = [one for one in nodes if evidence.document.part_at(evidence.span_of(one).start) is part]
        values = [one.value for one in own if isinstance(one, ast.Assign) and plain_text(one.targets[0]) == given.id]
        bound = [one for one in own if _binds(one, given.id)]
        is_plain = bool(values) and len(bound) == len(values)
        return is_plain and all(not isinstance(one, (ast.Name, ast.Attribute)) and _is_no_none(one, call, evidence) for one in values)
    if isinstance(given, ast.IfExp):
        return _is_no_none(given.body, call, evidence) and _is_no_none(given.orelse, call, evidence)
    is_made = isinstance(given, ast.Call) and ast.unparse(given.func) in platform_data("cuda")["devices"]["classes"]
    return is_made or (isinstance(given, ast.Constant) and isinstance(given.value, str) and given.value != "")


def _binds(node: ast.AST, name: str) -> bool:
    """Return whether a node gives a name a value: as a variable, or as a parameter."""
    return (isinstance(node, ast.arg) and node.arg == name) or (
        isinstance(node, ast.Name) and node.id == name and not isinstance(node.ctx, ast.Load)
    )
