"""Comprehensions, worked out round by round where a few constants or the entries of a dict decide them, else walked once."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence, Set

from mpslint.facts.joined import is_sure_key, join_all, truth
from mpslint.facts.values import LATER, UNKNOWN, DictEntry, Instance, Items, Known, Mapping, OneOf, Unknown, Value, count_made, settled
from mpslint.program.assignments import assign, unpacked
from mpslint.program.exits import Raised, cut, marks, raises
from mpslint.program.lists import held_by, holds_still, viewed
from mpslint.program.lists import iterated as iterated_values
from mpslint.program.machine import Walker
from mpslint.program.places import Writes, parts_of
from mpslint.tensors import gone_through, loaders, modules
from mpslint.tensors.traits import is_array, is_kept, is_tensor, part_of

MOST_ROUNDS = 64
"""Rounds that are worked out one by one."""
MOST_ROUND_STEPS = 800
MOST_STEPS_OF_ROUNDS = 20_000
"""Steps that all rounds of a program may take."""


def comprehension(m: Walker, node: ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp) -> Value:
    """Return what a comprehension makes; what it calls is noted once."""
    begun, noted = count_made(), len(m.facts.events)
    found, written = _any_round(m, node)
    if (isinstance(found, (Items, Mapping)) and (found.open if isinstance(found, Items) else found.is_open)) or written:
        events, is_told, m.is_told = m.facts.taken(noted), m.is_told, m.is_told or not m.is_silent
        exact = _exact(m, node)
        m.is_told = is_told
        m.facts.told(events, noted, (node,) if exact is not None else ())
        if exact is not None:
            return exact
    _leave(m, written, _made(found, written, begun))
    # A round finds what those before it have left: what they make may be another, but an object is what it is.
    if not isinstance(getattr(found, "each", None), Instance) and not all(is_kept(key, value) for _, key, value in written.values()):
        with m.silently():
            found, written = _any_round(m, node)
        _leave(m, written)
    m.store.stand_for_many(getattr(found, "each", None), begun)
    return found


def _made(found: Value, written: Writes, since: int) -> Set[int]:
    """Return the places of what rounds make, where they do nothing else: what one of them writes there, each does."""
    values = [getattr(found, "each", None), *(value for _, _, value in written.values())]
    parts = [part for value in values for part in parts_of(value) if isinstance(part, (Items, Mapping, Instance)) and part.born >= since]
    made = {id(part.slots if isinstance(part, Instance) else part) for part in parts}
    return made if all(id(place) in made or is_kept(key, value) for place, key, value in written.values()) else frozenset()


def _leave(m: Walker, written: Writes, made: Set[int] = frozenset()) -> None:
    """Write what holds behind rounds of which any may have written this, and each the numbers in what is `made`."""
    for place, key, value in written.values():
        if is_kept(key, value) or (id(place) in made and isinstance(value, Known) and type(value.value) is int):
            m.store.put(place, key, value)
        else:
            m.store.forget(place, key)


def _any_round(m: Walker, node: ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp) -> tuple[Value, Writes]:
    """Return what a comprehension makes where each of its rounds may be any, and what a round writes, which is undone."""
    before = m.frame
    try:
        with m.store.path() as written:
            found = _any_element(m, node)
    finally:
        own, m.frame = m.frame.slots, before
    return found, {at: one for at, one in written.items() if one[0] is not own}


def _any_element(m: Walker, node: ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp) -> Value:
    """Walk a comprehension as any of its rounds."""
    iterated = m.value(node.generators[0].iter)  # where the comprehension stands: in a class body it sees the names of the class
    m.frame = m.new_frame(m.frame)
    m.frame.is_comprehension = True
    loops = m.context.loops
    for generator in node.generators:
        iterated = iterated if generator is node.generators[0] else m.value(generator.iter)
        loops = (*loops, generator)
        if not m.is_silent:
            m.facts.loops.append((generator, iterated, m.context))
        with m.within(loops=loops):
            assign_loop_target(m, generator.target, iterated)
            for test in generator.ifs:
                m.value(test)
    with m.within(loops=loops):
        if isinstance(node, ast.DictComp):
            m.value(node.key)
            each = m.value(node.value)
            return Mapping({}, node, True, each=each)
        each = m.value(node.elt)
        kind = "list" if isinstance(node, ast.ListComp) else "set" if isinstance(node, ast.SetComp) else "iterator"
        return Items(kind, {}, node, True, each)


def _exact(m: Walker, node: ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp) -> Value | None:
    """Return what a comprehension makes round by round, with all that it does; None where that can't be told, and nothing is done."""
    if m.silent_steps > MOST_STEPS_OF_ROUNDS or m.is_in_comprehension:
        return None
    outer, is_silent = m.frame, m.is_silent
    inner = m.new_frame(outer)
    m.is_silent, m.is_in_comprehension, inner.is_comprehension = True, True, True
    own, before, start, begun = inner.slots, marks(m), m.steps, count_made()
    m.store.begin()
    made: list[list[Value]] = []
    is_told = True
    parts = [node.key, node.value] if isinstance(node, ast.DictComp) else [node.elt]
    try:
        iterated = m.value(node.generators[0].iter)
        m.frame = inner
        for _ in _rounds(m, node.generators, iterated):
            made.append([settled(m.value(part)) for part in parts])
            if m.is_dead or m.steps - start > MOST_ROUND_STEPS or any(_is_outside(one) and not _is_older(one, begun) for one in made[-1]):
                raise _Untold
    except (_Untold, Raised):
        is_told = False
    finally:
        m.frame, m.is_silent, m.is_in_comprehension, m.is_dead = outer, is_silent, False, False
        m.silent_steps += m.steps - start
        found = _made_of(node, made) if is_told else None
        is_lazy = isinstance(node, ast.GeneratorExp) and any(place is not own for place, _, _ in m.store.journals[-1].values())
        if found is None or is_lazy:  # what a generator does, it does later
            m.store.undo()
            cut(m, before)
        else:
            m.store.keep()
    return None if is_lazy else found


def _rounds(m: Walker, generators: Sequence[ast.comprehension], iterated: Value) -> Iterator[None]:
    """Bind the variables of a comprehension for each of its rounds. Raises _Untold where these can't be told."""
    loop, *inner = generators
    values = iterated_values(iterated)
    if values is None or len(values) > MOST_ROUNDS or m.is_dead:
        raise _Untold
    gone_through = [iterated, *viewed(iterated)]
    held = held_by(gone_through)
    for one in values:
        if not holds_still(gone_through, held):
            raise _Untold
        bind_loop_target(m, loop.target, one)
        answer = _passes(m, loop.ifs)
        if answer is None or m.is_dead:
            raise _Untold
        if answer and inner:
            yield from _rounds(m, inner, m.value(inner[0].iter))
        elif answer:
            yield


def _made_of(node: ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp, made: list[list[Value]]) -> Value | None:
    if isinstance(node, ast.DictComp):
        keys = [key.value for key, _ in made if is_sure_key(key)]
        entries = {key: DictEntry(value, node.value) for key, (_, value) in zip(keys, made, strict=False)}
        return Mapping(entries, node) if len(keys) == len(made) else None
    values = [value for (value,) in made]
    if isinstance(node, ast.SetComp):
        return Items("set", {}, node, open=True)
    if isinstance(node, ast.ListComp):
        return Items("list", dict(enumerate(values)), node)
    return Items("iterator", dict(enumerate(values)), node, sources=((UNKNOWN, LATER),))


def _is_outside(value: Value) -> bool:
    """Return whether a value is an object of a library, no tensor: each call of one is a fact, and is noted once for all rounds."""
    if is_tensor(value) or is_array(value):
        return False
    return isinstance(value, (Unknown, OneOf)) or (isinstance(value, Instance) and (value.cls is None or bool(value.cls.outside_bases())))


def _is_older(value: Value, begun: int) -> bool:
    """Return whether a value is an object that was there when a count had begun: what a comprehension does to it is what counts."""
    return isinstance(value, Instance) and value.born < begun


class _Untold(Exception):
    """The rounds of a comprehension can't be told."""


def _passes(m: Walker, tests: list[ast.expr]) -> bool | None:
    """Return whether a round of a comprehension passes its tests, by the defaults of options; None where nothing decides that."""
    for test in tests:
        answer = truth(m.value(test))
        if not answer:
            return answer
    return True


def assign_loop_target(m: Walker, target: ast.expr, iterated: Value) -> None:
    """Bind a loop's variables: to what every element has in common, else to Unknown."""
    element: Value = UNKNOWN
    iterated = loaders.going_through(m, iterated, target)
    if isinstance(iterated, Items) and not iterated.open and iterated.slots:
        element = join_all(iterated.values())
    elif (each := gone_through.each_of(iterated)) is not None:
        element = gone_through.anew(each)
    elif isinstance(iterated, Items) and iterated.each is not None:
        element = join_all([*iterated.values(), iterated.each])
    elif isinstance(iterated, Instance):
        element = m.made(part_of(iterated, f"{iterated.name}[]"))
    elif isinstance(target, ast.Name) and isinstance(iterated, Unknown):
        element = m.made(Instance(""))  # it is one object in each round, whichever that is
        m.store.held[id(element)] = (element, {}, True)
    if isinstance(element, Unknown):
        modules.unplace_within(m, iterated)
    if isinstance(element, Unknown) or not isinstance(target, ast.Name):
        m.store.lose_inside([iterated])
    bind_loop_target(m, target, element)


def bind_loop_target(m: Walker, target: ast.expr, value: Value) -> None:
    if isinstance(target, ast.Name):
        m.bind(target.id, value)
    elif isinstance(target, (ast.Tuple, ast.List)):
        try:
            parts = unpacked(m, target.elts, value)
        except Raised as error:
            raises(m, error, target)
            parts = [UNKNOWN] * len(target.elts)
        for index, (element, part) in enumerate(zip(target.elts, parts, strict=True)):
            inner = element.value if isinstance(element, ast.Starred) else element
            bind_loop_target(m, inner, gone_through.split(value, index) or part)
    elif isinstance(target, (ast.Attribute, ast.Subscript)):
        assign(m, target, value, target, ast.copy_location(ast.Pass(), target))
