"""Moves that stand in a branch which the Mac passes over, and the models that stay where they are for that."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from mpslint.facts.events import Certainty, Operand, TensorEvent
from mpslint.facts.facts import Move
from mpslint.facts.values import Argument, Instance, Value, alternatives_of
from mpslint.tensors.kinds import load_kinds
from mpslint.tensors.meet import note
from mpslint.tensors.methods import asked
from mpslint.tensors.signatures import load_signatures
from mpslint.tensors.traits import (
    DTYPE,
    PLACE,
    Machine,
    device_text,
    devices_of,
    dtype_of,
    is_array,
    is_module,
    is_tensor,
    joined_trait,
    trait,
)
from mpslint.tensors.weights import has_weights


def moves_in(m: Machine, block: Sequence[ast.AST]) -> tuple[Move, ...]:
    """Return the moves that the statements of a block by themselves, or an expression, would make."""
    return tuple(_moves(m, block))


def _moves(m: Machine, block: Sequence[ast.AST]) -> Iterator[Move]:
    for one in block:
        call = one.value if isinstance(one, (ast.Expr, ast.Assign)) else one
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr in load_kinds().moves:
            arguments = tuple(Argument(m.looked_at(given), given) for given in call.args)
            keywords = {given.arg: Argument(m.looked_at(given.value), given.value) for given in call.keywords if given.arg}
            place, _ = asked(m, call.func.attr, arguments, keywords, call)
            if place is not None:
                yield Move(call, m.looked_at(call.func.value), place)


def note_left(m: Machine) -> None:
    """Note the models that only a move to a device which no Mac has would have moved: of each choice the first."""
    for choice in m.facts.choices:
        for move in choice.passed_over:
            left = _left(move.moved) if load_kinds().is_absent(device_text(move.place)) else ""
            if left:
                operand = Operand(move.moved, load_kinds().default_place, dtype_of(joined_trait(move.moved, DTYPE)))
                note(m, TensorEvent("left", move.call, (operand,), Certainty.SURE, choice.context, left))
                break


def _left(value: Value) -> str:
    """Return what a value is that certainly lies on the CPU at the end: a `module` with weights, an `object` that a call gave; else ''."""
    kinds = load_kinds()
    options = [one for one in alternatives_of(value) if isinstance(one, Instance) and not is_tensor(one) and not is_array(one)]
    are_there = all(PLACE not in one.slots or devices_of(trait(one, PLACE)) == {kinds.default_place} for one in options)
    if not are_there or not options or len(options) < len(alternatives_of(value)):
        return ""
    if all(map(is_module, options)):
        return "module" if all(map(has_weights, options)) else ""
    return "object" if all(is_module(one) or _may_be_model(one) for one in options) else ""


def _may_be_model(value: Instance) -> bool:
    """Return whether a call gave an object of which nothing is known: what a method gives that tensors have is no model."""
    return value.call is not None and f"{load_kinds().tensor}.{value.call.method}" not in load_signatures()
