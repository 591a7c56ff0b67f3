"""Assignments and deletions: what they write, and where."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from mpslint.facts.facts import Accumulation, AttributeWrite
from mpslint.facts.joined import as_changed, is_sure_key, join, join_all, with_attribute
from mpslint.facts.values import (
    MAYBE,
    UNKNOWN,
    Argument,
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
    is_weak,
    method_of,
    settled,
    weakened,
)
from mpslint.program import dicts, effects, environment, fields, implicit, lengths, lists
from mpslint.program.attributes import accessors_of_bases, descriptor_method, get_item, is_whole_class
from mpslint.program.executed import NAMES, forget_names, write_name
from mpslint.program.exits import Raised, is_certain, may_raise
from mpslint.program.lists import iterated
from mpslint.program.machine import COMMAND_WORDS, PATCHED, Walker
from mpslint.program.operators import combine, note_division, own_operator
from mpslint.program.places import CONTENT, ORDERED
from mpslint.program.walk import walk
from mpslint.tensors import modules, operations


def assign_statement(m: Walker, node: ast.Assign) -> bool:
    """Carry out `a = b = value`; like every statement, return whether the path ends here."""
    value = m.value(node.value)
    if isinstance(node.value, ast.BinOp) and len(node.targets) == 1 and not m.is_silent:
        _note_sum(m, node, node.targets[0], node.value)
    for target in node.targets:
        assign(m, target, value, node.value, node)
    return False


def _note_sum(m: Walker, node: ast.Assign, target: ast.expr, value: ast.BinOp) -> None:
    """Record what accumulates in `total = total + value`."""
    if not isinstance(value.op, ast.Add) or not m.context.loops or not isinstance(target, (ast.Name, ast.Attribute)):
        return
    name = ast.unparse(target)
    for same, added in ((value.left, value.right), (value.right, value.left)):
        if same.__class__ is target.__class__ and ast.unparse(same) == name:
            m.facts.accumulations.append(Accumulation(node, target, m.looked_at(same), m.looked_at(added), added, m.context))


def annotated_assignment(m: Walker, node: ast.AnnAssign) -> bool:
    """Carry out `name: type = value`."""
    if node.value is not None:
        value = m.value(node.value)
        assign(m, node.target, value, node.value, node)
    if m.frame is m.root or m.frame.is_class:
        evaluate_annotations(m, [node.annotation])
    return False


def evaluate_annotations(m: Walker, nodes: Sequence[ast.expr | None]) -> None:
    """Carry out what annotations do: until Python 3.14 at once, and later only where they are asked for."""
    for node in nodes:
        if node is not None and any(isinstance(one, (ast.Call, ast.NamedExpr)) for one in walk(node)):
            with m.silently(), m.perhaps():
                m.value(node)


def assign(m: Walker, target: ast.expr, value: Value, value_node: ast.expr, statement: ast.stmt) -> None:
    """Write a value to a name, an attribute, an item, or the parts of a tuple."""
    if isinstance(target, ast.Name):
        m.bind(target.id, value)
    elif isinstance(target, ast.Attribute):
        _assign_attribute(m, target, value, value_node, statement)
    elif isinstance(target, ast.Subscript):
        _assign_item(m, target, value, value_node, statement)
    elif isinstance(target, ast.Starred):
        assign(m, target.value, UNKNOWN, value_node, statement)
    elif isinstance(target, (ast.Tuple, ast.List)):
        nodes = value_node.elts if isinstance(value_node, (ast.Tuple, ast.List)) else ()
        for index, (element, part) in enumerate(zip(target.elts, unpacked(m, target.elts, value), strict=True)):
            inner = element.value if isinstance(element, ast.Starred) else element
            assign(m, inner, part, nodes[index] if index < len(nodes) else value_node, statement)


def unpacked(m: Walker, targets: Sequence[ast.expr], value: Value) -> list[Value]:
    """Return what each of the targets `a, *b, c` is given of a value."""
    implicit.called(m, [value], implicit.GOING_THROUGH)
    star = next((index for index, one in enumerate(targets) if isinstance(one, ast.Starred)), None)
    try:
        values = iterated(value) if isinstance(value, (Items, Mapping, Known)) and not is_weak(value) else None
    except Raised:
        if m.is_in_try:
            raise
        values = None
    if values is not None:
        if len(values) < len(targets) - (star is not None) or (star is None and len(values) > len(targets)):
            raise Raised("ValueError", value.source if isinstance(value, (Items, Known)) else "")
        if star is None:
            return values
        behind = len(targets) - star - 1
        middle = values[star : len(values) - behind]
        return [*values[:star], Items("list", dict(enumerate(middle))), *values[len(values) - behind :]]
    may_raise(m)
    m.store.lose_inside([value])
    value = with_attribute(value, "__iter__")
    if isinstance(value, OneOf) and all(isinstance(one, (Items, Instance)) for one in value.values):
        each = [parts for one in value.values if (parts := _parts_or_none(m, targets, one, star)) is not None]
        if not each:
            raise Raised("ValueError")
        return [join_all(list(parts)) for parts in zip(*each, strict=True)]
    return _parts(m, targets, value, star)


def _parts_or_none(m: Walker, targets: Sequence[ast.expr], value: Value, star: int | None) -> list[Value] | None:
    """Return the parts of one of several values; None for one that has too few, which raises where it is the one."""
    try:
        return _parts(m, targets, value, star)
    except Raised:
        return None


def _parts(m: Walker, targets: Sequence[ast.expr], value: Value, star: int | None) -> list[Value]:
    """Return what is known of each part of a value of which not all is known."""
    is_ordered = isinstance(value, Instance) or (
        isinstance(value, Items) and value.kind != "set" and (value.kind != "iterator" or not value.open)
    )
    if isinstance(value, Items) and star is None and value.each is not None and not value.slots:
        return [settled(value.each) for _ in targets]
    known = len(targets) if star is None else star
    parts: list[Value] = [get_item(m, value, Known(index)) if is_ordered and index < known else UNKNOWN for index in range(len(targets))]
    return [settled(part) for part in parts]


def _assign_attribute(m: Walker, target: ast.Attribute, value: Value, value_node: ast.expr, statement: ast.stmt) -> None:
    receiver = as_changed(m.value(target.value))
    write_attribute(m, receiver, target.attr, value, value_node)
    if not m.is_silent:
        m.facts.attributes.append(AttributeWrite(statement, target.value, target.attr, receiver, value, value_node, m.context))


def write_attribute(m: Walker, receiver: Value, name: str, value: Value, node: ast.expr) -> None:
    """Write an attribute; where one of several objects is meant, each may have kept what it had."""
    owners = alternatives_of(receiver)
    value = settled(value)
    own = receiver if isinstance(receiver, Class) else receiver.cls if isinstance(receiver, Instance) else None
    if not isinstance(receiver, Module) and (own is None or own.outside_bases()):
        may_raise(m)
    for owner in owners:
        with m.perhaps(is_sure=len(owners) == 1):
            write_to(m, owner, name, value, node)


def write_to(m: Walker, owner: Value, name: str, value: Value, node: ast.expr, is_plain: bool = False) -> None:
    """Write an attribute of one value; where that `is_plain` as `object.__setattr__` does, whatever the class says of writing."""
    if name == "__dict__" and isinstance(owner, Instance):
        _become(m, owner, value, is_new=isinstance(node, (ast.Call, ast.Dict)))
    elif isinstance(owner, Class) and any(isinstance(one, Class) and one.lookup("__setattr__") for one in owner.decorators):
        m.store.lose(value)
        m.store.write(owner.slots, name, UNKNOWN)  # as its metaclass does
    elif not is_plain and (own := method_of(owner, "__setattr__")) is not None:
        m.calls.call_function(m, own, [owner, Known(name), value], {}, False, node)
    elif (own := method_of(owner, name)) is not None and own.is_a("property"):
        if own.setter is None:
            raise Raised("AttributeError")
        m.calls.call_function(m, own.setter, [owner, value], {}, False, node)
    elif isinstance(owner, Instance) and (perhaps := accessors_of_bases(owner.cls, name)):
        effects.not_followed(m, [*perhaps, owner, value])
        m.store.write(owner.slots, name, UNKNOWN)
    elif isinstance(owner, Instance) and (setter := descriptor_method(owner.cls, name, "__set__")) is not None:
        m.calls.call_function(m, setter.function, [setter.receiver, owner, value], {}, False, node)
    elif isinstance(owner, Instance) and modules.write_data(m, owner, name, value):
        return
    elif not is_plain and isinstance(owner, Instance) and owner.cls is not None and (frozen := fields.is_frozen(m, owner.cls)) is not False:
        if frozen:
            raise Raised("AttributeError")
        with m.perhaps():
            _write_plainly(m, owner, name, value)
    else:
        _write_plainly(m, owner, name, value)


def _write_plainly(m: Walker, owner: Value, name: str, value: Value) -> None:
    if isinstance(owner, (Instance, Class, Module)):
        if isinstance(owner, Class) and name in owner.all_fields() and (owner.decorators or fields.has_fields(m, owner)):
            m.store.lose(value)
            value = UNKNOWN  # its objects go on with the default that the class was made with
        if isinstance(owner, Instance) and owner.cls is not None and owner.cls.lookup("__slots__") is not None:
            may_raise(m)
        if isinstance(owner, Instance) and name == "__class__":
            owner.cls = None  # on every path, which is more than need be forgotten
        if isinstance(owner, Instance) and owner.cls is None:
            effects.change_given(m, owner, name, value)
        if not isinstance(value, (Known, Items, Mapping, Symbol)):
            m.holding.add(name)  # something unknown may be the object, and what it holds may be called
        m.store.write(owner.slots, name, value)
    elif isinstance(owner, Unknown):
        effects.change_attribute(m, name, value)
    elif isinstance(owner, Function) and name[:2] == "__":
        m.store.write(m.kept, (owner.born,), UNKNOWN)  # `__defaults__`, `__code__`: what it gives may be another
    elif isinstance(owner, Symbol) and f"{owner.name}.{name}" == COMMAND_WORDS:
        m.store.write(m.module.slots, COMMAND_WORDS, value)
    elif isinstance(owner, Symbol):
        m.store.write(m.module.slots, (PATCHED, m.platform.normalise(f"{owner.name}.{name}")), value)


def _become(m: Walker, owner: Instance, value: Value, is_new: bool) -> None:
    """Give an object the entries of a dict as its attributes (`self.__dict__ = json.load(file)`); one that is not new may change."""
    if value is owner:
        return
    effects.change_any_attribute(m, owner, value)
    for key in [one for one in owner.slots if isinstance(one, str)] if isinstance(value, Mapping) else ():
        m.store.forget(owner.slots, key, MAYBE)
    for key, entry in value.slots.items() if isinstance(value, Mapping) else ():
        m.store.write(owner.slots, key, entry.value if is_new else weakened(entry.value))
    if isinstance(value, Mapping) and not is_new:
        effects.never_sure_again(m, {(id(value), CONTENT): (value, CONTENT, None)})


def _assign_item(m: Walker, target: ast.Subscript, value: Value, value_node: ast.expr, statement: ast.stmt) -> None:
    receiver, index = as_changed(m.value(target.value)), m.value(target.slice)
    _write_item(m, receiver, index, target.slice, value, value_node, statement)


def _write_item(
    m: Walker, receiver: Value, index: Value, target: ast.expr, value: Value, value_node: ast.expr, statement: ast.stmt
) -> None:
    """Carry out `receiver[index] = value`; where one of several is meant, each may have kept what it had."""
    if isinstance(receiver, OneOf):
        for one in receiver.values:
            with m.perhaps():
                _write_item(m, one, index, target, value, value_node, statement)
        may_raise(m)
        return
    if operations.write_item(m, statement, receiver, Argument(index, target), Argument(value, value_node)):
        return
    if (isinstance(receiver, Symbol) and receiver.name == environment.ENVIRONMENT) or (
        isinstance(receiver, Instance) and receiver.name == environment.ENVIRONMENT
    ):
        environment.write(m, index, value, statement, value_node, "python" if isinstance(receiver, Symbol) else "child")
    elif isinstance(receiver, Mapping):
        if is_sure_key(index):
            m.write_entry(receiver, index.value, DictEntry(settled(value), value_node))
        else:
            may_raise(m)
            m.store.lose(value)
            dicts.forget_entries(m, receiver, value if lengths.is_longest(value) else None)
    elif isinstance(receiver, Items) and receiver.kind in ORDERED:
        lists.set_items(m, receiver, index, target, value)
    elif isinstance(receiver, Symbol) and receiver.name == COMMAND_WORDS:
        lists.set_words(m, target, index, value)
    elif isinstance(receiver, Instance) and receiver.name == NAMES:
        write_name(m, receiver.slots, index, value)
    elif isinstance(receiver, Instance):
        may_raise(m)
        if (own := method_of(receiver, "__setitem__")) is not None:
            m.calls.call_function(m, own, [receiver, index, value], {}, False, target)
            return
        effects.change_given(m, receiver, "", value)
        key = index.value if isinstance(index, Known) and isinstance(index.value, str) else "item"
        m.store.write(receiver.slots, key, value)
        for name in [one for one in receiver.slots if isinstance(one, str)] if key == "item" else ():  # any of them may be meant
            m.store.write(receiver.slots, name, join(receiver.slots[name], value))
    elif isinstance(receiver, (Items, Known)):
        raise Raised("TypeError")
    else:
        may_raise(m)
        if isinstance(receiver, Unknown):
            effects.change_items(m, value)


def augmented_assignment(m: Walker, node: ast.AugAssign) -> bool:
    """Carry out `name += value`, and record what accumulates."""
    place, old = _target(m, node.target)
    new = m.value(node.value)
    old = as_changed(old) if isinstance(new, (Items, Mapping)) else old
    if isinstance(node.op, ast.Add) and not m.is_silent:
        m.facts.accumulations.append(Accumulation(node, node.target, old, new, node.value, m.context))
    if isinstance(node.op, ast.BitOr) and isinstance(old, Symbol) and old.name == environment.ENVIRONMENT and isinstance(new, Mapping):
        for key, entry in new.slots.items():
            if isinstance(entry, DictEntry) and entry.node is not None:
                environment.write(m, Known(key), entry.value, entry.node, entry.node)
        return False
    if isinstance(node.op, ast.Add) and isinstance(old, Symbol) and old.name == COMMAND_WORDS:
        lists.add_words(m, new)
        return False
    note_division(m, node, node.op, old, new)
    made = own_operator(m, node, node.op, old, new, in_place=True)
    made = made or operations.binary(m, node, node.op, old, new, (node.target, node.value), in_place=True)
    made = lengths.of_operator(m, node.op, old, new, made or _in_place(m, old, node.op, new) or combine(old, node.op, new, node))
    if not is_certain(made):
        may_raise(m)
    if isinstance(node.target, ast.Name):
        m.bind(node.target.id, made)
    elif isinstance(node.target, ast.Attribute):
        write_attribute(m, place[0], node.target.attr, made, node.value)
        if not m.is_silent:
            target = node.target
            m.facts.attributes.append(AttributeWrite(node, target.value, target.attr, place[0], made, node.value, m.context))
    elif isinstance(node.target, ast.Subscript):
        _write_item(m, place[0], place[1], node.target.slice, made, node.value, node)
    return False


def _target(m: Walker, target: ast.expr) -> tuple[tuple[Value, ...], Value]:
    """Return the parts of what is assigned to, each evaluated once, and what is there."""
    if isinstance(target, ast.Attribute):
        owner = as_changed(m.value(target.value))
        return (owner,), m.attribute(owner, target.attr, target)
    if isinstance(target, ast.Subscript):
        receiver, index = as_changed(m.value(target.value)), m.value(target.slice)
        is_part = isinstance(index, Items) and index.kind == "slice"
        return (receiver, index), UNKNOWN if is_part else get_item(m, receiver, index)
    assert isinstance(target, ast.Name)
    return (), m.value(ast.copy_location(ast.Name(target.id, ast.Load()), target))


def _in_place(m: Walker, old: Value, op: ast.operator, new: Value) -> Value | None:
    """Return a list, set or dict that an augmented assignment changes, changed; None for what it makes anew."""
    if isinstance(old, OneOf) and any(isinstance(one, (Items, Mapping)) for one in old.values):
        made = []
        for one in old.values:
            with m.perhaps():
                made.append(_in_place(m, one, op, new) or combine(one, op, new, ast.Pass()))
        may_raise(m)
        return join_all(made)
    if isinstance(old, Items) and old.kind in ORDERED and isinstance(op, ast.Add):
        lists.extend(m, old, new)
        return old
    if isinstance(old, Items) and old.kind != "tuple":
        united = combine(old, op, new, ast.Pass())
        if isinstance(united, Items):
            m.store.change(old, united.slots, united.open)
        else:
            may_raise(m)
            m.store.lose_inside([new])
            m.store.change(old, {}, True)
        return old
    if isinstance(old, Mapping) and isinstance(op, ast.BitOr):
        if isinstance(new, Mapping):
            merged = combine(old, op, new, ast.Pass())
            assert isinstance(merged, Mapping)
            m.store.change(old, merged.slots, merged.is_open)
        else:
            may_raise(m)
            dicts.forget_entries(m, old)
        return old
    effects.change_given(m, old, "", new)
    if isinstance(old, Unknown):
        effects.change_items(m, new)
    return None


def delete_statement(m: Walker, node: ast.Delete) -> bool:
    """Carry out `del`."""
    for target in node.targets:
        if isinstance(target, ast.Name):
            slots = m.home_of(target.id).slots
            if target.id not in slots or (id(slots), target.id) in m.store.unsure:
                may_raise(m)
            m.store.delete(slots, target.id)
        elif isinstance(target, ast.Attribute):
            delete_attribute(m, as_changed(m.value(target.value)), target.attr)
        elif isinstance(target, ast.Subscript):
            receiver, index = as_changed(m.value(target.value)), m.value(target.slice)
            for one in alternatives_of(receiver):
                with m.perhaps(is_sure=one is receiver):
                    _delete_item(m, one, index, target.slice)
    return False


def delete_attribute(m: Walker, receiver: Value, name: str) -> None:
    """Carry out `del receiver.name`."""
    if isinstance(receiver, OneOf):
        for one in receiver.values:
            with m.perhaps():
                delete_attribute(m, one, name)
    if (own := method_of(receiver, "__delattr__")) is not None:
        m.calls.call_function(m, own, [receiver, Known(name)], {}, False, None)
    elif (own := method_of(receiver, name)) is not None and own.deleter is not None:
        m.calls.call_function(m, own.deleter, [receiver], {}, False, None)
    elif isinstance(receiver, (Instance, Class)):
        if name not in receiver.slots and isinstance(receiver, Instance) and receiver.cls is not None and is_whole_class(receiver.cls):
            raise Raised("AttributeError")
        if receiver.slots.get(name, MAYBE) is MAYBE:
            may_raise(m)
        effects.change_given(m, receiver, name)
        m.store.delete(receiver.slots, name)
    else:
        may_raise(m)
        if isinstance(receiver, Unknown):
            effects.change_attribute(m, name)


def _delete_item(m: Walker, receiver: Value, index: Value, target: ast.expr) -> None:
    if isinstance(receiver, Mapping):
        dicts.remove_entry(m, receiver, index)
    elif isinstance(receiver, Items):
        lists.delete_items(m, receiver, index, target)
    elif isinstance(receiver, Symbol) and receiver.name == environment.ENVIRONMENT and isinstance(index, Known):
        m.store.delete(m.module.slots, ("environment", index.value))
    else:
        may_raise(m)
        if isinstance(receiver, Instance) and receiver.name == NAMES:
            forget_names(m, receiver.slots, may_go=True)
        implicit.called(m, [receiver], frozenset({"__delitem__"}))
        effects.change_given(m, receiver, "")
        if isinstance(receiver, Unknown):
            effects.change_items(m)
