"""Which expressions of a program are tensors on the Mac's GPU, or name it, followed through names, operators and the outputs of models."""

from __future__ import annotations

import ast
import functools
from collections.abc import Callable

from mpslint.checks._given import given_in
from mpslint.checks._models import model_texts, plain_text
from mpslint.core.knowledge import platform_data
from mpslint.core.record import record
from mpslint.facts.values import Known, alternatives_of
from mpslint.rule.loops import called_name
from mpslint.settings.evidence import Evidence
from mpslint.settings.plan import Matched

LEAVES = frozenset(
    {"cpu", "item", "tolist", "numpy", "size", "dim", "numel", "float", "int", "len", "bool", "str", "range", "enumerate", "print"}
)
"""Calls after which a value is no longer a tensor on the device. (The method `.float()` keeps the device; it is asked for first.)"""
NO_TENSOR = frozenset({"shape", "device", "dtype", "ndim", "requires_grad"})
"""Attributes of a tensor that are none."""
KEEP = frozenset({"float", "int", "bool"})
"""Methods of a tensor by whose names Python's own functions make something else."""
RUNS = frozenset({"forward", "generate"})
"""Methods of a model that return what it computes."""
WEIGHTS = frozenset({"weight", "bias"})
"""Attributes of a layer that lie where the layer does."""
DEEPEST = 8


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
            return given_in(self.evidence).is_any(node, lambda one: self.holds(one, depth - 1))
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
        if isinstance(node, (ast.ListComp, ast.GeneratorExp, ast.DictComp)):
            return self.holds(node.value if isinstance(node, ast.DictComp) else node.elt, depth - 1)
        return isinstance(node, ast.Call) and self._call_holds(node, depth)

    def is_put(self, call: ast.Call, depth: int = DEEPEST) -> bool | None:
        """Return whether a call puts something on the GPU, also by a tensor (`x.device`); None where it names no device."""
        moved, device = self.is_move(call), _device_of(call)
        return True if not moved and device is not None and self.names_gpu(device, depth) else moved

    def names_gpu(self, node: ast.expr, depth: int = DEEPEST) -> bool:
        """Return whether an expression is the device of something on the Mac's GPU; False where that is not known."""
        if depth <= 0:
            return False
        if isinstance(node, ast.Name):
            return given_in(self.evidence).is_any(node, lambda one: self.names_gpu(one, depth - 1))
        if isinstance(node, ast.Call):
            return self.is_move(node) is True and called_name(node) == "device"
        if not isinstance(node, ast.Attribute):
            return False
        if node.attr == "device" and (self._is_module(node.value) or self.holds(node.value, depth - 1)):
            return True
        if given_in(self.evidence).is_every_attribute(node, lambda one: self.names_gpu(one, depth - 1)):
            return True
        owner = self.evidence.above(node, (ast.ClassDef,)) if plain_text(node.value) == "self" else None
        named = [one for one in getattr(owner, "body", ()) if isinstance(one, ast.FunctionDef) and one.name == node.attr]
        return any(
            isinstance(one, ast.Return) and one.value is not None and self.names_gpu(one.value, depth - 1) for f in named for one in f.body
        )

    def _is_module(self, node: ast.expr) -> bool:
        """Return whether an expression is a model on the GPU, or one of its weights: `next(model.parameters())`, `self.layer.weight`."""
        if called_name(node) == "next" and isinstance(node, ast.Call) and node.args and called_name(node.args[0]) == "parameters":
            inner = node.args[0].func if isinstance(node.args[0], ast.Call) else None
            return isinstance(inner, ast.Attribute) and (self._is_module(inner.value) or self._is_own(inner.value))
        text = plain_text(node)
        of_layer = isinstance(node, ast.Attribute) and node.attr in WEIGHTS
        return text in self._models or (of_layer and (any(text.startswith(f"{one}.") for one in self._models) or self._is_own(node)))

    def _is_own(self, node: ast.expr) -> bool:
        """Return whether an expression is `self`, or part of it, in a class of which the program puts an object on the GPU."""
        owner = self.evidence.above(node, (ast.ClassDef,)) if plain_text(node).partition(".")[0] == "self" else None
        return isinstance(owner, ast.ClassDef) and not self._models.isdisjoint(given_in(self.evidence).objects.get(owner.name, ()))

    def _call_holds(self, call: ast.Call, depth: int) -> bool:
        moved = self.is_put(call, depth - 1)
        if moved is not None:
            return moved
        name, text = called_name(call), plain_text(call.func)
        if text in self._models:
            return True
        owner = text.rpartition(".")[0]
        if owner in model_texts(self.evidence):  # other methods of a model may return anything, such as numbers of a tokenizer
            return name in RUNS and owner in self._models
        if isinstance(call.func, ast.Attribute) and not text.startswith(("torch.", "F.", "np.", "numpy.")):
            is_tensor = name in KEEP or name.rstrip("_") in platform_data("tensor_methods")["tensor_methods"]
            return is_tensor and self.holds(call.func.value, depth - 1)
        if name in LEAVES or not text.startswith(("torch.", "F.")) or any(keyword.arg == "device" for keyword in call.keywords):
            return False
        return any(self.holds(argument, depth - 1) for argument in call.args)

    @functools.cached_property
    def _models(self) -> frozenset[str]:
        """The models that the program puts on the GPU and never brings back, as they are written."""
        found: set[str] = set()
        back: set[str] = set()
        for node in (node for word in (".to(", ".cpu(") for node in self.evidence.nodes_beside(word)):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
                if self.is_move(node):
                    parent = self.evidence.parents.get(node)
                    targets = parent.targets if isinstance(parent, ast.Assign) else []
                    found |= {plain_text(target) for target in (*targets, node.func.value)}
                elif node.func.attr == "cpu" or (node.func.attr == "to" and node.args and "'cpu'" in ast.unparse(node.args[0])):
                    back.add(plain_text(node.func.value))
        return frozenset((found & model_texts(self.evidence)) - back)


def on_mps(evidence: Evidence) -> Placed:
    """Return the answers for what a program's own moves put on the Mac's GPU."""
    if "on mps" not in evidence.memo:
        by_node = {id(m.call.node): m for m in evidence.file_plans.matched}
        evidence.memo["on mps"] = Placed(evidence, lambda call: _is_move_to_mps(by_node.get(id(call))))
    placed: Placed = evidence.memo["on mps"]
    return placed


def _is_move_to_mps(found: Matched | None) -> bool | None:
    """Return whether a call puts something on the GPU; None where it names no device, or gives it to something else than torch."""
    if found is None or not (found.call.method == "to" or found.call.name.startswith("torch.")):
        return None  # what others make with a device may return tensors of the CPU
    settings = found.settings
    values = [part for s in settings if s.name == "device.name" for part in alternatives_of(s.value)]
    return all(isinstance(one, Known) and str(one.value).split(":")[0] == "mps" for one in values) if values else None


def _device_of(call: ast.Call) -> ast.expr | None:
    """Return the expression that may name the device of what torch makes or moves: the first argument of `.to()`, else `device=`."""
    is_move = called_name(call) == "to"
    if not is_move and not plain_text(call.func).startswith("torch."):
        return None
    named = next((keyword.value for keyword in call.keywords if keyword.arg == "device"), None)
    return call.args[0] if named is None and is_move and call.args else named
