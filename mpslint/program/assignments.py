"""Assignments and deletions: what they write, and where."""

from __future__ import annotations

import ast

from mpslint.facts.facts import Accumulation, AttributeWrite
from mpslint.facts.joined import without_none
from mpslint.facts.values import (
    UNKNOWN,
    Class,
    DictEntry,
    Instance,
    Items,
    Known,
    Mapping,
    Module,
    Symbol,
    Value,
    alternatives_of,
)
from mpslint.program import environment, lists
from mpslint.program.attributes import get_item
from mpslint.program.machine import COMMAND_WORDS, Walker
from mpslint.program.operators import combine, note_division


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
        if same.__class__ is target.__class__ and isinstance(added, (ast.Name, ast.Attribute)) and ast.unparse(same) == name:
            m.facts.accumulations.append(Accumulation(node, target, m.value(added), added, m.context))


def annotated_assignment(m: Walker, node: ast.AnnAssign) -> bool:
    """Carry out `name: type = value`."""
    if node.value is not None:
        assign(m, node.target, m.value(node.value), node.value, node)
    return False


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
        value = without_none(value)
        is_known = all(isinstance(one, (Items, Instance)) for one in alternatives_of(value))
        for index, element in enumerate(target.elts):
            part = get_item(m, value, Known(index)) if is_known else UNKNOWN
            assign(m, element, part, nodes[index] if index < len(nodes) else value_node, statement)


def _assign_attribute(m: Walker, target: ast.Attribute, value: Value, value_node: ast.expr, statement: ast.stmt) -> None:
    receiver = m.value(target.value)
    for owner in alternatives_of(receiver):
        if target.attr == "__dict__" and isinstance(owner, Instance):
            _become(m, owner, value)
        elif isinstance(owner, (Instance, Class, Module)):
            m.store.write(owner.slots, target.attr, value)
        elif isinstance(owner, Symbol) and f"{owner.name}.{target.attr}" == COMMAND_WORDS:
            m.store.write(m.module.slots, COMMAND_WORDS, value)
    if not m.is_silent:
        m.facts.attributes.append(AttributeWrite(statement, target.value, target.attr, receiver, value, value_node, m.context))


def _become(m: Walker, owner: Instance, value: Value) -> None:
    """Give an object the entries of a dict as its attributes (`self.__dict__ = json.load(file)`); those of itself it has."""
    for key, entry in value.slots.items() if isinstance(value, Mapping) else ():
        m.store.write(owner.slots, key, entry.value)


def _assign_item(m: Walker, target: ast.Subscript, value: Value, value_node: ast.expr, statement: ast.stmt) -> None:
    receiver, index = m.value(target.value), m.value(target.slice)
    if (isinstance(receiver, Symbol) and receiver.name == environment.ENVIRONMENT) or (
        isinstance(receiver, Instance) and receiver.name == environment.ENVIRONMENT
    ):
        environment.write(m, index, value, statement, value_node, "python" if isinstance(receiver, Symbol) else "child")
    elif isinstance(receiver, Mapping):
        if isinstance(index, Known) and index.value.__hash__ is not None:
            m.write_entry(receiver, index.value, DictEntry(value, value_node))
        else:
            receiver.is_open = True
    elif isinstance(receiver, Items):
        lists.set_items(m, receiver, index, target.slice, value)
    elif isinstance(receiver, Symbol) and receiver.name == COMMAND_WORDS:
        lists.set_words(m, target.slice, index, value)
    elif isinstance(receiver, Instance):
        key = index.value if isinstance(index, Known) and isinstance(index.value, str) else "item"
        m.store.write(receiver.slots, key, value)


def augmented_assignment(m: Walker, node: ast.AugAssign) -> bool:
    """Carry out `name += value`, and record what accumulates."""
    load = ast.copy_location(_as_load(node.target), node.target)
    old, new = m.value(load), m.value(node.value)
    if isinstance(node.op, ast.Add) and not m.is_silent:
        m.facts.accumulations.append(Accumulation(node, node.target, new, node.value, m.context))
    if isinstance(node.op, ast.BitOr) and isinstance(old, Symbol) and old.name == environment.ENVIRONMENT and isinstance(new, Mapping):
        for key, entry in new.slots.items():
            if isinstance(entry, DictEntry) and entry.node is not None:
                environment.write(m, Known(key), entry.value, entry.node, entry.node)
        return False
    if isinstance(node.op, ast.Add) and isinstance(old, Symbol) and old.name == COMMAND_WORDS:
        lists.add_words(m, new)
        return False
    note_division(m, node, node.op, old, new)
    assign(m, node.target, combine(old, node.op, new, node), node.value, node)
    return False


def _as_load(target: ast.expr) -> ast.expr:
    if isinstance(target, ast.Name):
        return ast.Name(target.id, ast.Load())
    if isinstance(target, ast.Attribute):
        return ast.Attribute(target.value, target.attr, ast.Load())
    assert isinstance(target, ast.Subscript)
    return ast.Subscript(target.value, target.slice, ast.Load())


def delete_statement(m: Walker, node: ast.Delete) -> bool:
    """Carry out `del`."""
    for target in node.targets:
        if isinstance(target, ast.Name):
            m.store.delete(m.frame.slots, target.id)
        elif isinstance(target, ast.Attribute):
            if isinstance(owner := m.value(target.value), Instance):
                m.store.delete(owner.slots, target.attr)
        elif isinstance(target, ast.Subscript):
            receiver, index = m.value(target.value), m.value(target.slice)
            if isinstance(receiver, Mapping) and isinstance(index, Known):
                m.store.delete(receiver.slots, index.value)
            elif isinstance(receiver, Items):
                lists.delete_items(m, receiver, index, target.slice)
            elif isinstance(receiver, Symbol) and receiver.name == environment.ENVIRONMENT and isinstance(index, Known):
                m.store.delete(m.module.slots, ("environment", index.value))
    return False
