"""Comprehensions, worked out round by round where a few constants or the entries of a dict decide them, else walked once."""

from __future__ import annotations

import ast

from mpslint.facts.joined import join_all, truth
from mpslint.facts.values import UNKNOWN, DictEntry, Instance, Items, Known, Mapping, Value, is_weak
from mpslint.program import bags
from mpslint.program.attributes import get_item
from mpslint.program.machine import Walker
from mpslint.program.operators import is_hashable

MOST_ROUNDS = 64
"""Rounds that are worked out one by one."""


def comprehension(m: Walker, node: ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp) -> Value:
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
                value = m.value(node.value)
                return _one_object_by_key(m, node, iterated, value) or _entries(m, node)
            m.value(node.elt)
            constants = _every_constant(m, node, iterated) if len(node.generators) == 1 else None
    finally:
        m.frame = before
    return Items("list", dict(enumerate(constants)), node) if constants is not None else Items("list", {}, node, open=True)


def _every_constant(m: Walker, node: ast.ListComp | ast.SetComp | ast.GeneratorExp, iterated: Value) -> list[Value] | None:
    """Return the constants that a comprehension makes of a few, such as `[int(i) for i in "0,1".split(",")]`; None for anything else."""
    if not isinstance(node, ast.ListComp) or not isinstance(iterated, Items) or iterated.open or len(iterated.slots) > MOST_ROUNDS:
        return None
    before, m.is_silent = m.is_silent, True
    made: list[Value] = []
    try:
        for one in iterated.values():
            bind_loop_target(m, node.generators[0].target, one)
            answers = [truth(m.value(test)) for test in node.generators[0].ifs]
            value = m.value(node.elt)
            if not isinstance(one, Known) or not isinstance(value, Known) or None in answers:
                return None
            made += [value] if all(answers) else []
    finally:
        m.is_silent = before
    return made


def _one_object_by_key(m: Walker, node: ast.DictComp, iterated: Value, value: Value) -> Mapping | None:
    """Return the dict of what each round makes in the same way: `{x: DataLoader(sets[x]) for x in ["train", "val"]}`; None for another.

    The objects differ, but the call that makes them is one.
    """
    if len(node.generators) > 1 or node.generators[0].ifs or not isinstance(value, Instance) or value.call is None:
        return None
    if not isinstance(iterated, Items) or iterated.open or not 0 < len(iterated.slots) <= MOST_ROUNDS:
        return None
    before, m.is_silent = m.is_silent, True
    try:
        keys: list[Value] = []
        for one in iterated.values():
            bind_loop_target(m, node.generators[0].target, one)
            keys.append(m.value(node.key))
    finally:
        m.is_silent = before
    if not all(isinstance(key, Known) and is_hashable(key.value) for key in keys):
        return None
    return Mapping({key.value: DictEntry(value, node.value) for key in keys if isinstance(key, Known)}, node)


def _entries(m: Walker, node: ast.DictComp) -> Mapping:
    """Return the dict that a comprehension makes of the entries of another; an open one without entries for anything else.

    A round whose test nothing decides leaves its entry open.
    """
    made, unknown = Mapping({}, node), Mapping({}, node, is_open=True)
    loop, *others = node.generators
    if others or not bags.only_looks([node.key, node.value, *loop.ifs]):
        return unknown
    rounds = bags.entries_in_rounds(m, loop.iter)
    before, m.is_silent = m.is_silent, True
    try:
        for one in rounds if rounds is not None else ():
            bind_loop_target(m, loop.target, one)
            answer = _passes(m, loop.ifs)
            if answer is False:
                continue
            key = m.value(node.key)
            if not isinstance(key, Known) or not is_hashable(key.value):
                return unknown
            if answer:
                made.slots[key.value] = DictEntry(m.value(node.value), node.value)
            else:
                made.slots.pop(key.value, None)
                made.is_open = True
    finally:
        m.is_silent = before
    return made if rounds is not None else unknown


def _passes(m: Walker, tests: list[ast.expr]) -> bool | None:
    """Return whether a round of a comprehension passes its tests; None where nothing decides that."""
    for test in tests:
        value = m.value(test)
        answer = None if is_weak(value) else truth(value)
        if not answer:
            return answer
    return True


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
