"""float64 that is put on the Mac's GPU, where it does not exist. Only where the value is followed from its dtype to the device."""

from __future__ import annotations

import ast
import fnmatch
import functools
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field
from typing import Any

from mpslint.checks._placed import Placed
from mpslint.core.finding import Edit, Related, Span
from mpslint.core.record import record
from mpslint.facts.values import Argument, Call, Instance, Known, Symbol, Unknown, Value, alternatives_of
from mpslint.program.walk import walk
from mpslint.rule.check import Gate
from mpslint.rule.guards import is_certain
from mpslint.rule.judge import Match
from mpslint.settings.evidence import Evidence
from mpslint.settings.plan import Matched
from mpslint.settings.spelling import WrittenSetting

DEVICE, WEIGHTS = "device.name", "precision.weights"


def _ways(options: Mapping[str, Any]) -> Iterator[tuple[Iterable[str], ...]]:
    """Yield the words for a dtype that is named, and those for an array that becomes a tensor: one of each stands in a file."""
    yield (options["dtypes"],)
    yield options["tensors"], ["numpy"], [*options["arrays"], *options["numbers"]]


GATE = Gate(words=("float64", "double", "from_numpy", "tensor", "64"), ways=_ways)


def find(evidence: Evidence, options: Mapping[str, Any]) -> Iterator[Match]:
    """Yield what makes a value float64 that goes to the Mac's GPU.

    Options: `arrays`, the functions of NumPy that return float64 unless told otherwise, by the position of their dtype; `numbers`, those
    that return a float64 number for a number of Python's; `tensors`, those that keep an array's dtype; `dtypes`, the names of float64;
    `modules`, the classes whose casts change the object itself; `outputs`, what lies beside them but is a tensor, such as what a layer
    returns; `defaults`, what sets a default dtype.
    """
    matched = {id(m.call): m for m in evidence.file_plans.matched}
    by_node = {id(m.call.node): m for m in evidence.file_plans.matched}
    finder = _Finder(evidence, options, by_node)
    for call in evidence.facts.calls:
        if is_certain(call.context):
            yield from finder.of_call(call, matched.get(id(call)))
            yield from finder.of_cast(call)


@record(frozen=True, eq=False)
class _Finder:
    """What is known of objects on the way through the calls of a file."""

    evidence: Evidence
    options: Mapping[str, Any]
    by_node: Mapping[int, Matched]
    wide: dict[int, Call] = field(default_factory=dict)
    """Modules that were made float64, by what did it."""
    placed: set[int] = field(default_factory=set)
    """Modules that are on the Mac's GPU."""
    cast: set[int] = field(default_factory=set)
    """Objects that were given another dtype at some point."""

    def of_call(self, call: Call, found: Matched | None) -> Iterator[Match]:
        """Yield what one call puts together."""
        placed, dtype = _goes_to_mps(found), self._dtype_of(call, found)
        if placed and dtype == "float64":
            yield self._match(call, call)
        elif placed and not dtype and (wide := self._chained(call)) is not None:
            yield self._match(wide, call)
        elif placed and not dtype and (maker := self._made_of_array(call) or self._made_wide(call)) is not None:
            yield self._match(maker, call)
        elif call.name in self.options["defaults"] and self.evidence.runs_on("mps") and self._is_wide(_first(call)):
            yield self._match(call, call)
        if isinstance(call.receiver, Instance) and self._is_module(call.receiver):
            yield from self._of_module(call, call.receiver, placed, dtype)
        elif isinstance(call.receiver, Instance) and dtype:
            self.cast.add(id(call.receiver))

    def of_cast(self, call: Call) -> Iterator[Match]:
        """Yield a cast to float64 of a tensor that is on the GPU: `x.double()`, `x.to(torch.float64)`, `x.sum(dtype=torch.double)`."""
        func = call.node.func
        if not isinstance(func, ast.Attribute) or "device" in call.keywords:
            return
        is_cast = call.method in ("to", "type") and self._is_wide(_first(call))
        is_wide = call.method == "double" or is_cast or self._is_wide(call.keywords.get("dtype"))
        is_module = isinstance(call.receiver, Instance) and self._is_module(call.receiver)
        if is_wide and not is_module and self._tensors.holds(func.value):
            yield self._match(call, call)

    @functools.cached_property
    def _tensors(self) -> Placed:
        return Placed(self.evidence, self._is_move)

    def _is_move(self, node: ast.Call) -> bool | None:
        """Return whether a call puts something on the GPU; None where it names no device."""
        found = self.by_node.get(id(node))
        if found is None or not any(s.name == DEVICE for s in found.settings):
            return None
        return _goes_to_mps(found)

    def _of_module(self, call: Call, module: Instance, placed: bool, dtype: str) -> Iterator[Match]:
        """Yield a cast to float64 of a module that is on the GPU, or that goes there afterwards."""
        key = id(module)
        if dtype == "float64" and not placed:
            if key in self.placed:
                yield self._match(call, call)
            self.wide[key] = call
        elif dtype:
            self.wide.pop(key, None)
        if placed:
            if key in self.wide and dtype != "float64" and not _is_part(self.wide[key].node, call.node):
                yield self._match(self.wide[key], call)
            self.placed.add(key)

    def _dtype_of(self, call: Call, found: Matched | None) -> str:
        """Return the dtype that a call asks for, '' where it asks for none or is not known."""
        if call.method == "float":
            return "float32"
        if call.method == "type" and (call.arguments or call.keywords):
            return "float64" if self._is_wide(_first(call) or call.keywords.get("dtype")) else "other"
        if call.method == "to" and len(call.arguments) > 1 and isinstance(call.arguments[1].value, (Symbol, Unknown, Instance)):
            return "float64" if self._is_wide(call.arguments[1]) else "other"  # `x.to("mps", torch.float)`
        if call.method == "to" and (first := _first(call)) is not None and isinstance(first.value, (Unknown, Instance)):
            return "other"  # `x.to(dtype)`, `x.to(y)`: it may be a dtype, or a tensor that has one
        for setting in found.settings if found is not None else ():
            if setting.name == WEIGHTS and setting.is_known:
                return str(setting.constant)
        return "float64" if self._is_wide(call.keywords.get("dtype")) else "other" if "dtype" in call.keywords else ""

    def _is_wide(self, argument: Argument | None) -> bool:
        return argument is not None and isinstance(argument.value, Symbol) and argument.value.name in self.options["dtypes"]

    def _chained(self, call: Call) -> Call | None:
        """Return the cast to float64 that a call is chained to: `x.double().to("mps")`."""
        func = call.node.func
        inner = func.value if isinstance(func, ast.Attribute) else None
        inner_call = self._calls.get(id(inner))
        return inner_call if inner_call is not None and self._dtype_of(inner_call, self.by_node.get(id(inner))) == "float64" else None

    @functools.cached_property
    def _calls(self) -> Mapping[int, Call]:
        """The calls of the file, by the id of their node."""
        return {id(call.node): call for call in self.evidence.facts.calls}

    def _made_of_array(self, call: Call) -> Call | None:
        """Return the call that made the tensor of a float64 array: `torch.from_numpy(np.random.rand(3)).to("mps")`."""
        if call.name in self.options["tensors"] and "dtype" not in call.keywords and self._is_array(_first(call)):
            return call
        receiver = call.receiver
        if not isinstance(receiver, Instance) or receiver.call is None or id(receiver) in self.cast:
            return None
        maker = receiver.call
        if maker.name in self.options["tensors"] and "dtype" not in maker.keywords and self._is_array(_first(maker)):
            return maker
        return None

    def _made_wide(self, call: Call) -> Call | None:
        """Return the call that made the tensor float64: `torch.ones(3, dtype=torch.float64).to("mps")`."""
        receiver = call.receiver
        if not isinstance(receiver, Instance) or receiver.call is None or id(receiver) in self.cast:
            return None
        maker = receiver.call
        return maker if maker.name.startswith("torch.") and self._is_wide(maker.keywords.get("dtype")) else None

    def _is_array(self, argument: Argument | None) -> bool:
        """Return whether an argument is of NumPy's float64: an array, what computing with one gives, or a list of such numbers."""
        return argument is not None and (self._is_wide_array(argument.value) or self._is_computed_wide(argument.node))

    def _is_computed_wide(self, node: ast.AST | None) -> bool:
        if isinstance(node, ast.UnaryOp):
            return self._is_computed_wide(node.operand)
        if isinstance(node, (ast.BinOp, ast.List, ast.Tuple)):
            parts: list[ast.expr] = [node.left, node.right] if isinstance(node, ast.BinOp) else node.elts
            are_wide = [self._is_computed_wide(part) for part in parts]
            return any(are_wide) and all(wide or _is_number(part) for wide, part in zip(are_wide, parts, strict=True))
        call = self._calls.get(id(node))
        if call is None or call.name not in self.options["numbers"]:
            return call is not None and self._is_wide_array(call.result)
        number = _first(call)
        is_number = number is not None and all(
            isinstance(one, Known) and isinstance(one.value, (int, float)) for one in alternatives_of(number.value)
        )
        return is_number and len(call.arguments) == 1 and "dtype" not in call.keywords

    def _is_wide_array(self, value: Value | None) -> bool:
        while isinstance(value, Instance) and value.name.endswith("[]") and value.owner is not None:
            value = value.owner  # a part of an array has its dtype
        if (
            not isinstance(value, Instance)
            or value.call is None
            or "dtype" in value.call.keywords
            or value.name not in self.options["arrays"]
        ):
            return False
        position = self.options["arrays"][value.name]
        return position is None or len(value.call.arguments) <= position

    def _is_module(self, value: Value) -> bool:
        """Return whether a cast changes the object itself, as it does for modules but not for tensors."""
        if not isinstance(value, Instance):
            return False
        if value.cls is None and any(fnmatch.fnmatchcase(value.name, glob) for glob in self.options["outputs"]):
            return False
        bases = value.cls.outside_bases() if value.cls is not None else (value.name,)
        return any(fnmatch.fnmatchcase(base, glob) for base in bases for glob in self.options["modules"])

    def _match(self, wide: Call, placed: Call) -> Match:
        span = self.evidence.span_of(wide.node)
        written = self.evidence.document.text[span.start : span.end]
        related = () if wide is placed else (Related(self.evidence.span_of(placed.node), "it goes to the Mac's GPU here"),)
        return Match(span, {"written": written}, call=wide, context=placed.context, related=related, node=wide.node)


def _is_number(node: ast.expr) -> bool:
    """Return whether an expression is a number of Python's own, which takes another one's precision."""
    node = node.operand if isinstance(node, ast.UnaryOp) else node
    return isinstance(node, ast.Constant) and isinstance(node.value, (int, float))


def _first(call: Call) -> Argument | None:
    return call.arguments[0] if call.arguments else None


def _goes_to_mps(found: Matched | None) -> bool:
    """Return whether a call puts something on the Mac's GPU, whatever path was taken."""
    if found is None or found.pattern.role not in ("placement", "factory"):
        return False
    settings = [s for s in found.settings if s.name == DEVICE]
    return bool(settings) and all(
        isinstance(value, Known) and str(value.value).split(":")[0] == "mps" for s in settings for value in alternatives_of(s.value)
    )


def _is_part(inner: ast.AST, outer: ast.AST) -> bool:
    return any(node is inner for node in walk(outer))


def rewrite(match: Match, evidence: Evidence) -> WrittenSetting | None:
    """Return the edit that makes a tensor float32 right where it is made of a float64 array."""
    call = match.call
    array = _first(call) if call is not None else None
    if call is None or array is None or call.method or "device" in call.keywords or not isinstance(array.value, Instance):
        return None
    end = evidence.span_of(call.node).end
    return WrittenSetting((Edit(Span(end, end), ".float()"),), ".float()")
