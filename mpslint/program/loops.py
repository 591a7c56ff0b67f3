"""Loops: walked once as any of their rounds, for what they do; and round by round, for what they leave, where the rounds are known."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence, Set
from functools import partial
from typing import Any

from mpslint.facts.joined import truth
from mpslint.facts.values import LATER, UNKNOWN, Items, Known, Mapping, Value, is_weak, settled
from mpslint.program import implicit
from mpslint.program.any_round import any_round
from mpslint.program.attributes import NUMBERS
from mpslint.program.comprehensions import assign_loop_target, bind_loop_target
from mpslint.program.exits import RAISING, Raised, cut, marks, may_raise
from mpslint.program.flow import tested
from mpslint.program.lists import held_by, holds_still, may_fail, viewed
from mpslint.program.machine import Walker
from mpslint.program.places import CONTENT, Writes
from mpslint.program.walk import walk
from mpslint.tensors import gone_through
from mpslint.tensors.traits import is_kept

MOST_ROUNDS = 128
"""Rounds that are walked one by one."""
MOST_ROUND_STEPS = 800
"""Steps that the rounds of one loop may take: what takes longer is walked once, as any round."""
MOST_SILENT_STEPS = 20_000
"""Steps that all rounds of a program may take."""
END = object()


class _Undecided(Exception):
    """The rounds of a loop can't be told."""


def for_loop(m: Walker, node: ast.For | ast.AsyncFor) -> bool:
    """Walk a `for`; return whether the path ends in it."""
    iterated = m.value(node.iter)
    if m.is_dead:
        return True
    if isinstance(iterated, Known) and not iterated.source and type(iterated.value) in NUMBERS:
        if not iterated.weak:
            raise Raised("TypeError")
        iterated = UNKNOWN
    if isinstance(iterated, Items) and any(content is LATER for _, content in iterated.sources):
        iterated = settled(iterated)
    if not m.is_silent:
        m.facts.loops.append((node, iterated, m.context))
    has_items = isinstance(iterated, Items) and bool(iterated.slots) and not (iterated.open and iterated.kind == "iterator")
    runs = has_items or gone_through.is_batch(iterated)
    if may_fail(iterated):
        may_raise(m)

    held = held_by(viewed(iterated))

    def begin() -> None:
        implicit.called(m, [iterated], implicit.GOING_THROUGH)
        assign_loop_target(m, node.target, iterated if holds_still(viewed(iterated), held) else UNKNOWN)  # a view is read late

    keys = list(iterated.slots) if isinstance(iterated, Mapping) else []
    following, bind = partial(_element, iterated, first=keys), partial(bind_loop_target, m, node.target)
    is_followable = _is_followable(iterated) and isinstance(node, ast.For)
    least = len(iterated.slots) if isinstance(iterated, (Items, Mapping)) else 1
    return _loop(m, node, begin, runs, following if is_followable else None, bind, least, _goes_through(iterated))


def _goes_through(iterated: Value) -> frozenset[int] | None:
    """Return the ids of the dicts and sets that must not change while a loop goes through them; None for what may raise at any round."""
    if isinstance(iterated, Items) and (not iterated.open or iterated.kind != "iterator"):
        sources = [source for source, _ in iterated.sources] if iterated.kind == "iterator" else [iterated]
        return frozenset(id(one) for one in sources if isinstance(one, Mapping) or (isinstance(one, Items) and one.kind == "set"))
    return frozenset({id(iterated)}) if isinstance(iterated, Mapping) else frozenset() if isinstance(iterated, Known) else None


def _is_followable(iterated: Value) -> bool:
    if isinstance(iterated, Known):
        return isinstance(iterated.value, (str, bytes)) and not iterated.weak and len(iterated.value) <= MOST_ROUNDS
    if isinstance(iterated, Items):
        return (
            not iterated.open
            and iterated.kind != "set"
            and len(iterated.slots) <= MOST_ROUNDS
            and not any(map(is_weak, iterated.slots.values()))
        )
    return isinstance(iterated, Mapping) and not iterated.is_open and len(iterated.slots) <= MOST_ROUNDS and iterated.owner is None


def _element(iterated: Value, number: int, first: Sequence[object]) -> object:
    """Return what a loop binds in a round; END after the last. Raises _Undecided where what it goes through was changed.

    `first` are the keys of the dict that it goes through, when it began.
    """
    if isinstance(iterated, Items):
        one = iterated.slots.get(number, END)
        if iterated.open or not all(_is_as_before(one, source, slots) for source, slots in iterated.sources):
            raise _Undecided
        return one
    if isinstance(iterated, Mapping):
        keys = list(iterated.slots)
        if iterated.is_open or keys != first:
            raise _Undecided
        return Known(keys[number]) if number < len(keys) else END
    text = iterated.value if isinstance(iterated, Known) else ""
    return Known(text[number]) if number < len(text) else END


def _is_as_before(one: object, source: Value, slots: dict[Any, Any]) -> bool:
    """Return whether a view of a list or dict that held `slots` still gives this: a dict may have got other values under other keys."""
    now = source.slots if isinstance(source, (Items, Mapping)) else None
    if now is slots or not isinstance(source, Mapping) or source.is_open or list(now or ()) != list(slots):
        return now is slots
    gone = {id(slots[key].value) for key, entry in source.slots.items() if entry.value is not slots[key].value}
    held = one.values() if isinstance(one, Items) else [one]
    return not any(id(value) in gone for part in held for value in (part, *(part.values() if isinstance(part, Items) else ())))


def while_loop(m: Walker, node: ast.While) -> bool:
    """Walk a `while`; not at all where its test is false at once."""
    before = marks(m)
    m.store.begin()
    test = tested(m, node.test)
    answer = truth(test)
    if m.is_dead or (answer is False and not is_weak(test)):
        m.store.keep()
        return m.is_dead or m.execute_block(m, node.orelse)
    m.store.undo()
    cut(m, before)
    if not m.is_silent:
        m.facts.loops.append((node, UNKNOWN, m.context))

    def following(number: int) -> object:
        test = tested(m, node.test)
        answer = truth(test)
        if answer is None or is_weak(test):
            raise _Undecided
        return UNKNOWN if answer else END

    def begin() -> None:
        tested(m, node.test)

    is_plain = not any(isinstance(one, RAISING) for one in walk(node.test))
    goes_through = frozenset[int]() if is_plain else None
    return _loop(m, node, begin, answer is True, following if answer else None, lambda _: None, goes_through=goes_through)


def _loop(
    m: Walker,
    node: ast.For | ast.AsyncFor | ast.While,
    begin: Callable[[], None],
    runs: bool,
    following: Callable[[int], object] | None,
    bind: Callable[[Value], None],
    least: int = 1,
    goes_through: Set[int] | None = None,
) -> bool:
    """Walk a loop as any of its rounds, then round by round where that can be told; return whether the path ends in it.

    `least` are the rounds that it has if none ends it. It may raise between two rounds, where one changes what it `goes_through`.
    """
    if m.is_silent and following is not None and (ends := _rounds(m, node, following, bind)) is not None:
        return _finish(m, node, *ends)
    before, start = marks(m), m.steps
    made, noted = len(m.facts.objects), len(m.facts.events)
    states, breaks = any_round(m, node, begin)
    taken = m.steps - start
    if not runs:
        states = [*states, _of_made(states, {id(one.slots) for one in m.facts.objects[made:]})]
    if following is not None and not m.is_silent and taken * least < MOST_ROUND_STEPS:
        of_any = cut(m, before)
        events = m.facts.taken(noted)
        with m.silently():
            m.is_told = True
            ends = _rounds(m, node, following, bind)
        m.facts.told(events, noted, node.body if ends is not None else ())
        if ends is not None:
            return _finish(m, node, *ends)
        for target, path in of_any:
            target.paths.append(path)
    is_shaky = goes_through is None or any(key is CONTENT and at in goes_through for state in states for at, key in state)
    return _finish(m, node, states, breaks, is_shaky, begin if isinstance(node, ast.While) else None)


def _of_made(states: Sequence[Writes], made: Set[int]) -> Writes:
    """Return what is kept of the objects that rounds make: where there is no round, there is no object either."""
    return {at: one for state in states for at, one in state.items() if at[0] in made and is_kept(one[1], one[2])}


def _rounds(
    m: Walker, node: ast.For | ast.AsyncFor | ast.While, following: Callable[[int], object], bind: Callable[[Value], None]
) -> tuple[list[Writes], list[Writes]] | None:
    """Walk a loop round by round; return what was written where it ends, and where it breaks. None where its rounds can't be told."""
    before, last = marks(m), m.steps + MOST_ROUND_STEPS
    goes_on = True
    try:
        with m.leaving("break", "continue") as (target, written):
            for number in range(MOST_ROUNDS + 1):
                one = following(number)
                if m.is_dead:
                    goes_on, m.is_dead = False, False
                    break
                if one is END:
                    break
                if m.steps > last or number == MOST_ROUNDS or m.silent_steps > MOST_SILENT_STEPS:
                    raise _Undecided
                bind(one)  # type: ignore[arg-type]
                continued, start = len(target.of("continue")), m.steps
                with m.within(loops=(*m.context.loops, node)):
                    leaves = m.execute_block(m, node.body)
                m.silent_steps += m.steps - start
                states = target.of("continue")[continued:]
                if states:
                    until_here = m.store.undo()
                    m.store.begin()
                    m.store.merge(*([] if leaves else [until_here]), *states)
                elif leaves:
                    goes_on = False
                    break
    except _Undecided:
        m.is_dead = False
        cut(m, before)
        return None
    return [written] if goes_on else [], target.of("break")


def _finish(
    m: Walker,
    node: ast.For | ast.AsyncFor | ast.While,
    states: Sequence[Writes],
    breaks: Sequence[Writes],
    is_shaky: bool = False,
    ask: Callable[[], None] | None = None,
) -> bool:
    """Write what holds behind a loop that ends in one of some states, or breaks in others; return whether it does neither.

    Where it `is_shaky`, it may raise in the states in which it ends, as they are those between its rounds. What it may have to `ask` last,
    the test that ends it, may write something.
    """
    is_endless = isinstance(node, ast.While) and isinstance(node.test, ast.Constant) and bool(node.test.value)
    paths = list(breaks)
    if states and not is_endless:
        with m.store.path() as written:
            m.store.merge(*states)
            if is_shaky:
                may_raise(m)
            if ask is not None:
                with m.silently():
                    ask()
            leaves = m.execute_block(m, node.orelse) or m.is_dead
        m.is_dead = False
        if not leaves:
            paths.insert(0, written)
    if not paths:
        return True
    m.store.merge(*paths)
    return False
