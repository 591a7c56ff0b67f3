"""A device that follows a tensor, for CUDA only: `"cuda" if x.is_cuda else "cpu"`, `"cuda:" + str(x.get_device())`.

For a tensor on the Mac's GPU the first selects the CPU, and an operation on both raises an error. The second selects CUDA, because
`get_device()` of such a tensor is 0.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from mpslint.checks._written import plain_text
from mpslint.core.finding import Edit
from mpslint.program.walk import walk
from mpslint.rule.judge import Match
from mpslint.rule.loops import called_name
from mpslint.settings.evidence import Evidence
from mpslint.settings.spelling import WrittenSetting
from mpslint.tensors.kinds import load_kinds
from mpslint.tensors.traits import device_text

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
IS_CUDA = re.compile(r"""\.cuda\(|["']cuda|torch\.cuda\.\w*Tensor""")
IS_MOVE = re.compile(r"\.to\(|\.type_as\(|\.new_|device *=|_like\(")
"""What takes a tensor to another's device, whatever it is."""
IS_AUTOCAST = re.compile(r"autocast|\bamp\b")


def find(evidence: Evidence, options: Mapping[str, Any]) -> Iterator[Match]:
    """Yield each choice of a device by a tensor on MPS that knows CUDA and the CPU only.

    Option `effects` says what follows where it selects the CPU (`cpu`), and where it selects CUDA (`cuda`).
    """
    asked = {f"{load_kinds().tensor}.{name}" for name, place in load_kinds().place_questions.items() if place != load_kinds().gpu}
    for choice in evidence.facts.choices:
        node = choice.node
        tensor = _asked(node.test) if choice.source in asked else None
        if tensor is None or isinstance(node, ast.Assert) or (choice.value is not None and device_text(choice.value) == load_kinds().gpu):
            continue
        taken, cuda = (node.body, node.orelse) if choice.answer else (node.orelse, node.body)
        if _selects_cpu(taken, cuda) and not _moves_later(node, cuda, evidence) and not _is_for_autocast(node, evidence):
            yield _match(tensor, "cpu", node if isinstance(node, ast.IfExp) else node.test, node, evidence, options)
    for event in evidence.facts.events:
        origin = event.operands[-1].origin if event.kind == "absent" else None
        if origin is None:
            continue
        made = (ast.BinOp, ast.JoinedStr, ast.Call)  # a text that is put together, maybe of a number that was given a name
        whole = (origin, evidence.parents.get(origin), evidence.above(origin, FUNCTIONS) if isinstance(origin, made) else None)
        number: Any = next((inner for one in whole if one is not None for inner in ast.walk(one) if _is_number(inner)), None)
        if number is not None:
            yield _match(number.func.value, "cuda", origin, origin, evidence, options)


def _match(tensor: ast.expr, how: str, shown: ast.AST, node: ast.AST, evidence: Evidence, options: Mapping[str, Any]) -> Match:
    written = ast.unparse(tensor)
    values = {"how": how, "tensor": written, "effect": options["effects"][how].format(tensor=written)}
    return Match(evidence.span_of(shown), values, node=node)


def _asked(test: ast.expr) -> ast.expr | None:
    """Return the tensor that a test asks whether it is on CUDA, alone or beside what else `and` asks; None for another test."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        test = test.operand
    parts = test.values if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And) else [test]
    asked = [part.value for part in parts if isinstance(part, ast.Attribute) and part.attr == "is_cuda"]
    return asked[0] if len(asked) == 1 else None


def _selects_cpu(taken: ast.expr | list[ast.stmt], cuda: ast.expr | list[ast.stmt]) -> bool:
    """Return whether one branch selects CUDA or moves something there, and the other one stays on the CPU."""
    written, other = _text(cuda), _text(taken)
    if IS_CUDA.search(written) is None or IS_CUDA.search(other) or ".cpu(" in written or "raise " in other or "raise " in written:
        return False
    stays = "'cpu'" in other or (".to(" not in other and "device" not in other)
    return stays and (isinstance(cuda, ast.expr) or any(_is_plain(statement) for statement in cuda))


def _is_plain(statement: ast.stmt) -> bool:
    """Return whether a statement gives a name a device, or a tensor that was moved to it."""
    value = statement.value if isinstance(statement, (ast.Assign, ast.AnnAssign, ast.Return)) else None
    return value is not None and IS_CUDA.search(ast.unparse(value)) is not None


def _text(block: ast.expr | list[ast.stmt]) -> str:
    return "\n".join(map(ast.unparse, block)) if isinstance(block, list) else ast.unparse(block)


def _moves_later(node: ast.AST, cuda: ast.expr | list[ast.stmt], evidence: Evidence) -> bool:
    """Return whether what a branch moves to CUDA is taken to another tensor's device afterwards: `window = window.type_as(x)`."""
    function = evidence.above(node, FUNCTIONS)
    statement = node if isinstance(node, ast.stmt) else evidence.above(node, (ast.stmt,))
    names = {plain_text(target) for one in _assigned(statement, cuda) for target in one.targets}
    end = getattr(statement, "end_lineno", 0)
    following = (one for one in walk(function) if isinstance(one, ast.Assign) and one.lineno > end) if function is not None else ()
    return any(plain_text(one.targets[0]) in names and IS_MOVE.search(ast.unparse(one.value)) for one in following)


def _is_for_autocast(node: ast.AST, evidence: Evidence) -> bool:
    """Return whether a device is chosen only to say for which one autocast is: no tensor goes there."""
    parent = evidence.parents.get(node)
    target = parent.targets[0] if isinstance(parent, ast.Assign) else None
    reads: list[ast.AST] = [node]
    if isinstance(target, ast.Name):
        function = evidence.above(node, FUNCTIONS)
        scope = walk(function) if function is not None else evidence.nodes_beside(target.id)
        reads = [one for one in scope if isinstance(one, ast.Name) and one.id == target.id and isinstance(one.ctx, ast.Load)]
    calls = [evidence.above(one, (ast.Call,)) for one in reads]
    return bool(calls) and all(isinstance(one, ast.Call) and IS_AUTOCAST.search(called_name(one) or "") for one in calls)


def _assigned(statement: ast.AST | None, cuda: ast.expr | list[ast.stmt]) -> Sequence[ast.Assign]:
    inner = cuda if isinstance(cuda, list) else [statement]
    return [one for one in inner if isinstance(one, ast.Assign)]


def _is_number(node: ast.AST) -> Any:
    """Return a call `x.get_device()`; None for another node."""
    is_call = isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in load_kinds().place_numbers
    return node if is_call else None


def rewrite(match: Match, evidence: Evidence) -> WrittenSetting | None:
    """Return the edit that takes the tensor's own device, where the choice is one expression, or an `if` that only moves something."""
    node, tensor = match.node, match.values["tensor"]
    if not isinstance(node, (ast.If, ast.IfExp)) or match.values["how"] != "cpu" or not isinstance(node.test, ast.Attribute):
        return None
    if isinstance(node, ast.If):
        names = [_moved_in_place(statement) for statement in node.body]
        if node.orelse or not all(names):
            return None
        indent = "\n" + " " * node.col_offset
        new = indent.join(f"{name} = {name}.to({tensor}.device)" for name in names)
        return WrittenSetting((Edit(evidence.span_of(node), new),), new.replace(indent, "; "))
    above = evidence.parents.get(node)
    if isinstance(above, ast.Call) and called_name(above) == "device" and len(above.args) == 1 and not above.keywords:
        return _taken(above, f"{tensor}.device", evidence)
    if all(isinstance(one, ast.Call) and called_name(one) == "device" for one in (node.body, node.orelse)):
        return _taken(node, f"{tensor}.device", evidence)
    moved = node.body.func if isinstance(node.body, ast.Call) and not node.body.args else None
    if isinstance(moved, ast.Attribute) and moved.attr == "cuda" and ast.dump(moved.value) == ast.dump(node.orelse):
        return _taken(node, f"{evidence.text_of(moved.value)}.to({tensor}.device)", evidence)
    return None


def _moved_in_place(statement: ast.stmt) -> str:
    """Return what a statement moves to CUDA: `y` of `y = y.cuda()`; '' for another statement."""
    value = statement.value if isinstance(statement, ast.Assign) and len(statement.targets) == 1 else None
    if not isinstance(value, ast.Call) or called_name(value) != "cuda" or not isinstance(value.func, ast.Attribute):
        return ""
    name = plain_text(value.func.value)
    return name if isinstance(statement, ast.Assign) and plain_text(statement.targets[0]) == name else ""


def _taken(node: ast.expr, new: str, evidence: Evidence) -> WrittenSetting:
    return WrittenSetting((Edit(evidence.span_of(node), new),), new)
