"""The body of a loop as any of its rounds: walked until another walk would show no more of what a round may find and write."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence, Set
from dataclasses import field
from typing import Any, TypeAlias, get_args

from mpslint.core.record import record
from mpslint.facts.joined import join
from mpslint.facts.values import (
    LOOP,
    MAYBE,
    DictEntry,
    Instance,
    Items,
    Known,
    Mapping,
    Names,
    OneOf,
    Part,
    Unknown,
    Value,
    alternatives_of,
    count_made,
    is_trait,
)
from mpslint.program import effects
from mpslint.program.exits import cut, marks
from mpslint.program.machine import Walker
from mpslint.program.places import CONTENT, MISSING, Writes, put_at, unknown_for, value_at, widened
from mpslint.program.rounds import CameTo, Round, writes_of
from mpslint.program.walk import assigning, children, walk
from mpslint.tensors.kinds import load_kinds
from mpslint.tensors.traits import DTYPE, PLACE, covers, has_traits, retyped, without_shape

Loop: TypeAlias = ast.For | ast.AsyncFor | ast.While
MOST_REPEATED_STEPS = 20_000
"""Steps that a program may take for walking loops anew; from there on, what is written in a loop is forgotten before it is walked once."""
MOST_ATTEMPTS = 4
DEEPEST_CARRIED = 2
"""Loops within one another that are walked anew for the tensors that a round hands to the next: each level more would double the work."""
DEEPEST_LEFT = 3
"""Lists and dicts within one another that are handed on to the next round as a round leaves them."""
VALUES = get_args(Value)
SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)


@record(eq=False)
class _Walks:
    """The walks of a loop's body as any of its rounds: what is known of a round after those that were."""

    m: Walker
    node: Loop
    begin: Callable[[], None]
    """What gives a round's names their values, or asks whether there is one."""
    changed: Writes = field(default_factory=dict)
    """What the rounds before may have written."""
    more: Writes = field(default_factory=dict)
    """What the last walk showed beside that."""
    carried: dict[str, Value] = field(default_factory=dict)
    """The tensors and modules that the rounds before left in names."""
    applied: dict[str, Value] = field(default_factory=dict)
    """Those with which the last walk began."""
    first: int = field(default_factory=count_made)
    """When the first walk began, by a count of all that is made."""

    def walk(self, this: Round, known: CameTo | None) -> tuple[list[Writes], list[Writes], bool]:
        """Walk the body once; return the states in which a round ends, those in which it leaves the loop, and whether that is all there is.

        It begins with what is known of the loop by a walk of the one around it.
        """
        m, node = self.m, self.node
        with m.leaving("break", "continue") as (target, written):
            m.store.redo(self.changed)
            if this.is_last:
                effects.about_to_run(m, node)
            this.begun, this.lost, blind = count_made(), len(m.store.lost), m.store.blind
            own: dict[str, dict[Any, Value]] = {name: m.home_of(name).slots for name in _assigned_in(m, node)}
            started = {name: slots[name] for name, slots in own.items() if name in slots}
            if known is not None:
                _carry(self.carried, started, own, {(id(own[name]), name): (own[name], name, one) for name, one in known.carried.items()})
            self.applied = dict(self.carried)
            for name, value in started.items():
                m.store.lose(value)
                m.store.write(own[name], name, self.carried.get(name, value if _is_carried(value) else LOOP))
            this.frames, this.objects = len(m.facts.frames), len(m.facts.objects)
            self.begin()
            this.own = {(id(slots), name) for name, slots in own.items()}
            this.own |= {(id(m.home_of(name).slots), name) for name in _bound_by(node)}  # each round binds them first
            m.round = this
            try:
                with m.within(loops=(*m.context.loops, node)):
                    leaves = m.execute_block(m, node.body)
            finally:
                m.round = this.around
        states = [*([] if leaves else [written]), *target.of("continue")]
        self._note_more(states, this)
        is_carried = [_carry(self.carried, started, own, state) for state in states]
        exposed = [one for one in m.store.lost_since(this.lost) if one.born < self.first] if blind != m.store.blind else []
        is_same = not self.more and not exposed and not this.is_partial
        is_done = is_same and not (any(is_carried) and len(m.context.all_loops) < DEEPEST_CARRIED)
        return states, target.of("break"), this.is_last or is_done or _is_walked_again(m, self.more, exposed)

    def _note_more(self, states: Sequence[Writes], this: Round) -> None:
        store, new = self.m.store, this.new_places(self.m.facts)
        self.more = {}
        for state in states:
            wider = _wider(self.m, state, {**self.changed, **self.more}, new, self.first, this.begun)
            self.more.update(wider)
            for at, (place, key, value) in state.items():
                if at in wider or at in new:  # the next round may find it under what is then not known
                    store.lose(value_at(place, key))
                    store.lose(value)


def any_round(m: Walker, node: Loop, begin: Callable[[], None]) -> tuple[list[Writes], list[Writes]]:
    """Walk the body of a loop as any of its rounds: nothing is known of what a round before it may have written.

    What that is shows when it is walked; then it is walked anew, without what it noted. Return the states in which a round ends, and those
    in which it leaves the loop.
    """
    here = node, m.context.calls, m.is_silent
    known = m.round.taken(here) if m.round is not None else None
    walks, this, most = _Walks(m, node, begin), Round(m.round), MOST_ATTEMPTS
    if known is not None:
        walks.changed = _wider(m, writes_of(known, m.frame), {}, frozenset(), walks.first)
    noted, before, analysed = m.facts.marks(), marks(m), frozenset(m.analysed)
    for attempt in range(MOST_ATTEMPTS + 1):
        this.is_last = attempt >= most - 1 or m.repeated_steps > MOST_REPEATED_STEPS
        start, silent, repeated = m.steps, m.silent_steps, m.repeated_steps
        states, breaks, is_done = walks.walk(this, known if attempt == 0 else None)
        changed = {**walks.changed, **walks.more}
        if is_done:
            break
        walks.changed = changed
        m.repeated_steps = repeated + m.steps - start - (m.silent_steps - silent)
        m.store.forget_lost(this.lost, walks.first)
        most += this.is_partial
        this = this.thrown(m.facts)
        m.facts.back_to(noted)
        m.analysed.intersection_update(analysed)
        cut(m, before)
    if m.round is not None:
        this.keep()
        is_deep = len(m.context.all_loops) >= DEEPEST_CARRIED
        m.round.note(here, changed, walks.applied if is_deep else walks.carried, m.frame)
    if not walks.more or not this.is_last:
        return states, breaks
    nothing_known: Writes = {at: (place, key, unknown_for(place, value_at(place, key))) for at, (place, key, _) in changed.items()}
    return [{**state, **nothing_known} for state in states], [{**state, **nothing_known} for state in breaks]


def _is_walked_again(m: Walker, more: Writes, exposed: Sequence[Part]) -> bool:
    """Return whether the loop around this one is walked anew, so that this one needs no other walk now.

    That is for what a round of this one writes, or for what was lost in it, which what is written blindly may reach now.
    """
    around = m.round
    if around is None or around.is_last or not around.is_first:
        return False
    if not any(one.born < around.begun for one in exposed) and not _wider(m, more, {}, around.new_places(m.facts), around.begun):
        return False
    around.is_partial = True
    return True


def _is_carried(value: Value) -> bool:
    """Return whether a value is handed from round to round as long as none writes another: a tensor, several, a module, a device, None."""
    if isinstance(value, Known):
        return value.value is None or value.source == load_kinds().device_class
    return has_traits(value) or (isinstance(value, Items) and bool(value.slots) and all(map(has_traits, value.values())))


def _carry(carried: dict[str, Value], started: dict[str, Value], own: dict[str, dict[Any, Value]], state: Writes) -> bool:
    """Note the tensors and modules that a round leaves in names for the next one; return whether these are others than it began with."""
    is_new = False
    for name, before in started.items():
        known = carried.get(name, before)
        _, _, value = state.get((id(own[name]), name), (None, None, known))
        value = _as_left(value, state)
        if isinstance(value, VALUES) and (_is_carried(value) or _is_carried(known)) and not covers(known, value):
            wider = join(known, value)  # where each round makes a tensor smaller, none has the dimensions of all
            wider = without_shape(wider) if name in carried else wider
            if name not in carried or not covers(known, wider):  # what many have in common stays that
                carried[name], is_new = wider, True
    return is_new


def _as_left(value: Any, state: Writes, deepest: int = DEEPEST_LEFT) -> Any:
    """Return an object with the traits that a round wrote to it, and a list or dict with what it holds then, as all is undone later."""
    if isinstance(value, DictEntry):
        left = _as_left(value.value, state, deepest)
        return value if left is value.value else DictEntry(left, value.node, value.is_sure)
    if isinstance(value, (Items, Mapping)) and deepest and not (isinstance(value, Mapping) and value.owner is not None):
        _, _, (slots, is_open, each) = state.get((id(value), CONTENT), (value, CONTENT, value_at(value, CONTENT)))
        held = {**slots, **{key: one for place, key, one in state.values() if place is slots}}
        now = {key: _as_left(one, state, deepest - 1) for key, one in held.items() if one is not MISSING}
        if slots is value.slots and now.keys() == slots.keys() and all(now[key] is one for key, one in slots.items()):
            return value
        if isinstance(value, Items):
            return Items(value.kind, now, value.origin, is_open, each)
        return Mapping(now, value.origin, is_open, each=each)
    if not isinstance(value, Instance) or value.cls is not None:
        return value
    written = {key: one for key in (PLACE, DTYPE) if (one := state.get((id(value.slots), key), (None, None, None))[2]) is not None}
    return retyped(value, **{key[1]: one for key, one in written.items()}) if written else value


def _wider(m: Walker, state: Writes, changed: Writes, new: Set[object], first: int, begun: int = 0) -> Writes:
    """Return what is to be taken of each place that a round wrote and that was there before it, where more was known of it.

    What was `new` in the round are some places by their ids, and what was made since the `first` walk of the loop:
    of what an earlier walk made and this one writes nothing is known from here on, as it stands for what earlier rounds made.
    """
    found: Writes = {}
    for at, (place, key, value) in state.items():
        old = changed[at][2] if at in changed else value_at(place, key)
        if isinstance(place, dict):
            if value is old or id(place) in new or at in new:
                continue
            holder = m.store.holders.get(id(place))
            if holder is not None and holder.born >= first:
                continue
            if value is MISSING and not isinstance(place, Names) and old is not MAYBE:
                found[at] = (place, key, MAYBE)  # a round deletes the attribute
                continue
            if isinstance(old.value if isinstance(old, DictEntry) else old, Unknown):
                continue
            if isinstance(old, OneOf) and isinstance(value, VALUES) and set(map(id, alternatives_of(value))) <= set(map(id, old.values)):
                continue  # a test left some of them
            if isinstance(old, VALUES) and isinstance(value, VALUES) and (is_trait(key) or has_traits(old) or has_traits(value)):
                if not covers(old, value):
                    found[at] = (place, key, join(old, value))
                continue
            found[at] = (place, key, unknown_for(place, old))
        elif place.born < first:
            wider = widened(place, old, value, first)
            if wider is not None:
                found[at] = (place, key, wider)
        elif place.born < begun:
            put_at(place, key, unknown_for(place, old))
    return found


def _bound_by(node: ast.For | ast.AsyncFor | ast.While) -> list[str]:
    """Return the names that a loop binds in each round."""
    below = () if isinstance(node, ast.While) else walk(node.target)
    return [one.id for one in below if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store)]


def _assigned_in(m: Walker, node: ast.For | ast.AsyncFor | ast.While) -> frozenset[str]:
    """Return the names that a loop's body assigns, those in nested functions left out."""
    known = vars(node)  # the runs of a project walk the same nodes
    if "assigned_in" not in known:
        below = children if ":=" in m.document.code else assigning
        found: set[str] = set()
        stack: list[ast.AST] = list(node.body)
        while stack:
            inner = stack.pop()
            if isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Store):
                found.add(inner.id)
            elif not isinstance(inner, SCOPES):
                stack += below(inner)
        known["assigned_in"] = frozenset(found)
    assigned: frozenset[str] = known["assigned_in"]
    return assigned
