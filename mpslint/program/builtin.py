"""What Python's own functions and the methods of its constants, lists and dicts return."""

from __future__ import annotations

import ast
import builtins
import collections.abc
import itertools
import math
import sys
from collections.abc import Sequence
from dataclasses import replace
from string import Formatter

from mpslint.facts.joined import as_changed, join, join_all, truth
from mpslint.facts.paths import PathText
from mpslint.facts.values import (
    BASES,
    MAYBE,
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
    Slots,
    Symbol,
    Value,
    alternatives_of,
    is_weak,
    settled,
)
from mpslint.program import dicts, effects, iterating, lists
from mpslint.program.assignments import delete_attribute, write_attribute, write_to
from mpslint.program.attributes import is_whole_class, may_lack
from mpslint.program.executed import evaluate_text, execute_file, names_of
from mpslint.program.exits import Raised, ends, may_raise
from mpslint.program.machine import Walker
from mpslint.program.operators import NOT_PLAIN, TYPE_FROM_OUTSIDE, is_one_index, is_short, is_wide, or_unknown, plain_of
from mpslint.program.places import BOUNDED, MUTABLE, TYPES
from mpslint.tensors import gone_through, loaders
from mpslint.tensors.arguments import CallArguments
from mpslint.tensors.kinds import load_kinds
from mpslint.tensors.modules import unplace_within
from mpslint.tensors.signatures import load_signatures
from mpslint.tensors.traits import NUMBER, REAL, WHOLE, asked_for_tensor, has_dimensions, is_array, is_kind, is_tensor

LONGEST_TEXT = 1 << 16
PURE = frozenset(["int", "float", "str", "bool", "abs", "round", "len", "min", "max", "sum", "complex", "repr"])
PLAIN = frozenset(["int", "float", "str", "bool", "len", "complex", "repr"])
"""They give a number or a text, whatever they are given."""
STRING_METHODS = frozenset(
    (
        "lower upper strip lstrip rstrip title capitalize replace split rsplit startswith endswith format join partition rpartition "
        "removeprefix removesuffix find count isdigit isnumeric casefold zfill splitlines"
    ).split()
)
ITERATING = frozenset({"enumerate", "iter", "list", "set", "tuple", "zip"})
"""They call `__iter__` of what they are given at once."""
CONSUMING = frozenset({"list", "tuple", "set", "frozenset", "sorted", "dict", "sum", "any", "all", "min", "max"})
"""They go through what they are given at once."""
OF_CLASSES = ("fromkeys", "maketrans")
"""Methods that are asked of a class, and not of an object of it."""
COMPARING = frozenset({"sorted", "min", "max", "sum"})
"""They compare or add what they go through, which raises for some."""
MOST_CHOICES = 16
"""Combinations of arguments that are each one of a few values, for which the result is worked out."""


def call_builtin(m: Walker, name: str, arguments: CallArguments, node: ast.Call) -> Value | None:
    """Return what a builtin returns; None when it is to be treated as something outside."""
    values = [argument.value for argument in arguments.positional]
    kind, _, method = name.partition(".")
    is_method = kind in ("list", "dict", "set", "str") and method not in ("", *OF_CLASSES)
    if is_method and isinstance(arguments.first(), (Items, Mapping, Known)):
        rest = CallArguments(arguments.positional[1:], arguments.keywords, arguments.is_open, arguments.unpacked)
        return call_method(m, Bound(values[0], method), rest, node)
    if name in ITERATING and not m.is_silent:
        m.facts.iterated += [(value, m.context) for value in values if isinstance(value, Instance)]
    if name in PURE and not (name == "sum" and values and not isinstance(values[0], Known)):
        plain = _pure(name, values, arguments, node)
        return {"float": REAL, "int": WHOLE, "len": WHOLE}.get(name, NUMBER) if plain is UNKNOWN and name in PLAIN else plain
    if name in CONSUMING and any(map(lists.may_fail, values)):
        may_raise(m)
    if name in COMPARING and not all(isinstance(one, Known) for value in values if isinstance(value, Items) for one in value.values()):
        may_raise(m)
    if name in iterating.ITERATING and (found := iterating.call_iterating(m, name, arguments, node)) is not None:
        return found
    if name in ("list", "tuple", "set", "frozenset", "sorted", "reversed"):
        return _container(name, values, node)
    if name == "dict":
        return _dict(m, values, arguments, node)
    if (found := _of_attributes(m, name, values, node)) is not None:
        return found
    if name == "callable" and len(values) == 1 and isinstance(values[0], (Known, Items, Mapping, Class, Function, Bound)):
        return Known(isinstance(values[0], (Class, Function, Bound)), node)
    if name in ("property", "staticmethod", "classmethod") and values and isinstance(values[0], Function):
        return _decorated(name, values, arguments)
    if name in ("globals", "locals", "vars") and not values:
        return names_of(m, name)
    if name == "exec":
        return execute_file(m, node)
    if name == "eval" and values and not (isinstance(values[0], Known) and "(" not in str(values[0].value)):
        evaluate_text(m)
    if name == "isinstance" and len(values) == 2:
        return UNKNOWN if "__instancecheck__" in m.methods else _isinstance(values[0], values[1], node)
    if name == "type" and len(values) == 1 and isinstance(values[0], Instance) and values[0].cls is not None:
        return values[0].cls
    if name == "type" and len(values) == 1 and (kind := _container_of(values[0])):
        return Symbol(f"{'collections' if kind == 'deque' else 'builtins'}.{kind}", node)
    if name == "type" and len(values) == 1 and (is_tensor(values[0]) or is_array(values[0])):
        return Instance(TYPE_FROM_OUTSIDE)
    if name == "super":
        return _super(m, values)
    if name == "object.__new__" and values and isinstance(values[0], Class):
        return m.made(Instance(values[0].node.name, cls=values[0]))
    if name == "next" and values and (each := gone_through.each_of(values[0])) is not None:
        each = gone_through.anew(each)
        return join(each, values[1]) if len(values) == 2 else each
    if name in ("range", "enumerate", "zip", "iter") or (name == "next" and values and isinstance(values[0], Instance)):
        made = Instance(f"builtins.{name}", owner=next((value for value in values if isinstance(value, Instance)), None))
        if not arguments.is_open:  # `zip(*rows)` gives columns of as many as there are rows
            gone_through.of_builtin(name, [loaders.going_through(m, one, node) for one in values], made)
        effects.hold(m, made, values)
        return made
    is_unknown = name in ("input", "next", "type", "id", "any", "all", "sum")
    return Known(None, node) if name == "print" else UNKNOWN if is_unknown else None


def _of_attributes(m: Walker, name: str, values: list[Value], node: ast.Call) -> Value | None:
    """Return what a builtin gives that reads, writes or deletes an attribute by its name; None for another one."""
    if name == "getattr" and len(values) >= 2 and isinstance(values[1], Known) and isinstance(values[1].value, str):
        return _getattr(m, values, node)
    if name == "hasattr" and len(values) == 2 and isinstance(values[1], Known):
        return _hasattr(m, values[0], values[1], node)
    if name == "object.__setattr__" and len(values) == 3 and isinstance(values[1], Known):
        write_to(m, as_changed(values[0]), str(values[1].value), settled(values[2]), node, is_plain=True)
        return Known(None, node)
    if name in ("setattr", "object.__setattr__", "type.__setattr__") and len(values) == 3:
        return _setattr(m, as_changed(values[0]), values[1], values[2], node)
    if name == "delattr" and len(values) == 2:
        if isinstance(values[1], Known):
            delete_attribute(m, as_changed(values[0]), str(values[1].value))
        else:
            may_raise(m)
            effects.change_any_attribute(m, as_changed(values[0]))
        return Known(None, node)
    if name == "vars" and len(values) == 1:
        return m.attribute(values[0], "__dict__", node)
    if name in ("getattr", "vars"):  # by a name that isn't known, or of all names here
        m.facts.uses.is_vague = True
    return None


def _decorated(name: str, values: Sequence[Value], arguments: CallArguments) -> Function:
    """Return a function as one of Python's decorators makes it that is called."""
    function = values[0]
    assert isinstance(function, Function)
    setter, deleter = (arguments.get(place, key) for place, key in ((1, "fset"), (2, "fdel")))
    made = replace(function, decorators=(*function.decorators, Symbol(f"builtins.{name}")))
    return made.with_accessors(*(one if isinstance(one, Function) else None for one in (setter, deleter)))


def _container_of(value: Value) -> str:
    """Return the name of the kind of a dict, a list or a constant; '' for what may be something else, such as a device."""
    if isinstance(value, Mapping) and value.owner is None:
        return "dict"
    if isinstance(value, Items):
        return value.kind if value.kind != BOUNDED else "deque"
    if isinstance(value, Instance) and value.kind.startswith("builtins."):
        return value.kind.removeprefix("builtins.")
    return type(value.value).__name__ if isinstance(value, Known) and not value.source else ""


def _isinstance(value: Value, asked: Value, node: ast.Call) -> Value:
    """Return whether a value is of one of Python's own types, or of classes of the program."""
    if isinstance(value, OneOf):
        return join_all([_isinstance(one, asked, node) for one in value.values])
    kinds = asked.values() if isinstance(asked, Items) and not asked.open else [asked]
    of_tensors = [isinstance(kind, Symbol) and kind.name in load_kinds().tensors for kind in kinds]
    if any(of_tensors) and (is_one := asked_for_tensor(value)) is not None and (is_one or all(of_tensors)):
        return Known(is_one, node)
    if has_dimensions(value) and is_kind(value, [kind.name for kind in kinds if isinstance(kind, Symbol)]):
        return Known(True, node)  # a scalar of NumPy is no array
    if isinstance(value, Instance) and value.cls is not None and all(isinstance(kind, Class) for kind in kinds):
        is_one = any(kind is one for kind in kinds for one in value.cls.lineage())
        is_told = value.cls.lookup(BASES) is None and (is_one or not any(isinstance(kind, Class) and _may_accept(kind) for kind in kinds))
        return Known(is_one, node) if is_told else UNKNOWN
    if is_tensor(value):
        kinds = [kind for kind in kinds if not (isinstance(kind, Symbol) and kind.name in load_kinds().arrays)]
    types = [_type_of(kind) for kind in kinds]
    own = _container_of(value)
    if not own and (is_tensor(value) or is_array(value)) and None not in types:
        return Known(False, node) if NO_TENSORS.issuperset(types) else UNKNOWN
    if not own or own in ("iterator", "range", "slice") or None in types:
        return UNKNOWN
    is_weak = isinstance(value, Known) and value.weak
    actual = type(value.value) if isinstance(value, Known) else TYPES[own]
    actual = _Other if actual is PathText else actual
    return Known(issubclass(actual, tuple(kind for kind in types if kind is not None)), node, is_weak)


TYPES_OF = {"builtins": builtins, "collections.abc": collections.abc}
_CONTAINERS = (collections.abc.Mapping, collections.abc.Sequence, collections.abc.Set)
NO_TENSORS = frozenset((list, tuple, dict, set, frozenset, str, bytes, *_CONTAINERS))
"""Types of which no tensor is, nor an array or a number of NumPy."""


def _type_of(value: Value) -> type | None:
    """Return the type of Python's own that a name stands for, or that no constant and no list is of; None for another."""
    if isinstance(value, Class):
        return _Other if all(isinstance(base, Class) for base in value.bases_above()) and not _may_accept(value) else None
    if isinstance(value, Symbol) and value.name in load_kinds().arrays:
        return _Other
    package, _, name = value.name.rpartition(".") if isinstance(value, Symbol) else ("", "", "")
    kind = getattr(TYPES_OF[package], name, None) if package in TYPES_OF else None
    return kind if isinstance(kind, type) else None


def _may_accept(cls: Class) -> bool:
    """Return whether objects of classes that don't derive from a class may count as its own: by its metaclass, or a base (`abc.ABC`)."""
    outside = {name.split(".")[0] for name in cls.outside_bases()} - {"builtins"}
    return any(one.node.keywords for one in cls.lineage()) or not outside.isdisjoint(sys.stdlib_module_names)


class _Other:
    """Stands for a class of the program, or of arrays."""


def _setattr(m: Walker, owner: Value, name: Value, value: Value, node: ast.Call) -> Value:
    """Write an attribute whose name is a value; where it is one of several names, each may have kept what it was."""
    names = [one.value for one in alternatives_of(name) if isinstance(one, Known) and isinstance(one.value, str)]
    if not names:
        may_raise(m)
        effects.change_any_attribute(m, owner, value)
        unplace_within(m, owner)
    for one in names:
        with m.perhaps(is_sure=len(names) == 1):
            write_attribute(m, owner, one, value, node)
    return Known(None, node)


def _super(m: Walker, given: Sequence[Value]) -> Value:
    """Return an object as one of the class that comes next: the same attributes, that class's methods.

    It is that of the current method, unless the class and the object are given.
    """
    function = m.functions.get(id(m.context.functions[-1])) if m.context.functions else None
    parameters = [*function.node.args.posonlyargs, *function.node.args.args] if function is not None else []
    own = given[1] if len(given) == 2 else next((m.frame.slots.get(one.arg) for one in parameters), None)
    before = given[0] if given else function.cls if function is not None else None
    if isinstance(before, Class) and before.lookup(BASES) is not None:
        before = None
    if isinstance(own, Class) and isinstance(before, Class) and not any(isinstance(one, Class) for one in _classes_after(own, before)):
        return next(iter(_classes_after(own, before)), Symbol("builtins.object"))
    if not isinstance(own, Instance) or not isinstance(before, Class):
        m.store.lose(own)
        return UNKNOWN
    after = list(_classes_after(own.cls, before))
    base = after[0] if after else Symbol("builtins.object")
    if isinstance(base, Class):
        if base.bases_above() != tuple(after[1:]):  # what comes next for this object is not all above the class itself
            base = Class(base.node, base.slots, tuple(after[1:]), base.decorators)
        return Instance(base.node.name, call=own.call, slots=own.slots, cls=base, proxied=own, born=own.born)
    return Instance(base.name, call=own.call, slots=own.slots, proxied=own, born=own.born) if isinstance(base, Symbol) else Instance("")


def _classes_after(cls: Class | None, before: Class) -> Sequence[Value]:
    """Return the classes that come behind one where an object of a class looks for a method."""
    order = (cls, *cls.bases_above()) if cls is not None else ()
    return order[order.index(before) + 1 :] if before in order else before.bases_above()


def _pure(name: str, values: list[Value], arguments: CallArguments, node: ast.Call) -> Value:
    if name == "len" and len(values) == 1:
        return _length(values[0], node)
    if name == "str" and len(values) == 1 and isinstance(values[0], Known) and values[0].source:
        return values[0]
    if not values and not arguments.keywords and not arguments.is_open and name in ("int", "float", "str", "bool", "complex"):
        return Known(getattr(builtins, name)(), node)
    if name == "bool" and len(values) == 1 and isinstance(values[0], (Items, Mapping)) and (answer := truth(values[0])) is not None:
        return Known(answer, node)
    if name in ("min", "max") and len(values) == 1 and isinstance(values[0], (Items, Mapping)):
        more = lists.iterated(values[0])
        if more == [] and "default" in arguments.keywords:
            return arguments.keywords["default"].value
        if more == []:
            raise Raised("ValueError")
        if more is None:
            return UNKNOWN
        values = more if len(more) > 1 else [more[0], more[0]]
    choices = [alternatives_of(value) for value in values]
    if any(isinstance(value, OneOf) for value in values) and math.prod(map(len, choices)) <= MOST_CHOICES:
        return join_all([or_unknown(_pure, name, list(chosen), arguments, node) for chosen in itertools.product(*choices)])
    constants = [plain_of(value) if name in ("str", "repr") else value.value if isinstance(value, Known) else NOT_PLAIN for value in values]
    if arguments.is_open or arguments.keywords or any(constant is NOT_PLAIN for constant in constants):
        is_plain = arguments.keywords or arguments.is_open or not all(isinstance(value, Known) for value in values)
        if is_plain:
            return UNKNOWN
        constants = [value.value for value in values if isinstance(value, Known)]
    if any(isinstance(constant, (str, bytes)) and len(constant) > 4096 for constant in constants) or not all(map(is_short, constants)):
        return UNKNOWN
    try:
        result = getattr(builtins, name)(*constants)
    except (TypeError, ValueError, ArithmeticError) as error:
        raise Raised(type(error).__name__, next((one.source for one in values if isinstance(one, Known)), "")) from None
    answered = values[0].source if isinstance(values[0], Known) and values[0].value in (False, True) else ""  # `int(answer)`
    return Known(result, node, any(isinstance(value, Known) and value.weak for value in values), answered)


def _length(value: Value, node: ast.Call) -> Value:
    """Return how much is in a text, a list or a dict."""
    if isinstance(value, OneOf):
        return join_all([or_unknown(_length, one, node) for one in value.values])
    if isinstance(value, Known):
        if isinstance(value.value, (str, bytes)):
            return Known(len(value.value), node, value.weak)
        if not value.source and not isinstance(value.value, tuple):
            raise Raised("TypeError")
    if isinstance(value, Items) and not value.open and value.kind != "iterator" and (value.kind != "set" or len(value.slots) < 2):
        return Known(len(value.slots), node)
    return Known(len(value.slots), node) if isinstance(value, Mapping) and not value.is_open and value.owner is None else UNKNOWN


def _container(name: str, values: list[Value], node: ast.Call) -> Value:
    """Return what `list(...)` and its like make of what is not known to its end."""
    kind = {"tuple": "tuple", "set": "set", "frozenset": "set", "reversed": "iterator"}.get(name, "list")
    source = values[0] if len(values) == 1 and isinstance(values[0], Items) else Items("list", {})
    if len(values) == 1 and gone_through.is_batch(values[0]) and (each := gone_through.each_of(values[0])) is not None:
        source = Items("list", {0: each}, node, True, each)  # the entries of a batch, of which there is one at least
    if source.kind in ("list", "tuple") and name in ("list", "tuple"):
        return Items(kind, dict(source.slots), node, True, source.each)
    return Items(kind, {}, node, True, None if source.slots else source.each)


def _dict(m: Walker, values: list[Value], arguments: CallArguments, node: ast.Call) -> Value:
    result = Mapping({}, node, arguments.is_open)
    for value in values:
        pairs = dicts.pairs_of(value)
        if isinstance(value, Mapping):
            result.slots.update(value.slots)
            result.is_open = result.is_open or value.is_open
        elif pairs is not None:
            result.slots.update(pairs)
        else:
            may_raise(m)
            result.is_open = True
    for name, argument in arguments.keywords.items():
        result.slots[name] = DictEntry(settled(argument.value), argument.node)
    return result


def _getattr(m: Walker, values: list[Value], node: ast.Call) -> Value:
    name = values[1].value if isinstance(values[1], Known) else ""
    if isinstance(values[0], OneOf):
        return join_all([_getattr(m, [one, *values[1:]], node) for one in values[0].values])
    full = m.platform.normalise(f"{values[0].name}.{name}") if isinstance(values[0], Symbol) else ""
    if (
        full
        and len(values) == 2
        and name in m.instead.values()
        and not (m.platform.has(full, m.versions) or load_kinds().dtype_named(full))
    ):
        ends(m, node)  # nothing shows that the module has what a fix makes of the name
    try:
        found = m.attribute(values[0], name, node)
    except Raised as error:
        if len(values) == 3 and str(error) == "AttributeError":
            return values[2]
        raise
    if len(values) == 3 and isinstance(found, Symbol) and found.name.split(".")[0] in sys.stdlib_module_names:
        return UNKNOWN  # this system may lack it
    if len(values) == 2 or isinstance(values[0], Symbol):
        return found
    if isinstance(values[0], Instance) and found is MAYBE:
        return UNKNOWN
    if _has_method(m, values[0], str(name)):
        return Bound(values[0], str(name))
    if isinstance(values[0], Instance) and (cls := values[0].cls) is not None and cls.lookup(str(name)) is not None:
        return join(found, values[2]) if may_lack(m, cls, str(name)) else found
    if (
        isinstance(values[0], Instance)
        and name in values[0].slots
        and not (isinstance(found, Instance) and found.owner is values[0] and not found.slots)
    ):
        return found
    if isinstance(values[0], (Known, Items, Mapping)) and not (isinstance(values[0], Known) and values[0].source):
        is_there = hasattr(values[0].value if isinstance(values[0], Known) else TYPES.get(_container_of(values[0])), name)
        may_be_key = isinstance(values[0], Mapping) and name in values[0].slots  # the attribute of a library's own kind of dict
        return found if is_there else UNKNOWN if may_be_key else values[2]
    return join(found, values[2]) if isinstance(found, Known) else UNKNOWN


def _hasattr(m: Walker, owner: Value, name: Known, node: ast.Call) -> Value:
    if isinstance(owner, Symbol) and m.platform.has(m.platform.normalise(f"{owner.name}.{name.value}"), m.versions):
        return Known(True, node, source="hasattr")
    if isinstance(owner, OneOf):
        return join_all([_hasattr(m, one, name, node) for one in owner.values])
    if isinstance(owner, Instance) and owner.cls is not None:
        if name.value in owner.slots:
            return UNKNOWN if owner.slots[name.value] is MAYBE else Known(True, node)
        found = owner.cls.lookup(str(name.value))
        if found is not None:
            is_sure = found is not MAYBE and not may_lack(m, owner.cls, str(name.value))
            return Known(True, node) if is_sure and not (isinstance(found, Function) and found.is_a("property")) else UNKNOWN
        if is_whole_class(owner.cls) and owner.owner is None and not owner.fallback and str(name.value)[:2] != "__":
            return Known(False, node)
    return Known(True, node) if _has_method(m, owner, str(name.value)) else UNKNOWN


def _has_method(m: Walker, owner: Value, name: str) -> bool:
    """Return whether an object certainly has a method of a library's class."""
    if not isinstance(owner, Instance):
        return False
    bases = owner.cls.outside_bases() if owner.cls is not None else ()
    return m.platform.has_method((owner.name, *bases), name) or f"{owner.kind}.{name}" in load_signatures()


def call_method(m: Walker, bound: Bound, arguments: CallArguments, node: ast.Call) -> Value:
    """Return what a method of a constant, a list or a dict returns, and do to it what the method does."""
    receiver = bound.receiver
    if isinstance(receiver, Known):
        value = _constant_method(receiver, bound.name, arguments, node)
        device = m.platform.device_of_any_index(receiver.value) if value is UNKNOWN and bound.name == "format" else ""
        return Known(device, node, receiver.weak) if device and all(is_one_index(one) for one in node.args) else value
    if isinstance(receiver, Mapping):
        return dicts.call_method(m, receiver, bound.name, arguments, node)
    if isinstance(receiver, Items) and (receiver.kind in MUTABLE or receiver.kind == "tuple"):
        return lists.call_method(m, receiver, bound.name, arguments, node)
    return UNKNOWN


def _constant_method(receiver: Known, name: str, arguments: CallArguments, node: ast.Call) -> Value:
    values = [argument.value for argument in arguments.positional]
    if name == "join" and len(values) == 1 and isinstance(values[0], Items) and not values[0].open:
        items = values[0].values()
        texts = [item.value for item in items if isinstance(item, Known) and isinstance(item.value, str)]
        if len(texts) < len(items) or sum(map(len, texts)) + len(texts) * len(str(receiver.value)) > LONGEST_TEXT:
            return UNKNOWN
        return Known(str(receiver.value).join(texts), node, any(map(is_weak, (receiver, *items))))
    given = [value.value if isinstance(value, Known) else plain_of(value) for value in values]
    known = not any(one is NOT_PLAIN or isinstance(one, (dict, list)) for one in given) and not arguments.is_open
    keywords = {key: argument.value for key, argument in arguments.keywords.items()}
    if not known or name not in STRING_METHODS or not all(isinstance(value, Known) for value in keywords.values()):
        return UNKNOWN
    if not isinstance(receiver.value, str) or isinstance(receiver.value, PathText) or len(receiver.value) > LONGEST_TEXT:
        return UNKNOWN
    if any((isinstance(constant, (str, bytes)) and len(constant) > 4096) or constant == 0 for constant in given if name != "format"):
        return UNKNOWN
    if name == "zfill" or (name == "replace" and len(receiver.value) > 4096):
        return UNKNOWN
    try:
        if name == "format" and any(map(is_wide, (spec for _, _, spec, _ in Formatter().parse(receiver.value) if spec))):
            return UNKNOWN
        result = getattr(receiver.value, name)(*given, **{k: v.value for k, v in keywords.items() if isinstance(v, Known)})
    except (TypeError, ValueError, LookupError, AttributeError, OverflowError) as error:
        raise Raised(type(error).__name__) from None
    if isinstance(result, (list, tuple)):
        if any(map(is_weak, values)):
            return UNKNOWN
        parts: Slots = {index: Known(part, node, receiver.weak, receiver.source) for index, part in enumerate(result[:256])}
        return Items(type(result).__name__, parts, node, source=receiver.source)
    is_same = result == receiver.value  # `"cuda".strip().lower()` was decided where "cuda" was
    rests = any(map(is_weak, (receiver, *arguments.all)))
    return Known(result, receiver.origin if receiver.source or is_same else node, rests, receiver.source)
