"""Comprehensions, worked out round by round where a few constants or the entries of a dict decide them, else walked once."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from typing import TypeAlias

from mpslint.facts.joined import join_all, truth
from mpslint.facts.values import UNKNOWN, DictEntry, Instance, Items, Known, Mapping, Value, is_weak
from mpslint.program import bags
from mpslint.program.attributes import get_item
from mpslint.program.machine import Walker
from mpslint.program.operators import is_hashable

MOST_ROUNDS = 64
"""Rounds that are worked out one by one."""
_Round: TypeAlias = tuple["bool | None", list[Value]]
"""Whether the tests let a round make something, None where that isn't known, and the values."""


def comprehension(m: Walker, node: ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp) -> Value:
    """Return what a comprehension makes; what it calls is noted once."""
    before = m.frame
    m.frame = m.new_frame(before)
    loops = m.context.loops
    try:
        for generator in node.generators:
            iterated = m.value(generator.iter)
            loops = (*loops, generator)
            with m.within(loops=loops):
                assign_loop_target(m, generator.target, iterated)
                for test in generator.ifs:
                    m.value(test)
        with m.within(loops=loops):
            if isinstance(node, ast.DictComp):
                m.value(node.key)
                return _one_object_by_key(m, node, iterated, m.value(node.value)) or _entries(m, node) or Mapping({}, node, is_open=True)
            m.value(node.elt)
            return (_constants(m, node, iterated) if isinstance(node, ast.ListComp) else None) or Items("list", {}, node, open=True)
    finally:
        m.frame = before


def _in_rounds(
    m: Walker, node: ast.ListComp | ast.DictComp, rounds: list[Value], made: Sequence[ast.expr], by_default: bool = False
) -> Iterator[_Round]:
    """Yield what a comprehension of one loop makes in each round, but for the rounds that its tests leave out, also `by_default`."""
    (loop,) = node.generators
    before, m.is_silent, m.in_rounds = m.is_silent, True, True
    try:
        for one in rounds:
            bind_loop_target(m, loop.target, one)
            is_made = _passes(m, loop.ifs, by_default)
            if is_made is not False:
                yield is_made, [m.value(part) for part in made]
    finally:
        m.is_silent, m.in_rounds = before, False


def _passes(m: Walker, tests: list[ast.expr], by_default: bool) -> bool | None:
    """Return whether a round of a comprehension passes its tests; None where nothing decides that, or an option unless `by_default`."""
    for test in tests:
        value = m.value(test)
        answer = None if is_weak(value) and not by_default else truth(value)
        if not answer:
            return answer
    return True


def _few(m: Walker, node: ast.ListComp | ast.DictComp, iterated: Value) -> list[Value]:
    """Return what the one loop of a comprehension goes through, if that is a few values that are known; nothing for another.

    One inside another isn't worked out for each of its rounds: they would multiply.
    """
    if m.in_rounds or len(node.generators) > 1 or not isinstance(iterated, Items):
        return []
    is_few = not iterated.open and iterated.kind != "set" and len(iterated.slots) <= MOST_ROUNDS
    return iterated.values() if is_few else []


def _constants(m: Walker, node: ast.ListComp, iterated: Value) -> Items | None:
    """Return the constants that a comprehension makes of a few, such as `[int(i) for i in "0,1".split(",")]`; None for anything else."""
    rounds = _few(m, node, iterated)
    if not rounds or not all(isinstance(one, Known) for one in rounds) or not bags.only_looks([node.elt, *node.generators[0].ifs]):
        return None
    made = list(_in_rounds(m, node, rounds, [node.elt], by_default=True))
    if not all(is_made and isinstance(value, Known) for is_made, (value,) in made):
        return None
    return Items("list", {number: value for number, (_, (value,)) in enumerate(made)}, node)


def _one_object_by_key(m: Walker, node: ast.DictComp, iterated: Value, value: Value) -> Mapping | None:
    """Return the dict of what each round makes in the same way: `{x: DataLoader(sets[x]) for x in ["train", "val"]}`; None for another.

    The objects differ, but the call that makes them is one.
    """
    rounds = _few(m, node, iterated) if isinstance(value, Instance) and value.call is not None else []
    keys = [key if is_made else UNKNOWN for is_made, (key,) in _in_rounds(m, node, rounds, [node.key])] if rounds else []
    if not keys or not all(isinstance(key, Known) and is_hashable(key.value) for key in keys):
        return None
    return Mapping({key.value: DictEntry(value, node.value) for key in keys if isinstance(key, Known)}, node)


def _entries(m: Walker, node: ast.DictComp) -> Mapping | None:
    """Return the dict that a comprehension makes of the entries of another; None for anything else.

    A round whose test nothing decides leaves its entry open.
    """
    loop, *others = node.generators
    is_plain = not others and not m.in_rounds and bags.only_looks([node.key, node.value, *loop.ifs])
    rounds = bags.entries_in_rounds(m, loop.iter) if is_plain else None
    made = Mapping({}, node)
    for is_made, (key, value) in list(_in_rounds(m, node, rounds, [node.key, node.value])) if rounds is not None else ():
        if not isinstance(key, Known) or not is_hashable(key.value):
            return None
        if is_made:
            made.slots[key.value] = DictEntry(value, node.value)
        else:
            made.slots.pop(key.value, None)
            made.is_open = True
    return made if rounds is not None else None


def assign_loop_target(m: Walker, target: ast.expr, iterated: Value) -> None:
    """Bind a loop's variables: to what every element has in common, else to Unknown."""
    element: Value = UNKNOWN
    if isinstance(iterated, Items) and not iterated.open and iterated.slots:
        element = join_all(iterated.values())
    elif isinstance(iterated, Instance):
        element = Instance(f"{iterated.name}[]", owner=iterated)
    bind_loop_target(m, target, element)


def bind_loop_target(m: Walker, target: ast.expr, value: Value) -> None:
    if isinstance(target, ast.Name):
        m.bind(target.id, value)
    elif isinstance(target, (ast.Tuple, ast.List)):
        for index, element in enumerate(target.elts):
            inner = element.value if isinstance(element, ast.Starred) else element
            part = get_item(m, value, Known(index)) if isinstance(value, (Items, Instance)) else UNKNOWN
            bind_loop_target(m, inner, UNKNOWN if isinstance(element, ast.Starred) else part)
