"""What Python's own functions and the methods of its constants, lists and dicts return."""

from __future__ import annotations

import ast
import builtins
import itertools
import math
import sys
from collections.abc import Sequence

from mpslint.facts.joined import join, join_all
from mpslint.facts.values import (
    UNKNOWN,
    Bound,
    Class,
    DictEntry,
    Function,
    Instance,
    Items,
    Known,
    Mapping,
    OneOf,
    Symbol,
    Value,
    alternatives_of,
    weakened,
)
from mpslint.program import lists
from mpslint.program.arguments import CallArguments
from mpslint.program.executed import execute_file
from mpslint.program.machine import Walker
from mpslint.program.operators import is_one_index

LONGEST_TEXT = 1 << 16
PURE = frozenset(["int", "float", "str", "bool", "abs", "round", "len", "min", "max", "sum", "complex", "repr"])
STRING_METHODS = frozenset(
    [
        "lower",
        "upper",
        "strip",
        "lstrip",
        "rstrip",
        "title",
        "capitalize",
        "replace",
        "split",
        "rsplit",
        "startswith",
        "endswith",
        "format",
        "join",
        "partition",
        "rpartition",
        "removeprefix",
        "removesuffix",
        "find",
        "count",
        "isdigit",
        "isnumeric",
        "casefold",
        "zfill",
    ]
)
CONTAINERS = frozenset({"dict", "list", "tuple"})
ITERATING = frozenset({"enumerate", "iter", "list", "set", "tuple", "zip"})
"""They call `__iter__` of what they are given at once."""
MOST_CHOICES = 16
"""Combinations of arguments that are each one of a few values, for which the result is worked out."""


def call_builtin(m: Walker, name: str, arguments: CallArguments, node: ast.Call) -> Value | None:
    """Return what a builtin returns; None when it is to be treated as something outside."""
    values = [argument.value for argument in arguments.positional]
    if name in ITERATING and not m.is_silent:
        m.facts.iterated += [(value, m.context) for value in values if isinstance(value, Instance)]
    if name in PURE:
        return _pure(name, values, arguments, node)
    if name in ("list", "tuple", "set", "frozenset", "sorted", "reversed"):
        return _container(name, values, arguments, node)
    if name == "dict":
        return _dict(values, arguments, node)
    if name == "getattr" and len(values) >= 2 and isinstance(values[1], Known) and isinstance(values[1].value, str):
        return _getattr(m, values, node)
    if name == "hasattr" and len(values) == 2 and isinstance(values[1], Known):
        return _hasattr(m, values[0], values[1], node)
    if name == "callable" and len(values) == 1 and isinstance(values[0], (Known, Items, Mapping, Class, Function, Bound)):
        return Known(isinstance(values[0], (Class, Function, Bound)), node)
    if name in ("setattr", "object.__setattr__") and len(values) == 3:
        return _setattr(m, values[0], values[1], values[2], node)
    if name == "vars" and len(values) == 1:
        return m.attribute(values[0], "__dict__", node)
    if name == "exec":
        return execute_file(m, node)
    if name == "isinstance" and len(values) == 2:
        return _isinstance(values[0], values[1], node)
    if name == "type" and len(values) == 1 and (kind := _container_of(values[0])):
        return Symbol(f"builtins.{kind}", node)
    if name == "super":
        return _super(m)
    if name in (
        "print",
        "input",
        "open",
        "zip",
        "enumerate",
        "map",
        "filter",
        "range",
        "next",
        "iter",
        "type",
        "id",
        "any",
        "all",
    ):
        if name in ("map", "filter"):
            return _mapped(values, node) if name == "map" and len(values) == 2 else None
        if name not in ("range", "enumerate", "zip", "iter"):
            return UNKNOWN
        return Instance(f"builtins.{name}", owner=next((value for value in values if isinstance(value, Instance)), None))
    return None


def _container_of(value: Value) -> str:
    """Return the name of the kind of a dict, a list or a constant; '' for what may be something else, such as a device."""
    if isinstance(value, Mapping) and value.owner is None:
        return "dict"
    if isinstance(value, Items):
        return value.kind
    return type(value.value).__name__ if isinstance(value, Known) and not value.source else ""


def _isinstance(value: Value, asked: Value, node: ast.Call) -> Value:
    """Return whether a value is a dict, a list or a tuple, where only these are asked for."""
    kinds = asked.values() if isinstance(asked, Items) and not asked.open else [asked]
    names = [kind.name.removeprefix("builtins.") if isinstance(kind, Symbol) else "" for kind in kinds]
    kind = _container_of(value)
    is_weak = isinstance(value, Known) and value.weak
    return Known(kind in names, node, is_weak) if kind and CONTAINERS.issuperset(names) else UNKNOWN


def _setattr(m: Walker, owner: Value, name: Value, value: Value, node: ast.Call) -> Value:
    """Write an attribute whose name is a value; where it is one of several names, each may have kept what it was."""
    names = [one.value for one in alternatives_of(name) if isinstance(one, Known) and isinstance(one.value, str)]
    for one in names if isinstance(owner, Instance) else ():
        old = m.attribute(owner, one, node)
        m.store.write(owner.slots, one, value if len(names) == 1 else join(old, value))  # type: ignore[union-attr]
    return Known(None, node)


def _super(m: Walker) -> Value:
    """Return the object of the current method as one of its class's first base: the same attributes, the base's methods."""
    own = m.frame.slots.get("self")
    function = m.functions.get(id(m.context.functions[-1])) if m.context.functions else None
    if not isinstance(own, Instance) or function is None or function.cls is None:
        return UNKNOWN
    base = function.cls.bases[0] if function.cls.bases else None
    if isinstance(base, Class):
        return Instance(base.node.name, call=own.call, slots=own.slots, cls=base)
    return Instance(base.name, call=own.call, slots=own.slots) if isinstance(base, Symbol) else Instance("")


def _pure(name: str, values: list[Value], arguments: CallArguments, node: ast.Call) -> Value:
    if name == "len" and len(values) == 1 and isinstance(values[0], Items) and not values[0].open and values[0].kind != "set":
        return Known(len(values[0].slots), node)
    if name == "str" and len(values) == 1 and isinstance(values[0], Known) and values[0].source:
        return values[0]
    if not values and not arguments.keywords and name != "len":
        return UNKNOWN if name in ("min", "max", "sum", "abs", "round", "repr") else Known(getattr(builtins, name)(), node)
    if name in ("min", "max") and len(values) == 1 and isinstance(values[0], Items) and not values[0].open and values[0].slots:
        values = values[0].values()
    choices = [alternatives_of(value) for value in values]
    if any(isinstance(value, OneOf) for value in values) and math.prod(map(len, choices)) <= MOST_CHOICES:
        return join_all([_pure(name, list(chosen), arguments, node) for chosen in itertools.product(*choices)])
    if arguments.is_open or arguments.keywords or not all(isinstance(value, Known) for value in values):
        return UNKNOWN
    constants = [value.value for value in values if isinstance(value, Known)]
    if any(isinstance(constant, (str, bytes)) and len(constant) > 4096 for constant in constants):
        return UNKNOWN
    try:
        result = getattr(builtins, name)(*constants)
    except (TypeError, ValueError, ArithmeticError):
        return UNKNOWN
    return Known(result, node, any(isinstance(value, Known) and value.weak for value in values))


def _mapped(values: Sequence[Value], node: ast.Call) -> Value | None:
    """Return what a function such as `int` makes of constants; None for anything else."""
    function, given = values
    kind = function.name.removeprefix("builtins.") if isinstance(function, Symbol) else ""
    if kind not in PURE or not isinstance(given, Items) or given.open or len(given.slots) > MOST_CHOICES:
        return None
    made = [_pure(kind, [one], CallArguments((), {}, False), node) for one in given.values()]
    return Items("list", dict(enumerate(made)), node) if all(isinstance(one, Known) for one in made) else None


def _container(name: str, values: list[Value], arguments: CallArguments, node: ast.Call) -> Value:
    kind = {"tuple": "tuple", "set": "set", "frozenset": "set"}.get(name, "list")
    if not values and not arguments.is_open:
        return Items(kind, {}, node)
    if len(values) == 1 and isinstance(values[0], Items):
        ordered = name in ("list", "tuple") and values[0].kind != "set"
        return Items(kind, dict(values[0].slots), node, values[0].open) if ordered else Items(kind, {}, node, open=True)
    return Items(kind, {}, node, open=True)


def _dict(values: list[Value], arguments: CallArguments, node: ast.Call) -> Value:
    result = Mapping({}, node, arguments.is_open)
    for value in values:
        if isinstance(value, Mapping):
            result.slots.update(value.slots)
            result.is_open = result.is_open or value.is_open
        else:
            result.is_open = True
    for name, argument in arguments.keywords.items():
        result.slots[name] = DictEntry(argument.value, argument.node)
    return result


def _getattr(m: Walker, values: list[Value], node: ast.Call) -> Value:
    name = values[1].value if isinstance(values[1], Known) else ""
    found = m.attribute(values[0], name, node)
    if len(values) == 3 and isinstance(found, Symbol) and found.name.split(".")[0] in sys.stdlib_module_names:
        return UNKNOWN  # this system may lack it
    if len(values) == 2 or isinstance(values[0], Symbol):
        return found
    if _has_method(m, values[0], str(name)):
        return Bound(values[0], str(name))
    if (
        isinstance(values[0], Instance)
        and name in values[0].slots
        and not (isinstance(found, Instance) and found.owner is values[0] and not found.slots)
    ):
        return found
    return join(found, values[2]) if isinstance(found, Known) else UNKNOWN


def _hasattr(m: Walker, owner: Value, name: Known, node: ast.Call) -> Value:
    if isinstance(owner, Symbol) and m.platform.has(m.platform.normalise(f"{owner.name}.{name.value}")):
        return Known(True, node, source="hasattr")
    if isinstance(owner, Instance) and owner.cls is not None and name.value in owner.slots:
        return Known(True, node)
    return Known(True, node) if _has_method(m, owner, str(name.value)) else UNKNOWN


def _has_method(m: Walker, owner: Value, name: str) -> bool:
    """Return whether an object certainly has a method of a library's class."""
    if not isinstance(owner, Instance):
        return False
    bases = owner.cls.outside_bases() if owner.cls is not None else ()
    return m.platform.has_method((owner.name, *bases), name)


def call_method(m: Walker, bound: Bound, arguments: CallArguments, node: ast.Call) -> Value:
    """Return what a method of a constant, a list or a dict returns, and do to it what the method does."""
    receiver = bound.receiver
    if isinstance(receiver, Known):
        value = _constant_method(receiver, bound.name, arguments, node)
        device = m.platform.device_of_any_index(receiver.value) if value is UNKNOWN and bound.name == "format" else ""
        return Known(device, node, receiver.weak) if device and all(is_one_index(one) for one in node.args) else value
    if isinstance(receiver, Mapping):
        return _mapping_method(m, receiver, bound.name, arguments, node)
    if isinstance(receiver, Items):
        return lists.call_method(m, receiver, bound.name, arguments, node)
    return UNKNOWN


def _constant_method(receiver: Known, name: str, arguments: CallArguments, node: ast.Call) -> Value:
    values = [argument.value for argument in arguments.positional]
    if name == "join" and len(values) == 1 and isinstance(values[0], Items) and not values[0].open:
        items = values[0].values()
        texts = [item.value for item in items if isinstance(item, Known) and isinstance(item.value, str)]
        if len(texts) < len(items) or sum(map(len, texts)) + len(texts) * len(str(receiver.value)) > LONGEST_TEXT:
            return UNKNOWN
        return Known(str(receiver.value).join(texts), node)
    known = all(isinstance(value, Known) for value in values) and not arguments.is_open
    keywords = {key: argument.value for key, argument in arguments.keywords.items()}
    if not known or name not in STRING_METHODS or not all(isinstance(value, Known) for value in keywords.values()):
        return UNKNOWN
    if not isinstance(receiver.value, str) or len(receiver.value) > LONGEST_TEXT or "{:" in receiver.value:
        return UNKNOWN
    constants = [value.value for value in values if isinstance(value, Known)]
    if any((isinstance(constant, (str, bytes)) and len(constant) > 4096) or constant == 0 for constant in constants if name != "format"):
        return UNKNOWN
    if name == "zfill" or (name == "replace" and len(receiver.value) > 4096):
        return UNKNOWN
    try:
        result = getattr(receiver.value, name)(*constants, **{k: v.value for k, v in keywords.items() if isinstance(v, Known)})
    except (TypeError, ValueError, LookupError, AttributeError):
        return UNKNOWN
    if isinstance(result, (list, tuple)):
        return Items("list", {index: Known(part, node, receiver.weak) for index, part in enumerate(result[:256])}, node)
    is_same = result == receiver.value  # `"cuda".strip().lower()` was decided where "cuda" was
    return Known(result, receiver.origin if receiver.source or is_same else node, receiver.weak, receiver.source)


def _mapping_method(m: Walker, receiver: Mapping, name: str, arguments: CallArguments, node: ast.Call) -> Value:
    first = arguments.first()
    if name in ("get", "pop", "setdefault") and isinstance(first, Known):
        entry: DictEntry | None = receiver.slots.get(first.value) if first.value.__hash__ is not None else None
        default = arguments.positional[1].value if len(arguments.positional) > 1 else Known(None, node)
        if name == "pop" and entry is not None:
            m.store.delete(receiver.slots, first.value)
        if name == "setdefault" and entry is None and not receiver.is_open:
            m.store.write(receiver.slots, first.value, DictEntry(default, arguments.positional[-1].node))
        if entry is not None:
            return entry.value
        if not receiver.is_open:
            return default
        return weakened(default) if name == "setdefault" else UNKNOWN
    if name == "update":
        others = [argument.value for argument in arguments.positional]
        for other in others:
            if isinstance(other, Mapping):
                for key, entry in other.slots.items():
                    m.write_entry(receiver, key, entry)
            _forget(m, receiver, other)
        for key, argument in arguments.keywords.items():
            m.write_entry(receiver, key, DictEntry(argument.value, argument.node))
        if arguments.is_open:
            _forget(m, receiver, UNKNOWN)
        return Known(None, node)
    if name == "copy":
        return Mapping(dict(receiver.slots), receiver.origin, receiver.is_open)
    if name in ("items", "values", "keys"):
        return Items("list", {}, node, open=True)
    if name in ("clear", "popitem"):
        _forget(m, receiver, UNKNOWN)
    return UNKNOWN


def _forget(m: Walker, receiver: Mapping, other: Value) -> None:
    """After an update with something not fully known, no entry that it may have replaced is known."""
    if isinstance(other, Mapping) and not other.is_open:
        return
    written = other.slots if isinstance(other, Mapping) else {}
    for key, entry in list(receiver.slots.items()):
        if key not in written:
            m.write_entry(receiver, key, DictEntry(weakened(entry.value), entry.node))
    receiver.is_open = True
