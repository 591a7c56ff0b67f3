"""Which parts of a model the code freezes: `for p in model.bert.parameters(): p.requires_grad = False`,
`model.bert.requires_grad_(False)`, `model.freeze_feature_encoder()`, there or in a function that is given the model."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from mpslint.facts.values import Call
from mpslint.settings.evidence import Evidence
from mpslint.verify.spec import Frozen

PARAMETERS = ("parameters", "named_parameters")
SWITCH, METHOD, OWN = "requires_grad", "requires_grad_", "freeze"
DEPTH = 4
"""How many functions deep freezing is followed."""
Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True, slots=True)
class Unclear:
    """A line that freezes something which isn't known here."""

    line: int


def frozen_parts(evidence: Evidence, trainer: Call, model: str) -> list[Frozen | Unclear]:
    """Return what is switched off and on, in order, of the model that a trainer is given under a name."""
    module = ast.Module(list(evidence.parsed.body), [])
    functions = {one.name: one for one in ast.walk(module) if isinstance(one, Function)}
    found: list[Frozen | Unclear] = []
    for body, name, line in reversed(list(_scopes(module, trainer, model))):
        found += [one for statement in body if statement.lineno < line for one in _in(statement, name, functions, DEPTH)]
    return found


def _scopes(module: ast.Module, trainer: Call, model: str) -> Iterator[tuple[Sequence[ast.stmt], str, int]]:
    """Yield the bodies in which the model is at hand, innermost first, with its name there and the line that it is used in."""
    name, line = model, trainer.node.lineno
    for function in reversed([one for one in trainer.context.functions if isinstance(one, Function)]):
        yield function.body, name, line
        places = [place for place, argument in enumerate(function.args.args) if argument.arg == name]
        call = next((one for one in ast.walk(module) if isinstance(one, ast.Call) and _named(one.func) == function.name), None)
        if not places or call is None:
            return
        given = next(
            (word.value for word in call.keywords if word.arg == name), call.args[places[0]] if places[0] < len(call.args) else None
        )
        if not isinstance(given, ast.Name):
            return
        name, line = given.id, call.lineno
    yield module.body, name, line


def _in(statement: ast.stmt, model: str, functions: dict[str, Function], depth: int) -> Iterator[Frozen | Unclear]:
    """Yield what one statement switches."""
    if isinstance(statement, ast.For):
        part = _part(statement.iter, model)
        if part is not None:
            yield from _loop(statement, part)
    elif isinstance(statement, ast.With):
        for inner in statement.body:
            yield from _in(inner, model, functions, depth)
    elif isinstance(statement, ast.If):
        if any(True for inner in (*statement.body, *statement.orelse) for _ in _in(inner, model, functions, depth)):
            yield Unclear(statement.lineno)
    elif isinstance(statement, (ast.Expr, ast.Assign)) and isinstance(statement.value, ast.Call):
        yield from _called(statement.value, model, functions, depth)


def _called(call: ast.Call, model: str, functions: dict[str, Function], depth: int) -> Iterator[Frozen | Unclear]:
    """Yield what a call switches: of a method of the model, or of a function that gets it."""
    if isinstance(call.func, ast.Attribute):
        path = _path(call.func.value, model)
        if path is not None and call.func.attr == METHOD:
            given = call.args[0].value if call.args and isinstance(call.args[0], ast.Constant) else True
            yield Frozen(path, given) if isinstance(given, bool) else Unclear(call.lineno)
        elif path is not None and call.func.attr.startswith(OWN) and not call.args and not call.keywords:
            yield Frozen(path, method=call.func.attr)
        return
    function = functions.get(_named(call.func))
    if function is None or depth <= 0:
        return
    names = [argument.arg for argument in function.args.args]
    given_to = [*zip(names, call.args, strict=False), *((word.arg, word.value) for word in call.keywords)]
    for name, value in given_to:
        path = _path(value, model)
        if name is None or path is None:
            continue
        for statement in function.body:
            for one in _in(statement, name, functions, depth - 1):
                yield one if isinstance(one, Unclear) or not path else replace(one, part=f"{path}.{one.part}".strip("."))


def _loop(loop: ast.For, part: str) -> Iterator[Frozen | Unclear]:
    """Yield what a loop over parameters switches: of all of them, or of those that a condition on their names picks."""
    if not any(isinstance(inner, ast.Attribute) and inner.attr in (SWITCH, METHOD) for inner in ast.walk(loop)):
        return
    first = loop.body[0]
    value = _assigned(first, loop.target) if len(loop.body) == 1 else None
    if isinstance(value, bool):
        yield Frozen(part, value)
        return
    if isinstance(value, ast.expr) and (picked := _picked(value, loop.target)) is not None:
        yield replace(picked, part=part, is_trained=True)
        yield replace(picked, part=part, is_trained=False, others=not picked.others)
        return
    if len(loop.body) == 1 and isinstance(first, ast.If) and len(first.body) == 1 and len(first.orelse) <= 1:
        picked = _picked(first.test, loop.target)
        then = _assigned(first.body[0], loop.target)
        other = _assigned(first.orelse[0], loop.target) if first.orelse else None
        if picked is not None and isinstance(then, bool) and (not first.orelse or isinstance(other, bool)):
            yield replace(picked, part=part, is_trained=then)
            if isinstance(other, bool):
                yield replace(picked, part=part, is_trained=other, others=not picked.others)
            return
    yield Unclear(loop.lineno)


def _picked(test: ast.expr, target: ast.expr) -> Frozen | None:
    """Return which parameters a condition on their name picks; None for another condition."""
    name = target.elts[0].id if isinstance(target, ast.Tuple) and target.elts and isinstance(target.elts[0], ast.Name) else ""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        inner = _picked(test.operand, target)
        return replace(inner, others=not inner.others) if inner is not None else None
    if isinstance(test, ast.Compare) and len(test.ops) == 1 and isinstance(test.ops[0], (ast.In, ast.NotIn)):
        texts = _texts(test.left)
        if texts and _named(test.comparators[0]) == name != "":
            return Frozen("", names=texts, others=isinstance(test.ops[0], ast.NotIn))
    if isinstance(test, ast.Call) and isinstance(test.func, ast.Attribute) and test.func.attr == "startswith" and len(test.args) == 1:
        texts = _texts(test.args[0])
        if texts and _named(test.func.value) == name != "":
            return Frozen("", names=texts, begins=True)
    if isinstance(test, ast.Call) and _named(test.func) == "any" and test.args and isinstance(test.args[0], ast.GeneratorExp):
        made = test.args[0]
        texts = _texts(made.generators[0].iter) if len(made.generators) == 1 else ()
        is_in = isinstance(made.elt, ast.Compare) and len(made.elt.ops) == 1 and isinstance(made.elt.ops[0], ast.In)
        if texts and is_in and isinstance(made.elt, ast.Compare) and _named(made.elt.comparators[0]) == name != "":
            return Frozen("", names=texts)
    return None


def _texts(node: ast.expr) -> tuple[str, ...]:
    """Return a constant text, or those of a list; none for anything else."""
    values = node.elts if isinstance(node, (ast.List, ast.Tuple, ast.Set)) else [node]
    texts = tuple(value.value for value in values if isinstance(value, ast.Constant) and isinstance(value.value, str))
    return texts if len(texts) == len(values) else ()


def _named(node: ast.expr) -> str:
    return node.id if isinstance(node, ast.Name) else ""


def _part(node: ast.expr, model: str) -> str | None:
    """Return the part of the model whose parameters a loop visits: `bert` of `model.bert.parameters()`."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in PARAMETERS and not node.args:
        return _path(node.func.value, model)
    return None


def _path(node: ast.expr, model: str) -> str | None:
    """Return the attributes after the model's name: `bert.encoder` of `model.bert.encoder`; None for other objects."""
    names: list[str] = []
    while isinstance(node, ast.Attribute):
        names.append(node.attr)
        node = node.value
    return ".".join(reversed(names)) if isinstance(node, ast.Name) and node.id == model else None


def _assigned(statement: ast.stmt, target: ast.expr) -> bool | ast.expr | None:
    """Return what a statement sets a parameter's `requires_grad` to, in a loop over parameters; None where it does something else."""
    named = {part.id for part in ast.walk(target) if isinstance(part, ast.Name)}
    if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call) and isinstance(statement.value.func, ast.Attribute):
        call, method = statement.value, statement.value.func
        if method.attr != METHOD or _named(method.value) not in named:
            return None
        value: ast.expr = call.args[0] if call.args else ast.Constant(value=True)
    elif isinstance(statement, ast.Assign) and len(statement.targets) == 1 and isinstance(statement.targets[0], ast.Attribute):
        place = statement.targets[0]
        if place.attr != SWITCH or _named(place.value) not in named:
            return None
        value = statement.value
    else:
        return None
    return value.value if isinstance(value, ast.Constant) and isinstance(value.value, bool) else value
