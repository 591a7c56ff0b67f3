"""What an attribute of a value is, and an item of it."""

from __future__ import annotations

import ast
import enum
from functools import partial

from mpslint.core.record import record
from mpslint.facts.joined import join_all, same
from mpslint.facts.paths import PathText
from mpslint.facts.values import (
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
    Module,
    OneOf,
    Symbol,
    Unknown,
    Value,
    alternatives_of,
    settled,
    weakened,
)
from mpslint.program import environment, fields
from mpslint.program.effects import not_followed
from mpslint.program.executed import NAMES
from mpslint.program.exits import Raised, may_raise
from mpslint.program.functions import call_function, keeps_results
from mpslint.program.lengths import is_longest
from mpslint.program.machine import COMMAND_WORDS, Walker
from mpslint.program.operators import is_hashable
from mpslint.program.places import TYPES, entries_of
from mpslint.program.stubs import library as stubs
from mpslint.tensors import gone_through, methods
from mpslint.tensors.kinds import load_kinds
from mpslint.tensors.libraries import chosen_by
from mpslint.tensors.traits import EACH, PARTS, PLACE, is_array, is_module, is_tensor, part_of


@record(frozen=True)
class Descriptor:
    """The object that a class holds for an attribute, and its method that is called for it."""

    receiver: Instance
    function: Function


NUMBERS = (type(None), bool, int, float, complex)
OF_MORE = frozenset({*vars(enum.Enum), *vars(enum.IntEnum)})
"""What a member of an enumeration has that the number which it is may lack."""
OF_EVERY_CLASS = ("__module__", "__dict__", "__weakref__", "__doc__")
"""What Python itself puts into the namespace of a class."""


def get_attribute(m: Walker, base: Value, name: str, node: ast.expr | None) -> Value:
    """Return the attribute of a value."""
    if isinstance(base, Symbol):
        return _attribute_of_symbol(m, base, name, node)
    if isinstance(base, Instance):
        return _attribute_of_instance(m, base, name, node)
    if isinstance(base, Module):
        return _attribute_of_module(m, base, name)
    if isinstance(base, Class):
        if name == "__dict__":
            return _names_of_class(m, base, node)
        found = base.lookup(name)
        if m.exits and may_lack(m, base, name):
            may_raise(m)
        if (getter := descriptor_method(base, name, "__get__")) is not None:
            return call_function(m, getter.function, [getter.receiver, Known(None), base], {}, False, node)
        if isinstance(found, Function) and found.is_a("classmethod"):
            return Bound(base, name, found)
        if isinstance(found, OneOf):
            return join_all(
                [Bound(base, name, one) if isinstance(one, Function) and one.is_a("classmethod") else one for one in found.values]
            )
        if found is None and base.outside_bases():
            return Symbol(f"{base.outside_bases()[0]}.{name}", node)
        return UNKNOWN if found is None else found
    if isinstance(base, Known) and isinstance(base.value, str) and base.source in m.platform.devices and name in ("type", "index"):
        kind, _, index = base.value.partition(":")
        return Known(kind if name == "type" else int(index) if index.isdecimal() else None, base.origin, base.weak, base.source)
    if isinstance(base, Known) and isinstance(base.value, PathText):
        try:
            told = base.value.attribute(name)
        except AttributeError:
            raise Raised("AttributeError") from None
        return Bound(base, name) if told is None else Known(told, base.origin, base.weak)
    if isinstance(base, (Known, Items, Mapping)):
        if not hasattr(base.value if isinstance(base, Known) else {} if isinstance(base, Mapping) else TYPES.get(base.kind, list), name):
            if isinstance(base, Known) and not base.source and type(base.value) in NUMBERS:
                if not (isinstance(base.value, int) or base.weak):  # one of an enumeration may have more
                    raise Raised("AttributeError")
                may_raise(m)
                return UNKNOWN if base.weak or name in m.methods or name in OF_MORE else Bound(base, name)
            may_raise(m)  # a text may stand for a path
        is_method = not isinstance(base, Items) or callable(getattr(TYPES.get(base.kind, list), name, callable))
        return Bound(base, name) if is_method else UNKNOWN
    if isinstance(base, OneOf):
        return m.one_of([partial(get_attribute, m, one, name, node) for one in base.values])
    if isinstance(base, (Function, Bound)) and name == "__call__":
        return base
    if (function := base.function if isinstance(base, Bound) else base) and name == "__globals__" and isinstance(function, Function):
        return Instance(NAMES, slots=function.frame.outermost.slots)
    if isinstance(base, Function) and keeps_results(m, base):
        m.store.write(m.kept, (base.born,), UNKNOWN)  # `cache_clear`: it may run anew
    return Unknown(base.reason) if isinstance(base, Unknown) and base.reason else UNKNOWN


def may_lack(m: Walker, cls: Class, name: str) -> bool:
    """Return whether only some paths gave a class an attribute that it is found to have."""
    own = next((one for one in cls.lineage() if name in one.slots), None) if m.store.unsure else None
    return own is not None and (id(own.slots), name) in m.store.unsure


def is_whole_class(cls: Class) -> bool:
    """Return whether an object of a class has no attribute but those that the program shows: no decorator or base may add any."""
    return all(
        (isinstance(one, Class) and not one.decorators and not one.node.keywords)
        or (isinstance(one, Symbol) and one.name == "builtins.object")
        for one in (cls, *cls.bases_above())
    ) and not any(cls.lookup(name) is not None for name in ("__getattr__", "__getattribute__"))


def _names_of_class(m: Walker, cls: Class, node: ast.expr | None) -> Mapping:
    """Return what a class itself holds, not its bases: all of it, unless a decorator, a metaclass or a base may have added something."""
    bases_are_known = all(
        isinstance(base, Class) or (isinstance(base, Symbol) and base.name == "builtins.object") for base in cls.bases_above()
    )
    is_plain = bases_are_known and not cls.decorators and not any(one.node.keywords for one in cls.lineage())
    python_s_own = {name: DictEntry(UNKNOWN) for name in OF_EVERY_CLASS}
    unsure = {name for name, value in cls.slots.items() if value is MAYBE or (id(cls.slots), name) in m.store.unsure}
    own = {name: DictEntry(value, None, name not in unsure) for name, value in cls.slots.items()}
    return Mapping({**python_s_own, **own}, node, not is_plain)


def _attribute_of_module(m: Walker, base: Module, name: str) -> Value:
    """Return what a name of a module of the project is: what it binds, a module in it, or what its star imports bring."""
    if name in base.slots:
        return base.slots[name]
    inner = m.project.submodule(m, base, name) if m.project is not None else None
    if inner is not None:
        return inner
    candidates = [m.platform.imported(star, name) for star in base.stars]
    best = max(candidates, key=m.how_known, default="")
    return Symbol(best) if best and m.how_known(best) else UNKNOWN


def _attribute_of_symbol(m: Walker, base: Symbol, name: str, node: ast.expr | None) -> Value:
    full = m.platform.normalise(f"{base.name}.{name}")
    if (patched := m.patched(full)) is not None:
        return patched
    if base.name in m.platform.shared_objects:
        return get_attribute(m, m.shared(base.name, m.platform.shared_objects[base.name]), name, node)
    if full in m.platform.shared_objects:
        return m.shared(full, m.platform.shared_objects[full])
    if full in m.platform.values:
        return Known(m.platform.values[full], node, source=full)
    if full == COMMAND_WORDS and full in m.module.slots:
        return m.module.slots[full]
    if full == COMMAND_WORDS and (words := m.words()) is not None:
        found = {0: UNKNOWN, **{index: word.value for index, word in enumerate(words, 1)}}
        return Items("list", found, node, not m.is_told_all())
    package = m.platform.versions.get(full)
    if package is not None and package in m.versions:
        return Known(".".join(map(str, m.versions[package])), node, source=full)
    return Symbol(full, node)


def _attribute_of_instance(m: Walker, base: Instance, name: str, node: ast.expr | None) -> Value:
    held = base.cls.lookup(name) if base.cls is not None else None
    if held is not None and any(isinstance(one, Function) and one.is_a("property") for one in alternatives_of(held)):
        return _of_object(m, base, name, held, node)
    if perhaps := accessors_of_bases(base.cls, name):
        not_followed(m, [*perhaps, base])
        return UNKNOWN
    if base.cls is not None and name in ("__class__", "__dict__"):
        return base.cls if name == "__class__" else _dict_of(base, node)
    if base.cls is not None and base.proxied is None and isinstance(own := base.cls.lookup("__getattribute__"), Function):
        not_followed(m, [own, base])
        return UNKNOWN
    if (getter := descriptor_method(base.cls, name, "__get__")) is not None and (
        name not in base.slots or descriptor_method(base.cls, name, "__set__") is not None
    ):
        asked = [getter.receiver, base, base.cls or UNKNOWN]
        return UNKNOWN if base.fallback else call_function(m, getter.function, asked, {}, False, node)
    if name in base.slots and base.proxied is None:
        return base.slots[name]
    if (base.kind or PLACE in base.slots or PARTS in base.slots) and (told := methods.attribute(m, base, name, node)) is not None:
        return told
    if base.cls is not None:
        if held is not None:
            if m.exits and may_lack(m, base.cls, name):
                may_raise(m)
            return _of_object(m, base, name, held, node)
        if (given := fields.from_getter(m, base, "__getattr__", name)) is not None:
            return given
    if base.call is not None and name in base.call.keywords:
        return _as_kept(base.call.keywords[name].value)
    if base.call is not None and name in base.call.inherited:
        return base.call.inherited[name].value
    if name == "__dict__":
        return _dict_of(base, node)
    if base.fallback:
        return Unknown(base.fallback)
    if name in m.instead.values() and stubs.lacks(m, base, name):
        raise Raised("AttributeError")
    if base.cls is not None and not base.cls.outside_bases():
        if is_whole_class(base.cls) and base.owner is None and name[:2] != "__":
            raise Raised("AttributeError")
        return UNKNOWN
    if (answer := _answer(m, base, name)) is not None:
        if answer == load_kinds().gpu and base.call is not None:
            return chosen_by(m, base.call.names[0], [base], {}, node)
        return Known(answer, node, source="torch.device")
    child = m.made(Instance(f"{base.name}.{name}", owner=base))
    base.slots[name] = child  # remembered, not written: a path that only reads it, such as a loop, leaves it what it was
    return child


def _as_kept(given: Value) -> Value:
    """Return what an object of outside has of an argument: of a number, or None, it may make something else, such as a tensor or a pair."""
    return weakened(given) if isinstance(given, Known) and type(given.value) in (type(None), int, float) else given


def _of_object(m: Walker, base: Instance, name: str, held: Value, node: ast.expr | None) -> Value:
    """Return what an attribute of an object is that its class holds: a method is bound to the object, and a property called."""
    own = base.proxied or base
    if isinstance(held, OneOf):
        return m.one_of([partial(_of_object, m, base, name, one, node) for one in held.values])
    if not isinstance(held, Function):
        return (weakened(held) if isinstance(held, Known) else UNKNOWN) if base.fallback == MAYBE.reason else held
    if held.is_a("property"):
        return call_function(m, held, [own], {}, False, node)
    if any(isinstance(one, Symbol) and one.name in m.platform.kept_properties for one in held.decorators):
        m.store.write(base.slots, name, settled(call_function(m, held, [own], {}, False, node)))
        return base.slots[name]
    return Bound((own.cls or UNKNOWN) if held.is_a("classmethod") else own, name, held)


def _dict_of(base: Instance, node: ast.expr | None) -> Mapping:
    return Mapping(entries_of(base), node, True, base)


def _answer(m: Walker, base: Instance, name: object) -> str | None:
    """Return what an attribute or an item of what a call returned is on the Mac; None where that isn't known."""
    found = (m.platform.attributes.get(f"{called}.{name}") for called in (base.call.names if base.call is not None else (base.name,)))
    return next((answer for answer in found if answer is not None), None)


def accessors_of_bases(cls: Class | None, name: str) -> list[Value]:
    """Return the properties and descriptors that bases hold for an attribute which the class itself may have, too, or not."""
    if cls is None or cls.lookup(name) is not MAYBE:
        return []
    held = [one.slots[name] for one in cls.lineage() if name in one.slots]
    return [
        one for one in held if (isinstance(one, Function) and one.is_a("property")) or (isinstance(one, Instance) and one.cls is not None)
    ]


def descriptor_method(cls: Class | None, name: str, method: str) -> Descriptor | None:
    """Return what reads or writes an attribute where the class holds an object of the program for it that does; None where none does."""
    held = cls.lookup(name) if cls is not None else None
    found = held.cls.lookup(method) if isinstance(held, Instance) and held.cls is not None else None
    return Descriptor(held, found) if isinstance(held, Instance) and isinstance(found, Function) else None


def _item_of_object(m: Walker, base: Instance, index: Value) -> Value:
    """Return `base[index]` of an object: what was written there, what its class or library says, or a part of it."""
    key = ("item", index.value) if isinstance(index, Known) and is_hashable(index.value) else "item"
    text = index.value if isinstance(index, Known) and isinstance(index.value, str) else None
    if text in base.slots:
        return base.slots[text]
    if isinstance(index, Known) and (answer := _answer(m, base, index.value)) is not None:
        return Known(answer, source="torch.device")  # `platform.uname()[0]`
    if text is not None and (given := fields.from_getter(m, base, "__getitem__", text)) is not None:
        return given
    if isinstance(index, Known) and isinstance(index.value, int) and (part := gone_through.split(base, index.value)) is not None:
        return part
    is_absent = base.name == NAMES and text is not None and not m.stars and not text.startswith("__")  # `globals()["on_" + device]`
    if m.instead and key not in base.slots and (is_absent or (text in m.instead.values() and stubs.lacks(m, base, text))):
        raise Raised("KeyError")
    if key in base.slots or not (base.name or PLACE in base.slots):
        return base.slots.get(key) or UNKNOWN
    if base.kind and not is_tensor(base) and not is_array(base) and not is_module(base):
        return UNKNOWN  # of packed sequences, each part is something else
    part = m.made(part_of(base, f"{base.name}[]"))
    if text is not None and EACH not in base.slots:
        base.slots[key] = part  # remembered, as an attribute is
    return part


def get_item(m: Walker, base: Value, index: Value) -> Value:
    """Return `base[index]`."""
    if isinstance(base, OneOf):
        return m.one_of([partial(get_item, m, one, index) for one in base.values])
    if isinstance(index, Known) and index.weak and isinstance(base, (Mapping, Items, Known)):
        try:
            return weakened(get_item(m, base, Known(index.value, index.origin, False, index.source, index.others)))
        except Raised:
            may_raise(m)
            return UNKNOWN
    if isinstance(base, Symbol) and base.name == "sys.modules" and same(m.lookup("__name__"), index):
        return m.home or Instance(NAMES, slots=m.root.slots)
    if isinstance(base, Symbol):
        if base.name == environment.ENVIRONMENT:
            return environment.read(m, index, None)
        if base.name in m.platform.literals:
            return Items("literal", dict(enumerate(index.values() if isinstance(index, Items) else [index])))
        return index if base.name in m.platform.transparent else UNKNOWN
    if isinstance(base, Class) and isinstance(index, Known) and not m.platform.closed_enumerations.isdisjoint(base.outside_bases()):
        if base.lookup(str(index.value)) is None and (not index.weak or index.value in m.instead.values()):
            raise Raised("KeyError")
        may_raise(m)
    if isinstance(base, Class) and isinstance(own := base.lookup("__class_getitem__"), Function):
        return call_function(m, own, [base, index], {}, False, None)
    if isinstance(base, Instance):
        return _item_of_object(m, base, index)
    if isinstance(index, OneOf) and isinstance(base, (Mapping, Items)):
        return m.one_of([partial(get_item, m, base, one) for one in index.values])
    if isinstance(base, (Mapping, Items)) and (base.is_open if isinstance(base, Mapping) else base.open):
        may_raise(m)
    if isinstance(base, Mapping) and not isinstance(index, Known):
        may_raise(m)
        entries = [entry.value for entry in base.slots.values()]
        is_one = bool(entries) and not base.is_open and all(entry is entries[0] for entry in entries)
        return entries[0] if is_one else base.each if base.each is not None and is_longest(base.each) else gone_through.value_of(base)
    if isinstance(base, Items) and base.kind in ("list", "tuple") and not isinstance(index, Known):
        return gone_through.any_of(base)
    if not isinstance(index, Known) or not is_hashable(index.value):
        return UNKNOWN
    if isinstance(base, Mapping):
        entry = base.slots.get(index.value)
        if entry is None and not base.is_open:
            raise Raised("KeyError")
        if entry is not None and not entry.is_sure:
            may_raise(m)
        return entry.value if entry is not None else base.each or UNKNOWN
    if isinstance(base, Items) and isinstance(index.value, int) and base.kind != "set":
        position = index.value + len(base.slots) if index.value < 0 else index.value
        if index.value < 0 and base.open:
            return join_all([*base.values(), base.each]) if base.each is not None else UNKNOWN
        if not base.open and position not in base.slots:
            raise Raised("IndexError", base.source)
        return base.slots.get(position, base.each or UNKNOWN)
    if isinstance(base, Known) and isinstance(base.value, (str, bytes, tuple)) and isinstance(index.value, int):
        try:
            return Known(base.value[index.value], base.origin, base.weak, base.source)
        except IndexError:
            raise Raised("IndexError", base.source) from None
    return UNKNOWN
