"""Which expressions of a program are tensors on the Mac's GPU, followed through names, operators and the outputs of models there."""

from __future__ import annotations

import ast
import bisect
import functools
from collections.abc import Callable, Iterator, Mapping

from mpslint.checks._models import model_texts, plain_text
from mpslint.core.record import record
from mpslint.facts.values import Known, alternatives_of
from mpslint.program.walk import walk
from mpslint.rule.loops import called_name
from mpslint.settings.evidence import Evidence
from mpslint.settings.plan import Matched

LEAVES = frozenset(
    {"cpu", "item", "tolist", "numpy", "size", "dim", "numel", "float", "int", "len", "bool", "str", "range", "enumerate", "print"}
)
"""Calls after which a value is no longer a tensor on the device. (The method `.float()` keeps the device; it is asked for first.)"""
NO_TENSOR = frozenset({"shape", "device", "dtype", "ndim", "requires_grad"})
"""Attributes of a tensor that are none."""
DEEPEST = 8
SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)


@record(frozen=True, eq=False)
class Placed:
    """Answers for one program. `is_move` says of a call whether it puts something on the GPU, None for one that is no move."""

    evidence: Evidence
    is_move: Callable[[ast.Call], bool | None]

    def holds(self, node: ast.expr, depth: int = DEEPEST) -> bool:
        """Return whether an expression is a tensor on the Mac's GPU; False where that is not known."""
        if depth <= 0:
            return False
        if isinstance(node, ast.Name):
            return self._name_holds(node, depth)
        if isinstance(node, ast.Attribute):
            return node.attr not in NO_TENSOR and self.holds(node.value, depth - 1)
        if isinstance(node, (ast.Subscript, ast.Starred)):
            return self.holds(node.value, depth - 1)
        if isinstance(node, ast.UnaryOp):
            return self.holds(node.operand, depth - 1)
        if isinstance(node, ast.BinOp):
            return self.holds(node.left, depth - 1) or self.holds(node.right, depth - 1)
        if isinstance(node, ast.Compare):
            is_tensor = all(isinstance(op, (ast.Eq, ast.NotEq, ast.Lt, ast.LtE, ast.Gt, ast.GtE)) for op in node.ops)
            return is_tensor and any(self.holds(part, depth - 1) for part in (node.left, *node.comparators))
        return isinstance(node, ast.Call) and self._call_holds(node, depth)

    def _call_holds(self, call: ast.Call, depth: int) -> bool:
        moved = self.is_move(call)
        if moved is not None:
            return moved
        name, text = called_name(call), plain_text(call.func)
        if text in self._models:
            return True
        if isinstance(call.func, ast.Attribute) and not text.startswith(("torch.", "F.", "np.", "numpy.")):
            return name not in LEAVES - {"float", "int", "bool"} and self.holds(call.func.value, depth - 1)
        if name in LEAVES or not text.startswith(("torch.", "F.")) or any(keyword.arg == "device" for keyword in call.keywords):
            return False
        return any(self.holds(argument, depth - 1) for argument in call.args)

    @functools.cached_property
    def _models(self) -> frozenset[str]:
        """The models that the program puts on the GPU, as they are written."""
        found: set[str] = set()
        for node in (node for word in (".to(",) for node in self.evidence.nodes_beside(word)):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and self.is_move(node):
                parent = self.evidence.parents.get(node)
                targets = parent.targets if isinstance(parent, ast.Assign) else []
                found |= {plain_text(target) for target in (*targets, node.func.value)} & model_texts(self.evidence)
        return frozenset(found)

    def _name_holds(self, name: ast.Name, depth: int) -> bool:
        """Return whether what a name was last given in its function, or was added to it, is on the GPU; of a parameter, what calls give."""
        scope = self.evidence.above(name, SCOPES)
        while True:
            given = self._given.get((self._key(scope, name), name.id))
            if given is not None or scope is None:
                break
            if isinstance(scope, (ast.FunctionDef, ast.AsyncFunctionDef)) and name.id in _parameters(scope):
                return self._argument_holds(scope, name.id, depth)
            scope = self.evidence.above(scope, SCOPES)
        before = [one for one in given or () if one.lineno <= name.lineno]
        last = next((number for number, one in reversed(list(enumerate(before))) if isinstance(one, ast.Assign)), 0)
        return any(self.holds(one.value, depth - 1) for one in before[last:])

    def _argument_holds(self, function: ast.FunctionDef | ast.AsyncFunctionDef, name: str, depth: int) -> bool:
        """Return whether every call of a function gives a parameter what is on the GPU; False for one that nothing calls."""
        names = _parameters(function)
        found = []
        for node in self.evidence.nodes_beside(function.name):
            if isinstance(node, ast.Call) and called_name(node) == function.name:
                bound = names[1:] if names[:1] in (["self"], ["cls"]) else names
                given = dict(zip(bound, node.args, strict=False)) | {keyword.arg: keyword.value for keyword in node.keywords if keyword.arg}
                if name in given:
                    found.append(given[name])
        return bool(found) and all(self.holds(one, depth - 1) for one in found)

    @functools.cached_property
    def _given(self) -> Mapping[tuple[int, str], list[ast.Assign | ast.AugAssign]]:
        """The statements that give each name of each scope a value, in order."""
        found: dict[tuple[int, str], list[ast.Assign | ast.AugAssign]] = {}
        for node in (inner for statement in self.evidence.parsed.body for inner in walk(statement)):
            if isinstance(node, (ast.Assign, ast.AugAssign)):
                for name in _names_given(node):
                    found.setdefault((self._key(self.evidence.above(node, SCOPES), node), name), []).append(node)
        return {key: sorted(nodes, key=lambda node: node.lineno) for key, nodes in found.items()}

    def _key(self, scope: ast.AST | None, node: ast.expr | ast.stmt) -> int:
        """Return what stands for a scope, or for the module scope of the file that a node is in."""
        return id(scope) if scope is not None else -bisect.bisect_right(self._files, node.lineno)

    @functools.cached_property
    def _files(self) -> list[int]:
        """The lines on which the files of a run begin."""
        return sorted(part.first_line for part in self.evidence.document.parts)


def on_mps(evidence: Evidence) -> Placed:
    """Return the answers for what a program's own moves put on the Mac's GPU."""
    if "on mps" not in evidence.memo:
        by_node = {id(m.call.node): m for m in evidence.file_plans.matched}
        evidence.memo["on mps"] = Placed(evidence, lambda call: _is_move_to_mps(by_node.get(id(call))))
    placed: Placed = evidence.memo["on mps"]
    return placed


def _is_move_to_mps(found: Matched | None) -> bool | None:
    """Return whether a call puts something on the GPU; None where it names no device."""
    settings = found.settings if found is not None else ()
    values = [part for s in settings if s.name == "device.name" for part in alternatives_of(s.value)]
    return all(isinstance(one, Known) and str(one.value).split(":")[0] == "mps" for one in values) if values else None


def _names_given(node: ast.Assign | ast.AugAssign) -> Iterator[str]:
    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
    for target in targets:
        if isinstance(target, ast.Name):
            yield target.id
        elif isinstance(target, (ast.Tuple, ast.List)):
            yield from (part.id for part in target.elts if isinstance(part, ast.Name))


def _parameters(function: ast.FunctionDef | ast.AsyncFunctionDef) -> list[str]:
    given = function.args
    return [one.arg for one in (*given.posonlyargs, *given.args, *given.kwonlyargs)]
