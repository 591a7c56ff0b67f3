"""Tensors that a method or function makes on the CPU and gives to a model that the run moves elsewhere: `self.model(torch.tensor(state))`.

On a Mac that selects the CPU such a program runs; as soon as its device is the GPU, it raises where the model meets the tensor.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from mpslint.checks._models import computed_from, plain_text
from mpslint.program.walk import walk
from mpslint.rule.check import Gate
from mpslint.rule.judge import Match
from mpslint.rule.loops import called_name
from mpslint.settings.evidence import Evidence

MAKES = re.compile(r"^(?:torch|th)\.(?:tensor|from_numpy|as_tensor|\w*Tensor|zeros|ones|randn?|randint|eye|arange|full|empty)$")
"""What makes a tensor on the CPU unless it is given a device."""
MOVES = ("to", "cuda", "type_as", "to_device", "prepare")
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
OWN = ("self", "cls")

GATE = Gate(words=("cuda",), may_find=lambda document, options, target: "torch" in document.text)


def find(evidence: Evidence, options: Mapping[str, Any]) -> Iterator[Match]:
    """Yield each run of a model, which the run moves, on a tensor that stays on the CPU, wherever in the run."""
    whole = evidence.whole or evidence
    if "set_default_" in whole.text:
        return
    moved = _moved_names(whole)
    functions = {id(one): one for node in whole.nodes_beside("torch.") if (one := whole.above(node, FUNCTIONS)) is not None}
    for function in functions.values():
        if not isinstance(function, FUNCTIONS):
            continue
        nodes = list(walk(function))
        made = made_names(nodes)
        for call in (one for one in nodes if isinstance(one, ast.Call)):
            if _is_given(call, made) and _is_model(call.func, function, moved, whole):
                yield Match(whole.span_of(call), {"written": whole.text_of(call.func)}, node=call)


def _moved_names(evidence: Evidence) -> frozenset[str]:
    """Return the last names of what the run moves, and of what it gives the result of a move to."""
    found: set[str] = set()
    for node in evidence.nodes_beside(".to("):
        if isinstance(node, ast.Call) and called_name(node) == "to" and isinstance(node.func, ast.Attribute):
            above = evidence.above(node, (ast.stmt,))
            targets = above.targets if isinstance(above, ast.Assign) else []
            found |= {plain_text(one).rpartition(".")[2] for one in (*targets, node.func.value)}
    return frozenset(found - {""})


def made_names(nodes: Sequence[ast.AST]) -> set[str]:
    """Return the names of a function's tensors that are made there and never moved, and of what is computed from them."""
    assigned = [node for node in nodes if isinstance(node, ast.Assign)]
    moved = {plain_text(target) for node in assigned if has_move(node.value) for target in node.targets}
    new = {plain_text(target) for node in assigned if makes_on_cpu(node.value) for target in node.targets} - moved - {""}
    plain = [node for node in assigned if isinstance(node.value, (ast.Call, ast.Subscript)) and not has_move(node.value)]
    return computed_from(new, [node for node in plain if _is_of_tensor(node.value)]) - moved


def _is_of_tensor(value: ast.expr) -> bool:
    """Return whether an expression takes a tensor's own method or part: `x.unsqueeze(0)`, `x[0]`."""
    inner = value.func.value if isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute) else value
    return isinstance(inner, ast.Name) if value is not inner else isinstance(value, ast.Subscript)


def makes_on_cpu(value: ast.expr) -> bool:
    """Return whether an expression is a new tensor on the CPU, by whatever methods it goes: `torch.tensor(x).unsqueeze(0)`."""
    while isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute) and MAKES.match(plain_text(value.func)) is None:
        if value.func.attr in MOVES:
            return False
        value = value.func.value
    is_made = isinstance(value, ast.Call) and MAKES.match(plain_text(value.func)) is not None
    return is_made and isinstance(value, ast.Call) and not any(one.arg in ("device", None) for one in value.keywords)


def has_move(value: ast.AST) -> bool:
    """Return whether an expression or statement moves something."""
    return any(isinstance(one, ast.Call) and called_name(one) in MOVES for one in walk(value))


def _is_given(call: ast.Call, made: set[str]) -> bool:
    """Return whether a call has a tensor of the CPU among its arguments."""
    return any(makes_on_cpu(one) or plain_text(one) in made for one in (*call.args, *(keyword.value for keyword in call.keywords)))


def _is_model(called: ast.expr, function: ast.AST, moved: frozenset[str], evidence: Evidence) -> bool:
    """Return whether what is called is a thing that the run moves: by its name, or by what the function or class is given in its place."""
    text = plain_text(called)
    owner = evidence.parents.get(function)
    if text.partition(".")[0] in OWN and text.count(".") == 1 and isinstance(owner, ast.ClassDef):
        name = text.partition(".")[2]
        parameter = _parameter_of(name, owner)
        return _is_given_moved(owner.name, parameter, moved, evidence) if parameter else False
    if not isinstance(called, ast.Name) or not isinstance(function, FUNCTIONS):
        return False
    names = [one.arg for one in (*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs)]
    if text in names:
        names = names[1:] if names[0] in OWN else names
        return _is_given_moved(function.name, (text, names.index(text)), moved, evidence)
    return False


def _parameter_of(name: str, owner: ast.ClassDef) -> tuple[str, int] | None:
    """Return the parameter of a class that it keeps under a name, and its number: `model` of `self.model = model`."""
    made = next((one for one in owner.body if isinstance(one, ast.FunctionDef) and one.name == "__init__"), None)
    names = [one.arg for one in (*made.args.args, *made.args.kwonlyargs)][1:] if made is not None else []
    for node in walk(made) if made is not None else ():
        for target, value in _pairs(node) if isinstance(node, ast.Assign) else ():
            if isinstance(value, ast.Name) and value.id in names and plain_text(target) == f"self.{name}":
                return value.id, names.index(value.id)
    return None


def _pairs(node: ast.Assign) -> Iterator[tuple[ast.expr, ast.expr]]:
    """Yield each target of an assignment with its value: `self.model, self.device = model, device`."""
    for target in node.targets:
        if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
            yield from zip(target.elts, node.value.elts, strict=False)
        else:
            yield target, node.value


def _is_given_moved(called: str, parameter: tuple[str, int], moved: frozenset[str], evidence: Evidence) -> bool:
    """Return whether a call of a function or class gives a parameter something that the run moves."""
    name, number = parameter
    for call in (one for one in evidence.nodes_beside(called) if isinstance(one, ast.Call) and called_name(one) == called):
        given = {keyword.arg: keyword.value for keyword in call.keywords}
        value = given.get(name, call.args[number] if len(call.args) > number else None)
        if value is not None and (plain_text(value).rpartition(".")[2] in moved or has_move(value)):
            return True
    return False
