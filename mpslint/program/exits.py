"""Paths that leave a block early, by `return`, `break`, `continue` or an exception, and what was written on each until then."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import field
from typing import Protocol

from mpslint.core.knowledge import platform_data
from mpslint.core.record import record
from mpslint.facts.events import Certainty, Operand, TensorEvent
from mpslint.facts.facts import Facts
from mpslint.facts.values import UNKNOWN, Bound, Class, Context, Function, Instance, Items, Known, Mapping, Value
from mpslint.program.places import Place, Writes
from mpslint.program.store import Store

MOST_RAISED = 12
"""Points at which a `try` block may raise that are told apart; beyond, all that it writes is unknown in its handlers."""

RAISING = (ast.Call, ast.Attribute, ast.Subscript, ast.BinOp, ast.UnaryOp, ast.Compare, ast.JoinedStr, ast.Await, ast.Yield, ast.YieldFrom)

_CERTAIN = frozenset({Known, Items, Mapping, Function, Class, Bound})


def is_certain(value: Value) -> bool:
    """Return whether a value shows that working it out did not raise."""
    return value.__class__ in _CERTAIN or (isinstance(value, Instance) and value.cls is not None)


@record(frozen=True, slots=True, eq=False)
class Departure:
    """A path that left: how, by which exception ('' for one that is not known), with which value, and what it wrote."""

    kind: str
    name: str
    value: Value
    writes: Writes


@record(slots=True, eq=False)
class Exit:
    """What paths leave for: the end of a function, of a loop or of a `try` block. Its own journal is the one of a number."""

    kinds: tuple[str, ...]
    journal: int
    paths: list[Departure] = field(default_factory=list)
    version: int = -1
    """The writes of the store when something may last have raised."""
    history: dict[object, tuple[Place, object]] = field(default_factory=dict)
    """Every place that was written since there were too many points to tell apart."""
    is_vague: bool = False
    stops: bool = True
    """Whether nothing that follows an exception which is certain is walked."""
    passes: bool = False
    """Whether an exception goes on behind it, as behind a `finally` block."""

    def of(self, kind: str) -> list[Writes]:
        """Return what was written on the paths that left in one way."""
        return [path.writes for path in self.paths if path.kind == kind]


class Walk(Protocol):
    """What walks a program, as far as it knows the paths that leave."""

    exits: list[Exit]
    is_dead: bool
    is_silent: bool
    store: Store
    facts: Facts
    context: Context


class Raised(Exception):
    """What an expression of known values certainly raises: the name of the exception, and the platform question that it comes of."""

    def __init__(self, name: str, source: str = "") -> None:
        super().__init__(name)
        self.source = source


def leave(m: Walk, kind: str, name: str = "", value: Value = UNKNOWN) -> None:
    """Note that the path that is walked leaves here."""
    if m.is_dead:
        return
    for target in reversed(m.exits):
        if kind in target.kinds:
            target.paths.append(Departure(kind, name, value, m.store.since(target.journal)))
            return
        if kind != "raise" and "return" in target.kinds:
            return


def ends(m: Walk, node: ast.AST, error: Raised | None = None) -> None:
    """Note that the program ends here, by an exception that nothing in it catches: what a fix must not lead to."""
    if not m.is_silent and not any("raise" in target.kinds and not target.passes for target in m.exits):
        operands, source = (Operand(UNKNOWN, "", "", node),), error.source if error is not None else ""
        m.facts.events.append(TensorEvent("ended", node, operands, Certainty.GUARDED, m.context))
        if source in platform_data("shell")["printers"]:
            m.facts.events.append(TensorEvent("empty", node, operands, Certainty.SURE, m.context, source, str(error)))


def raises(m: Walk, error: Raised, node: ast.AST) -> None:
    """The path certainly ends in an exception here; where none catches it, what follows isn't reached, and is walked for its facts."""
    ends(m, node, error)
    target = next((target for target in reversed(m.exits) if "raise" in target.kinds), None)
    if target is not None:
        leave(m, "raise", str(error))
        m.is_dead = m.is_dead or target.stops


def may_raise(m: Walk) -> None:
    """Note that an exception which is not known may leave here."""
    if m.is_dead:
        return
    for target in reversed(m.exits):
        if "raise" in target.kinds:
            break
    else:
        return
    if target.version == m.store.version or target.is_vague:
        return
    target.version = m.store.version
    writes = m.store.since(target.journal)
    if sum(path.kind == "raise" for path in target.paths) >= MOST_RAISED:
        target.is_vague = True
        known = (writes, *target.of("raise"))
        target.history = {at: (place, key) for one in known for at, (place, key, _) in one.items()}
        m.store.histories.append(target.history)
    else:
        target.paths.append(Departure("raise", "", UNKNOWN, writes))


def marks(m: Walk) -> Sequence[int]:
    """Return how many paths have left for each target, for `cut`."""
    return [len(target.paths) for target in m.exits]


def cut(m: Walk, before: Sequence[int]) -> list[tuple[Exit, Departure]]:
    """Forget the paths that left since, and return them with their targets."""
    found = [(target, path) for target, known in zip(m.exits, before, strict=True) for path in target.paths[known:]]
    for target, known in zip(m.exits, before, strict=True):
        del target.paths[known:]
        target.version = -1
    return found
