"""Expressions -> values."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from mpslint.facts.facts import NameRead, Window
from mpslint.facts.joined import is_sure_key, join, join_all, truth
from mpslint.facts.values import (
    BEHIND,
    UNKNOWN,
    DictEntry,
    Function,
    Instance,
    Items,
    Known,
    Mapping,
    OneOf,
    Symbol,
    Unknown,
    Value,
    alternatives_of,
    is_weak,
    settled,
    weakened,
)
from mpslint.program import choices, implicit, lengths
from mpslint.program.attributes import get_attribute, get_item
from mpslint.program.calls import evaluate_call
from mpslint.program.comprehensions import comprehension
from mpslint.program.exits import Raised, may_raise
from mpslint.program.flow import narrowing
from mpslint.program.lists import bounds_of, iterated
from mpslint.program.machine import Walker
from mpslint.program.operators import combine, compare, formatted, is_hashable, is_one_index, note_division, own_operator, united, with_more
from mpslint.tensors import loaders, operations
from mpslint.tensors.gone_through import as_yielded, each_of

_LOOKING = (ast.Is, ast.IsNot, ast.In, ast.NotIn)
"""Comparisons that no tensor takes element by element."""


def _constant(m: Walker, node: ast.Constant) -> Value:
    return Known(m.instead.get(id(node), node.value), node)


def _name(m: Walker, node: ast.Name) -> Value:
    value = m.lookup(node.id)
    m.facts.uses.read(node, value)
    if value.__class__ is Unknown and (frame := m.frame.having(node.id)) is not None:
        m.facts.uses.unknown.add((id(frame.slots), node.id))
    if m.exits and (isinstance(value, Unknown) or m.store.unsure) and not m.is_surely_bound(node.id, value):
        may_raise(m)
    if value is UNKNOWN and not m.is_silent and not m.stars and not m.is_bound(node.id):
        m.facts.unbound.append(NameRead(node, m.context, m.owner_of(node.id), len(m.facts.choices)))
    return value


def _attribute(m: Walker, node: ast.Attribute) -> Value:
    base = m.value(node.value)
    try:
        value = get_attribute(m, base, node.attr, node)
    except Raised:
        if isinstance(base, Instance) and not m.is_silent:
            m.facts.lacking.append((node, m.context))
        raise
    m.facts.uses.read(node, value)
    return value


def _subscript(m: Walker, node: ast.Subscript) -> Value:
    base, index = m.value(node.value), m.value(node.slice)
    value = lengths.of_item(m, node, base, index, _item(m, node, base, index))
    m.facts.uses.read(node, value)
    return value


def _item(m: Walker, node: ast.Subscript, base: Value, index: Value) -> Value:
    if (part := operations.item(m, node, base, index)) is not None:
        return part
    is_part = isinstance(index, Items) and index.kind == "slice"
    if isinstance(index, Items) and is_part and any(isinstance(one, (Known, Items)) for one in alternatives_of(base)):
        if bounds_of(index) is None:
            may_raise(m)  # by a step of 0
        return part_of(base, index, node)
    part = get_item(m, base, UNKNOWN if is_part else index)
    return choices.looked_up(m, node, index, part, lambda other: get_item(m, base, other))


def part_of(base: Value, index: Items, node: ast.Subscript) -> Value:
    """Return the items that a slice names: `words[1:]`."""
    bounds = bounds_of(index)
    if isinstance(base, OneOf):
        return join_all([part_of(one, index, node) for one in base.values])
    if bounds is not None and bounds.step == 0:
        raise Raised("ValueError")
    if bounds is None:
        values = base.values() if isinstance(base, Items) and base.kind in ("list", "tuple") and not base.open else []
        return Items(base.kind, {}, node, True, join_all(values)) if values and isinstance(base, Items) else UNKNOWN
    if isinstance(base, Known) and isinstance(base.value, (str, bytes)):
        return Known(base.value[bounds], node, base.weak, base.source)
    if not isinstance(base, Items) or base.kind not in ("list", "tuple"):
        return UNKNOWN
    if base.open and any(key >= BEHIND for key in base.slots):
        return UNKNOWN
    if base.open and (bounds.start is None or bounds.start < 0 or bounds.stop is not None or bounds.step is not None):
        return UNKNOWN
    return Items(base.kind, dict(enumerate(base.values()[bounds])), node, base.open, source=base.source)


def _slice(m: Walker, node: ast.Slice) -> Value:
    parts = [m.value(part) if part is not None else Known(None) for part in (node.lower, node.upper, node.step)]
    length: Value | None = None
    if node.lower is not None and node.upper is not None and (not m.is_silent or m.preparation is not None):
        rest = [ast.dump(term) for term in _terms(node.lower)]
        beyond = [term for term in _terms(node.upper) if ast.dump(term) not in rest]
        if len(beyond) == 1 and len(beyond) + len(rest) == len(_terms(node.upper)):
            length = m.looked_at(beyond[0])
            m.facts.windows += [Window(node, length)] if not m.is_silent else []
    return Items("slice", dict(enumerate(parts)), node, each=length)


def _terms(node: ast.expr) -> list[ast.expr]:
    """Return what a sum adds up."""
    return [*_terms(node.left), *_terms(node.right)] if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add) else [node]


def _binary(m: Walker, node: ast.BinOp) -> Value:
    left, right = m.value(node.left), m.value(node.right)
    return lengths.of_operator(m, node.op, left, right, _combined(m, node, left, right))


def _combined(m: Walker, node: ast.BinOp, left: Value, right: Value) -> Value:
    note_division(m, node, node.op, left, right)
    if (own := own_operator(m, node, node.op, left, right)) is not None:
        return own
    if (made := operations.binary(m, node, node.op, left, right, (node.left, node.right))) is not None:
        return made
    value = combine(left, node.op, right, node)
    if isinstance(node.op, ast.Div) and isinstance(value, Known) and isinstance(value.value, str):
        may_raise(m)  # unless one of them is a path
    device = m.platform.device_of_any_index(left.value) if value is UNKNOWN and isinstance(left, Known) else ""
    return Known(device, node, left.weak) if device and isinstance(left, Known) and is_one_index(node.right) else value


def _unary(m: Walker, node: ast.UnaryOp) -> Value:
    value = m.value(node.operand)
    if (made := operations.unary(node, value)) is not None:
        return made
    if isinstance(node.op, ast.Not):
        answer = m.truth(value)
        source = value.source if isinstance(value, (Known, Unknown)) else ""
        return UNKNOWN if answer is None else Known(not answer, node, is_weak(value), source)
    if isinstance(value, OneOf):
        return join_all([_negated(one, node) for one in value.values])
    return _negated(value, node)


def _negated(value: Value, node: ast.UnaryOp) -> Value:
    """Return `-value`, `+value` or `~value`."""
    if isinstance(value, Known) and isinstance(value.value, (int, float, complex)):
        try:
            if isinstance(node.op, ast.USub):
                return Known(-value.value, node, value.weak)
            if isinstance(node.op, ast.UAdd):
                return Known(+value.value, node, value.weak)
            if isinstance(node.op, ast.Invert) and isinstance(value.value, int):
                return Known(~int(value.value), node, value.weak)  # as it was before Python deprecated it of bool
        except (TypeError, ValueError):
            return UNKNOWN
    return UNKNOWN


def _boolean(m: Walker, node: ast.BoolOp) -> Value:
    """`and`, `or`: one operand that decides is enough, wherever it stands."""
    decisive = isinstance(node.op, ast.Or)
    weak: Value | None = None
    passed: list[Value] = []  # what decides nothing by a default only
    possible: list[Value] = []
    last: Value = UNKNOWN
    context = m.context
    asked = ""
    refused: Value = UNKNOWN  # of `answer and one or other`
    try:
        for number, operand in enumerate(node.values):
            refused = last if number == 1 and decisive else UNKNOWN
            last, writes = m.branch(operand) if possible or weak is not None else (m.value(operand), {})
            if writes is None:  # an exception ends the path on which it would be evaluated
                break
            m.store.merge(writes, {})
            answer = m.truth(last)
            asked = last.source if isinstance(last, Known) and last.source else asked
            if answer is decisive and not is_weak(last):
                before = [*possible, weak] if weak is not None else possible
                one = node.values[0]
                if isinstance(one, ast.BoolOp) and truth(refused) is False:
                    choices.note(m, node, refused, last, one.values[-1])
                are_answers = all(isinstance(one, Known) and type(one.value) is bool for one in (last, *passed))
                last = last if are_answers or not passed else weakened(last)  # whichever decides, False is False
                return last if not before else _decided([*before, last], decisive)
            passed += [last] if is_weak(last) else []
            if answer is decisive:
                weak = weak or last
            elif answer is None:
                possible.append(last if number == len(node.values) - 1 else when(last, decisive))
            if answer in (None, decisive):  # what follows is only computed where this one doesn't decide
                m.context = m.guarded(operand, not decisive, answer).context
    finally:
        m.context = context
    if weak is not None:
        return weak
    last = weakened(last) if passed and not asked else last  # the platform's answer counts, whatever an option adds
    found = _one_of(possible if m.truth(last) is None else [*possible, last])
    return Unknown("", None, asked) if found is UNKNOWN and asked and not decisive else found


def when(value: Value, answer: bool) -> Value:
    """Return what a value can be where it counts as true, or as false."""
    left = [one for one in alternatives_of(value) if truth(one) is not (not answer)]
    return join_all(left)


def _decided(possible: list[Value], decisive: bool) -> Value:
    """Return what is known where an operand decides but one before it may be the value: what it counts as, if not what it is."""
    last, found = possible[-1], _one_of(possible)
    answer = None if isinstance(last, (Items, Mapping)) else decisive  # what a list counts as may change
    return found if truth(found) is decisive else Unknown("", answer, last.source if isinstance(last, (Known, Unknown)) else "")


def _one_of(possible: list[Value]) -> Value:
    """Return what is known of a value that is one of several; nothing where one of them comes from outside."""
    is_outside = any(isinstance(one, (Instance, Symbol)) for value in possible for one in alternatives_of(value))
    return UNKNOWN if is_outside and len(possible) > 1 else join_all(possible)


def _compare(m: Walker, node: ast.Compare) -> Value:
    start = len(m.operands)
    left = m.value(node.left)
    results: list[Value] = []
    is_sure = True
    for op, comparator in zip(node.ops, node.comparators, strict=True):
        right, writes = (m.value(comparator), {}) if is_sure else m.branch(comparator)
        if writes is None:
            return UNKNOWN
        m.store.merge(writes, {})
        made = operations.binary(m, node, op, left, right, (node.left, comparator)) if not isinstance(op, _LOOKING) else None
        if isinstance(op, ast.Lt):
            lengths.fill(m, [right])  # `while len(row) < longest: ...`
        results.append(compare(m, left, op, right, node) if made is None else made)
        answer = truth(results[-1])
        if answer is False and is_sure:
            break
        is_sure = is_sure and answer is True
        left = right
    if all(isinstance(op, (ast.Is, ast.IsNot)) for op in node.ops):
        del m.operands[start:]  # `is` asks no object anything
    if len(results) == 1:
        return results[0]
    answers = [truth(result) for result in results]
    return UNKNOWN if None in answers else Known(False not in answers, node, any(map(is_weak, results)))  # what isn't known may raise


def _conditional(m: Walker, node: ast.IfExp) -> Value:
    m.facts.uses.reached.add(node)
    test = m.value(node.test)
    answer = m.truth(test)
    if answer is None:
        narrowed = narrowing(m, node.test)
        with m.guarded(node.test, True):
            first, its_writes = m.branch(node.body, narrowed(True))
        with m.guarded(node.test, False):
            second, other_writes = m.branch(node.orelse, narrowed(False))
        if its_writes is None and other_writes is None:
            m.is_dead = True
            return UNKNOWN
        m.store.merge(*(writes for writes in (its_writes, other_writes) if writes is not None))
        choices.note_either(m, node, first, second)
        return join(first, second) if None not in (its_writes, other_writes) else second if its_writes is None else first
    taken, other = (node.body, node.orelse) if answer else (node.orelse, node.body)
    if is_weak(test):
        with m.guarded(node.test, not answer, answer):
            m.branch(other)
        with m.guarded(node.test, answer, answer):
            return weakened(m.value(taken))
    value = choices.note(m, node, test, m.value(taken), other)
    if isinstance(test, (Known, Unknown)) and isinstance(value, Known) and isinstance(value.value, bool):
        return Known(value.value, value.origin, value.weak, value.source or test.source)  # the question's own answer
    return value


def _f_string(m: Walker, node: ast.JoinedStr) -> Value:
    parts: list[str] | None = []
    weak = False
    for part in node.values:
        if isinstance(part, ast.Constant):
            text: str | None = str(part.value)
        elif isinstance(part, ast.FormattedValue):
            value = m.value(part.value)
            spec = m.value(part.format_spec) if part.format_spec is not None else Known("")
            text = formatted(value, part.conversion, spec)
            weak = weak or is_weak(value)
        if parts is not None:
            parts = [*parts, text] if text is not None else None
    return Known("".join(parts), node, weak) if parts is not None else _device_of_any_index(m, node)


def _device_of_any_index(m: Walker, node: ast.JoinedStr) -> Value:
    """Return the first of a kind of device that the Target lacks for `f"cuda:{rank}"`: whatever the index is, there is none."""
    head, *rest = node.values
    device = m.platform.device_of_any_index(head.value) if isinstance(head, ast.Constant) and len(rest) == 1 else ""
    return Known(device, node) if device else Unknown(text=node)


def _sequence(m: Walker, node: ast.List | ast.Tuple | ast.Set) -> Value:
    kind = {ast.List: "list", ast.Tuple: "tuple", ast.Set: "set"}[type(node)]
    made = Items(kind, {}, node)
    for element in node.elts:
        if not isinstance(element, ast.Starred):
            made = with_more(made, [settled(m.value(element))])
            if kind == "set":
                _hash(m, made.values()[-1])
            continue
        inner = m.value(element.value)
        implicit.called(m, [inner], implicit.GOING_THROUGH)
        more = iterated(inner)
        if more is None:
            may_raise(m)
            is_ordered = isinstance(inner, Items) and inner.kind in ("list", "tuple")
            parts = inner.slots if isinstance(inner, Items) and is_ordered else {}
            joined = combine(Items("list", made.slots, node, made.open), ast.Add(), Items("list", parts, node, True), node)
            made = Items(kind, joined.slots if isinstance(joined, Items) else {}, node, True)
        else:
            made = with_more(made, more)
    return made


def _hash(m: Walker, value: Value) -> None:
    """A value becomes an item of a set, or a key: no list can."""
    if isinstance(value, Mapping) or (isinstance(value, Items) and value.kind == "list"):
        raise Raised("TypeError")
    if not isinstance(value, (Known, Symbol, Function)):
        may_raise(m)


def _dict(m: Walker, node: ast.Dict) -> Value:
    result = Mapping({}, node)
    for key_node, value_node in zip(node.keys, node.values, strict=True):
        key = m.value(key_node) if key_node is not None else None
        if key is not None:
            _hash(m, key)
        value = settled(m.value(value_node))
        if key is None:
            before = {name: DictEntry(weakened(entry.value), entry.node, entry.is_sure) for name, entry in result.slots.items()}
            if isinstance(value, Mapping):
                result = united(Mapping(before if value.is_open else result.slots, node, result.is_open), value, node)
            else:  # it may have the keys before it, too
                may_raise(m)
                result = Mapping(before, node, True)
        elif is_sure_key(key):
            result.slots[key.value] = DictEntry(value, value_node)
        else:
            result.slots = {name: DictEntry(_perhaps(entry.value), entry.node, entry.is_sure) for name, entry in result.slots.items()}
            if isinstance(key, Known) and is_hashable(key.value):
                result.slots[key.value] = DictEntry(_perhaps(value), value_node, False)
            result.is_open = True
    return result


def _perhaps(value: Value) -> Value:
    """Return what is left of an entry in whose place another may be."""
    return weakened(value) if isinstance(value, Known) else UNKNOWN


def _lambda(m: Walker, node: ast.Lambda) -> Value:
    defaults = tuple(m.value(default) for default in node.args.defaults)
    keyword_defaults = tuple(None if default is None else m.value(default) for default in node.args.kw_defaults)
    function = Function(node, m.frame, (), defaults, keyword_defaults)
    m.functions.setdefault(id(node), function)
    return function


def _named(m: Walker, node: ast.NamedExpr) -> Value:
    value = m.value(node.value)
    m.bind_outside(node.target.id, value)
    return settled(value)


def _wrapped(m: Walker, node: ast.Await | ast.Starred) -> Value:
    return m.value(node.value)


def _yielded(m: Walker, node: ast.Yield | ast.YieldFrom) -> Value:
    if node.value is not None:
        value = m.value(node.value)
        m.store.lose(value)
        since = max(m.begun, m.round.begun if m.round is not None else 0)
        is_held = isinstance(value, Mapping) and (value.born < since or any(one is value for one, _ in m.yields))  # others may write to it
        each = as_yielded(value) if isinstance(node, ast.Yield) else each_of(loaders.going_through(m, value, node))
        m.yields.append((value, UNKNOWN if is_held or each is None else each))
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
