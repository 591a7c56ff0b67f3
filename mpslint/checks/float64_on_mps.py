"""float64 that is put on the Mac's GPU, where it does not exist. Only where the value is followed from its dtype to the device."""

from __future__ import annotations

import ast
import fnmatch
import functools
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field, replace
from typing import Any

from mpslint.checks._models import model_texts, plain_text
from mpslint.checks._placed import Placed
from mpslint.checks._wide import Wide
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
    yield options["doubles"], ["torch"]
    yield options["parts"], options["tensors"]
    yield options["loaders"]["loads"], ["Dataset"], ["float"]


GATE = Gate(
    words=("float64", "double", "from_numpy", "tensor", "64", "(float", "=float", "= float", "Double", "loader", "Loader"), ways=_ways
)


def find(evidence: Evidence, options: Mapping[str, Any]) -> Iterator[Match]:
    """Yield what makes a value float64 that goes to the Mac's GPU.

    Options: `dtypes` and `array_dtypes`, the names of float64; `modules`, the classes whose casts change the object itself; `outputs`, what
    lies beside them but is a tensor, such as what a layer returns; `defaults`, what sets a default dtype. What is float64 by itself:
    `arrays`, the functions of NumPy that return it unless told otherwise, by the position of their dtype; `shapes`, those of them that
    return a number unless they are given a shape, by its position; `numbers`, those that make a number of a number; `parts`, functions of
    whose results some parts are, by number; `doubles`, other functions. What hands it on: `tensors`, which make tensors of an array;
    `gathers`, other functions; `reductions`, those that make a number of an array; `lists`, those that make an array of floats; `loaders`,
    what loads data sets, by what it does; `keeps`, methods and attributes.
    """
    matched = {id(m.call): m for m in evidence.file_plans.matched}
    by_node = {id(m.call.node): m for m in evidence.file_plans.matched}
    finder = _Finder(evidence, options, by_node)
    for call in evidence.facts.calls:
        if is_certain(replace(call.context, called=True)):  # whoever calls it, the move raises
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
        elif (maker := self._made_wide(call, placed, dtype) or self._put_by_tensor(call, placed, dtype)) is not None:
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
        if "device" in call.keywords:
            return
        if call.name.startswith("torch.") and call.name.endswith("_like") and self._is_wide(call.keywords.get("dtype")):
            if call.node.args and self._tensors.holds(call.node.args[0]):
                yield self._match(call, call)
            return
        if not isinstance(func, ast.Attribute):
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
        is_other = call.method == "to" and (first := _first(call)) is not None and isinstance(first.value, (Unknown, Instance))
        if is_other and not self._tensors.names_gpu(call.node.args[0]):
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

    def _made_wide(self, call: Call, placed: bool, dtype: str) -> Call | None:
        """Return the call that made a tensor float64 which goes to the GPU as it is: of a float64 array
        (`torch.from_numpy(np.random.rand(3)).to("mps")`), or by its dtype (`torch.ones(3, dtype=torch.float64).to("mps")`)."""
        if not placed or dtype:
            return None
        if call.name in self.options["tensors"] and "dtype" not in call.keywords and self._is_array(_first(call)):
            return call
        receiver = call.receiver
        if not isinstance(receiver, Instance) or receiver.call is None or id(receiver) in self.cast:
            return None
        maker = receiver.call
        if maker.name in self.options["tensors"] and "dtype" not in maker.keywords and self._is_array(_first(maker)):
            return maker
        return maker if maker.name.startswith("torch.") and self._is_wide(maker.keywords.get("dtype")) else None

    def _is_array(self, argument: Argument | None) -> bool:
        value = argument.value if argument is not None else None
        while isinstance(value, Instance) and value.name.endswith("[]") and value.owner is not None:
            value = value.owner  # a part of an array has its dtype
        return isinstance(value, Instance) and value.call is not None and self._widths.is_array(value.call)

    def _put_by_tensor(self, call: Call, placed: bool, dtype: str) -> Call | None:
        """Return the call that makes float64 of what a call puts on the GPU, where its device or its dtype is only seen by what is
        written: `torch.zeros(3, dtype=torch.float64, device=x.device)`, `torch.tensor(2 * np.ones(3)).to(x.device)`."""
        func = call.node.func
        is_model = isinstance(call.receiver, Instance) and self._is_module(call.receiver)
        is_model = is_model or (isinstance(func, ast.Attribute) and plain_text(func.value) in model_texts(self.evidence))
        if is_model or dtype not in ("", "float64") or not (placed or self._tensors.is_put(call.node)):
            return None
        if dtype:
            return call
        if not call.method:
            return call if self._widths.is_wide(call.node) else None
        if not isinstance(func, ast.Attribute) or not self._widths.is_wide(func.value):
            return None
        maker = self._calls.get(id(func.value))
        return maker if maker is not None and maker.name in self.options["tensors"] else call

    @functools.cached_property
    def _widths(self) -> Wide:
        return Wide(self.evidence, self.options)

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
    if call is None or array is None or call.method or {"device", "dtype"} & call.keywords.keys() or not isinstance(array.value, Instance):
        return None
    end = evidence.span_of(call.node).end
    return WrittenSetting((Edit(Span(end, end), ".float()"),), ".float()")
