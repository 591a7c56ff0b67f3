"""Which expressions of a program are float64 for sure: arrays of NumPy, and tensors that keep their dtype."""

from __future__ import annotations

import ast
import functools
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from mpslint.checks._collated import Collated, opened
from mpslint.checks._given import given_in
from mpslint.core.record import record
from mpslint.facts.values import Argument, Call, Known, Symbol, alternatives_of
from mpslint.rule.guards import is_certain
from mpslint.settings.evidence import Evidence

DEEPEST = 8


@record(frozen=True, eq=False)
class Wide:
    """Answers for one program. `options` are those of the check `float64_on_mps`."""

    evidence: Evidence
    options: Mapping[str, Any]

    def is_wide(self, node: ast.expr, depth: int = DEEPEST) -> bool:
        """Return whether an expression is a float64 array or tensor; False where that is not known."""
        if depth <= 0:
            return False
        if isinstance(node, ast.Name):
            return given_in(self.evidence).is_any(node, lambda one: self.is_wide(one, depth - 1))
        if isinstance(node, ast.Attribute):
            is_same = node.attr in self.options["keeps"] and self.is_wide(node.value, depth - 1)
            return is_same or given_in(self.evidence).is_every_attribute(node, lambda one: self.is_wide(one, depth - 1))
        if isinstance(node, ast.Subscript):
            return self._is_wide_part(node, depth)
        if isinstance(node, ast.UnaryOp):
            return not isinstance(node.op, ast.Not) and self.is_wide(node.operand, depth - 1)
        if isinstance(node, ast.BinOp):
            sides = [one for one in (node.left, node.right) if self.is_wide(one, depth - 1)]
            others = [one for one in (node.left, node.right) if one not in sides]
            are_numbers = all(self._is_number(one, depth - 1) for one in sides)  # a tensor beside one keeps its dtype
            return bool(sides) and (not are_numbers or all(isinstance(one, ast.Constant) for one in others))
        return isinstance(node, ast.Call) and self._is_wide_call(node, depth)

    def names_float64(self, argument: Argument | None) -> bool:
        """Return whether an argument is the dtype float64, of torch, of NumPy or by name."""
        value = argument.value if argument is not None else None
        named = value.name if isinstance(value, Symbol) else value.value if isinstance(value, Known) else None
        return named in self.options["dtypes"] or named in self.options["array_dtypes"]

    def _is_wide_part(self, node: ast.Subscript, depth: int) -> bool:
        """Return whether a part of something is float64: of an array; of the parts of a result, where they have dtypes of their own."""
        call = self._fact(node.value) if isinstance(node.value, ast.Call) else None
        if call is not None and (parts := _first_of(call, self.options["parts"])) is not None:
            return isinstance(node.slice, ast.Constant) and node.slice.value in parts
        base, keys = opened(node)
        return self.is_wide(node.value, depth - 1) or (bool(keys) and self._collated.is_every_part(base, keys, self._is_wide_item, depth))

    def _is_wide_item(self, node: ast.expr) -> bool:
        """Return whether default_collate makes float64 of what a data set returns: of float64, and of Python's floats."""
        is_float = isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "float"
        return is_float or (isinstance(node, ast.Constant) and isinstance(node.value, float)) or self.is_wide(node)

    def _is_wide_call(self, node: ast.Call, depth: int) -> bool:
        call = self._fact(node)
        if call is None:
            return False
        first = node.args[0] if node.args else None
        dtype = call.keywords.get("dtype")
        if dtype is not None:
            return self.names_float64(dtype) and call.name.startswith(("torch.", "numpy."))
        if self.is_array(call) or call.name in self.options["doubles"] or self._is_wide_number(call):
            return True
        if self._is_reduction(call):
            array = first if call.name in self.options["reductions"] else getattr(node.func, "value", None)
            return array is not None and self.is_wide(array, depth - 1)
        if call.name in (*self.options["tensors"], *self.options["gathers"]) and first is not None:
            return self._is_wide_content(first, depth, call.name in self.options["lists"])
        owner = node.func.value if isinstance(node.func, ast.Attribute) else None
        if owner is None or not call.method:
            return False
        if call.method in ("astype", "to", "type", "double"):
            return call.method == "double" or self.names_float64(call.arguments[0] if call.arguments else None)
        return call.method in self.options["keeps"] and self.is_wide(owner, depth - 1)

    def _is_wide_content(self, node: ast.expr, depth: int, of_numbers: bool) -> bool:
        """Return whether what a tensor or array is made of is float64: an array, a list with one, with `of_numbers` a list of floats."""
        if isinstance(node, (ast.List, ast.Tuple)):
            return any(self._is_wide_content(one, depth - 1, of_numbers) for one in node.elts)
        if isinstance(node, ast.UnaryOp) and isinstance(node.operand, ast.Constant):
            node = node.operand
        if isinstance(node, ast.Constant):
            return of_numbers and isinstance(node.value, float)
        return self.is_wide(node, depth - 1)

    def is_array(self, call: Call) -> bool:
        """Return whether a call of NumPy returns a float64 array: it is given no dtype, and a shape where it returns a number else."""
        if call.name not in self.options["arrays"] or "dtype" in call.keywords:
            return False
        position = self.options["arrays"][call.name]
        if position is not None and len(call.arguments) > position:
            return False
        shape = self.options["shapes"].get(call.name)
        return shape is None or len(call.arguments) > shape or "size" in call.keywords

    def _is_number(self, node: ast.expr, depth: int) -> bool:
        """Return whether what is float64 is a number of NumPy's, not an array or a tensor."""
        if depth <= 0:
            return True
        if isinstance(node, ast.Name):
            return given_in(self.evidence).is_any(node, lambda one: self._is_number(one, depth - 1))
        if isinstance(node, ast.UnaryOp):
            return self._is_number(node.operand, depth - 1)
        if isinstance(node, ast.BinOp):
            return self._is_number(node.left, depth - 1) and self._is_number(node.right, depth - 1)
        call = self._fact(node) if isinstance(node, ast.Call) else None
        return isinstance(node, ast.Constant) or (call is not None and (self._is_wide_number(call) or self._is_reduction(call)))

    def _is_reduction(self, call: Call) -> bool:
        """Return whether a call makes one number of an array, as `np.mean(a)` and `a.mean()` do."""
        is_method = bool(call.method) and not call.arguments  # of `x.max(1)[1]`, the indices aren't float64
        return call.name in self.options["reductions"] or (is_method and f"numpy.{call.method}" in self.options["reductions"])

    def _is_wide_number(self, call: Call) -> bool:
        """Return whether NumPy makes a float64 of a number: `np.log(0.1)`, and not of an array or a tensor, which keep their dtype."""
        if call.name not in self.options["numbers"] or len(call.arguments) != 1:
            return False
        return all(isinstance(one, Known) and isinstance(one.value, (int, float)) for one in alternatives_of(call.arguments[0].value))

    def _fact(self, node: ast.Call) -> Call | None:
        """Return what is known of a call that no undecided test stands before; whether its function is called, others ask."""
        call = self._calls.get(id(node))
        return call if call is not None and is_certain(replace(call.context, called=True)) else None

    @functools.cached_property
    def _collated(self) -> Collated:
        names = {name: does for does, names in self.options["loaders"].items() for name in names}
        return Collated(given_in(self.evidence), self._calls, names)

    @functools.cached_property
    def _calls(self) -> Mapping[int, Call]:
        return {id(call.node): call for call in self.evidence.facts.calls}


def _first_of(call: Call, table: Mapping[str, Any]) -> Any:
    return next((table[name] for name in call.names if name in table), None)
