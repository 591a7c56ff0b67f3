"""Expressions -> values."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from mpslint.facts.facts import Choice, NameRead, Window
from mpslint.facts.joined import join, truth
from mpslint.facts.values import (
    UNKNOWN,
    DictEntry,
    Function,
    Items,
    Known,
    Mapping,
    Value,
    is_weak,
    weakened,
)
from mpslint.program.attributes import get_attribute, get_item
from mpslint.program.calls import evaluate_call
from mpslint.program.comprehensions import comprehension
from mpslint.program.machine import Walker
from mpslint.program.operators import LARGEST_RESULT, MOST_ITEMS, combine, compare, is_hashable, is_one_index, note_division


def _constant(m: Walker, node: ast.Constant) -> Value:
    return Known(m.instead.get(id(node), node.value), node)


def _name(m: Walker, node: ast.Name) -> Value:
    value = m.lookup(node.id)
    if value is UNKNOWN and m.facts.choices and not m.is_silent and not m.is_bound(node.id):
        m.facts.unbound.append(NameRead(node, m.context))
    return value


def _attribute(m: Walker, node: ast.Attribute) -> Value:
    return get_attribute(m, m.value(node.value), node.attr, node)


def _subscript(m: Walker, node: ast.Subscript) -> Value:
    base, index = m.value(node.value), m.value(node.slice)
    if isinstance(node.slice, ast.Slice) and isinstance(base, Items):
        return _part(m, base, node.slice, node)
    return get_item(m, base, index)


def _part(m: Walker, base: Items, cut: ast.Slice, node: ast.Subscript) -> Value:
    """Return the items from one number on: `words[1:]`."""
    first = m.value(cut.lower) if cut.lower is not None else UNKNOWN
    is_tail = cut.upper is None and cut.step is None and isinstance(first, Known) and isinstance(first.value, int) and first.value >= 0
    if not is_tail or not isinstance(first, Known) or base.kind == "set":
        return UNKNOWN
    return Items(base.kind, dict(enumerate(base.values()[first.value :])), node, base.open)


def _slice(m: Walker, node: ast.Slice) -> Value:
    for part in (node.lower, node.upper, node.step):
        if part is not None:
            m.value(part)
    if node.lower is not None and node.upper is not None and not m.is_silent:
        rest = [ast.dump(term) for term in _terms(node.lower)]
        beyond = [term for term in _terms(node.upper) if ast.dump(term) not in rest]
        if len(beyond) == 1 and len(beyond) + len(rest) == len(_terms(node.upper)):
            m.facts.windows.append(Window(node, m.value(beyond[0])))
    return UNKNOWN


def _terms(node: ast.expr) -> list[ast.expr]:
    """Return what a sum adds up."""
    return [*_terms(node.left), *_terms(node.right)] if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add) else [node]


def _binary(m: Walker, node: ast.BinOp) -> Value:
    left, right = m.value(node.left), m.value(node.right)
    note_division(m, node, node.op, left, right)
    value = combine(left, node.op, right, node)
    device = m.platform.device_of_any_index(left.value) if value is UNKNOWN and isinstance(left, Known) else ""
    return Known(device, node, left.weak) if device and isinstance(left, Known) and is_one_index(node.right) else value


def _unary(m: Walker, node: ast.UnaryOp) -> Value:
    value = m.value(node.operand)
    if isinstance(node.op, ast.Not):
        answer = m.truth(value)
        source = value.source if isinstance(value, Known) else ""
        return UNKNOWN if answer is None else Known(not answer, node, is_weak(value), source)
    if isinstance(value, Known) and isinstance(value.value, (int, float, complex)):
        try:
            if isinstance(node.op, ast.USub):
                return Known(-value.value, node, value.weak)
            if isinstance(node.op, ast.UAdd):
                return Known(+value.value, node, value.weak)
            if isinstance(node.op, ast.Invert) and isinstance(value.value, int):
                return Known(~value.value, node, value.weak)
        except (TypeError, ValueError):
            return UNKNOWN
    return UNKNOWN


def _boolean(m: Walker, node: ast.BoolOp) -> Value:
    """`and`, `or`: one operand that decides is enough, wherever it stands."""
    decisive = isinstance(node.op, ast.Or)
    weak: Value | None = None
    unknown = False
    last: Value = UNKNOWN
    context = m.context
    try:
        for operand in node.values:
            last = m.value(operand)
            answer = m.truth(last)
            if answer is None:
                unknown = True
            elif answer is decisive:
                if not is_weak(last):
                    return last if not unknown else _decided(last, decisive, node)
                weak = weak or last
            if answer in (None, decisive):  # what follows is only computed where this one doesn't decide
                m.context = m.guarded(operand, not decisive, answer).context
    finally:
        m.context = context
    if weak is not None:
        return weak
    return UNKNOWN if unknown else last


def _decided(last: Value, decisive: bool, node: ast.BoolOp) -> Value:
    """Return what is known where an operand decides but one before it may be the value: an answer; of `read() or "cpu"`, nothing."""
    is_answer = isinstance(last, Known) and isinstance(last.value, bool)
    return Known(decisive, node, False, last.source) if isinstance(last, Known) and is_answer else UNKNOWN


def _compare(m: Walker, node: ast.Compare) -> Value:
    left = m.value(node.left)
    results = []
    for op, comparator in zip(node.ops, node.comparators, strict=True):
        right = m.value(comparator)
        results.append(compare(m, left, op, right, node))
        left = right
    if len(results) == 1:
        return results[0]
    answers = [truth(result) for result in results]
    if False in answers:
        return Known(False, node)
    return UNKNOWN if None in answers else Known(True, node, any(map(is_weak, results)))


def _conditional(m: Walker, node: ast.IfExp) -> Value:
    test = m.value(node.test)
    answer = m.truth(test)
    if answer is None:
        with m.guarded(node.test, True):
            first = m.value(node.body)
        with m.guarded(node.test, False):
            second = m.value(node.orelse)
        return join(first, second)
    taken, other = (node.body, node.orelse) if answer else (node.orelse, node.body)
    if is_weak(test):
        with m.guarded(node.test, not answer, answer):
            m.value(other)
        with m.guarded(node.test, answer, answer):
            return weakened(m.value(taken))
    value = m.value(taken)
    if isinstance(test, Known) and test.source and not m.is_silent:
        m.facts.choices.append(Choice(node, test.source, answer, value, m.context))
    if isinstance(test, Known) and isinstance(value, Known) and isinstance(value.value, bool):
        return Known(value.value, value.origin, value.weak, value.source or test.source)  # the question's own answer
    return value


def _f_string(m: Walker, node: ast.JoinedStr) -> Value:
    parts: list[str] = []
    weak = False
    for part in node.values:
        if isinstance(part, ast.Constant):
            parts.append(str(part.value))
            continue
        value = m.value(part.value) if isinstance(part, ast.FormattedValue) else UNKNOWN
        plain = isinstance(part, ast.FormattedValue) and part.format_spec is None and part.conversion in (-1, 115)
        if not plain or not isinstance(value, Known) or not _is_short(value.value):
            parts = []
            break
        parts.append(str(value.value))
        weak = weak or value.weak
    else:
        return Known("".join(parts), node, weak)
    for part in node.values:
        if isinstance(part, ast.FormattedValue):
            m.value(part.value)
    return _device_of_any_index(m, node)


def _device_of_any_index(m: Walker, node: ast.JoinedStr) -> Value:
    """Return the first of a kind of device that the Target lacks for `f"cuda:{rank}"`: whatever the index is, there is none."""
    head, *rest = node.values
    device = m.platform.device_of_any_index(head.value) if isinstance(head, ast.Constant) and len(rest) == 1 else ""
    return Known(device, node) if device else UNKNOWN


def _is_short(constant: Any) -> bool:
    """Return whether a constant makes a text of ordinary length; a huge number has none at all."""
    if isinstance(constant, int):
        return constant.bit_length() <= 1024
    return not isinstance(constant, (str, bytes)) or len(constant) <= LARGEST_RESULT


def _sequence(m: Walker, node: ast.List | ast.Tuple | ast.Set) -> Value:
    kind = {ast.List: "list", ast.Tuple: "tuple", ast.Set: "set"}[type(node)]
    values: list[Value] = []
    is_open = False
    for element in node.elts:
        if isinstance(element, ast.Starred):
            inner = m.value(element.value)
            if isinstance(inner, Items):
                values += inner.values()
                is_open = is_open or inner.open
            else:
                is_open = True
            continue
        values.append(m.value(element))
    return Items(kind, dict(enumerate(values[:MOST_ITEMS])), node, is_open or len(values) > MOST_ITEMS)


def _dict(m: Walker, node: ast.Dict) -> Value:
    result = Mapping({}, node)
    for key_node, value_node in zip(node.keys, node.values, strict=True):
        value = m.value(value_node)
        if key_node is None:
            if isinstance(value, Mapping):
                result.slots.update(value.slots)
            if not isinstance(value, Mapping) or value.is_open:  # it may have the keys before it, too
                result.slots = {key: DictEntry(weakened(entry.value), entry.node) for key, entry in result.slots.items()}
            result.is_open = result.is_open or not isinstance(value, Mapping) or value.is_open
            continue
        key = m.value(key_node)
        if isinstance(key, Known) and is_hashable(key.value):
            result.slots[key.value] = DictEntry(value, value_node)
        else:
            result.is_open = True
    return result


def _lambda(m: Walker, node: ast.Lambda) -> Value:
    defaults = tuple(m.value(default) for default in node.args.defaults)
    function = Function(node, m.frame, (), defaults)
    m.functions.setdefault(id(node), function)
    return function


def _named(m: Walker, node: ast.NamedExpr) -> Value:
    value = m.value(node.value)
    m.bind(node.target.id, value)
    return value


def _wrapped(m: Walker, node: ast.Await | ast.Starred) -> Value:
    return m.value(node.value)


def _yielded(m: Walker, node: ast.Yield | ast.YieldFrom) -> Value:
    if m.context.functions:
        m.generators.add(id(m.context.functions[-1]))
    if node.value is not None:
        value = m.value(node.value)
        if isinstance(node, ast.YieldFrom) and not m.is_silent:
            m.facts.iterated.append((value, m.context))
    return UNKNOWN


HANDLERS: dict[type[ast.expr], Callable[[Walker, Any], Value]] = {
    ast.Constant: _constant,
    ast.Name: _name,
    ast.Attribute: _attribute,
    ast.Subscript: _subscript,
    ast.Slice: _slice,
    ast.Call: evaluate_call,
    ast.BinOp: _binary,
    ast.UnaryOp: _unary,
    ast.BoolOp: _boolean,
    ast.Compare: _compare,
    ast.IfExp: _conditional,
    ast.JoinedStr: _f_string,
    ast.List: _sequence,
    ast.Tuple: _sequence,
    ast.Set: _sequence,
    ast.Dict: _dict,
    ast.Lambda: _lambda,
    ast.ListComp: comprehension,
    ast.SetComp: comprehension,
    ast.GeneratorExp: comprehension,
    ast.DictComp: comprehension,
    ast.NamedExpr: _named,
    ast.Await: _wrapped,
    ast.Starred: _wrapped,
    ast.Yield: _yielded,
    ast.YieldFrom: _yielded,
}
