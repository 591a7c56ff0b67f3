"""Events as rules ask about them: which kind, of what and how sure, at the place that has to change."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from typing import Any

from mpslint.core.finding import Related, Span
from mpslint.core.record import record
from mpslint.facts.events import Certainty, Operand, TensorEvent
from mpslint.facts.values import UNKNOWN, Call, Instance, origin_of
from mpslint.program.walk import walk
from mpslint.rule.memory import arithmetic, beyond_memory
from mpslint.rule.rule import Condition
from mpslint.settings.evidence import Evidence, once
from mpslint.tensors.kinds import load_kinds
from mpslint.tensors.memory import dtype_in
from mpslint.tensors.traits import DTYPE, GRAPH, PLACE, dtype_of, is_array, is_module, is_tensor, is_true, joined_trait

LONGEST_OPERATION = 60
FOLLOWED = ("mismatch", "absent")
"""What happens where a device follows a tensor for CUDA only."""
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
Place = tuple[Span, Mapping[str, Any], TensorEvent, tuple[Related, ...], ast.AST]
"""Where a finding is, what its message may speak of, the event, the other places that it names, and the expression to change."""


def events_for(condition: Condition, evidence: Evidence) -> Iterator[Place]:
    """Yield the events that a condition is about; unless it says otherwise, those that are sure."""
    options = condition.options
    for event, values in beyond_memory(options["memory"], evidence) if "memory" in options else ():
        yield evidence.span_of(event.node), {"operation": operation(event), **values}, event, (), event.node
    certainties = {Certainty(one) for one in options.get("certainty", [Certainty.SURE.value])}
    for event in evidence.facts.events:
        if event.kind in condition.names and event.certainty in certainties and _is_asked(event, options) and "memory" not in options:
            followed = _followed(event, evidence) if event.kind in FOLLOWED else None
            if followed is None and "follows" not in options:
                yield _placed(event, evidence)
            elif followed is not None and "follows" in options:  # one place, where the device was chosen
                values = {"tensor": ast.unparse(followed.tensor), "value": event.kind}
                values["effect"] = options["follows"][event.kind].format(**values)
                yield evidence.span_of(followed.shown), values, event, (), followed.choice


@record(frozen=True, slots=True)
class Followed:
    """A choice of a device by that of a tensor."""

    tensor: ast.expr
    choice: ast.AST
    shown: ast.AST


def _followed(event: TensorEvent, evidence: Evidence) -> Followed | None:
    """Return the choice by which the last operand lies where it does, or has the device that it asks for; None for another event."""
    origin, kinds = event.operands[-1].origin, load_kinds()
    if origin is None:
        return None
    if event.kind == "absent":  # a text that is put together, maybe of a number that was given a name
        is_made = isinstance(origin, (ast.BinOp, ast.JoinedStr, ast.Call))
        wholes = (origin, evidence.parents.get(origin), evidence.above(origin, FUNCTIONS) if is_made else None)
        number: Any = next((one for whole in wholes if whole is not None and (one := _number_in(evidence, whole)) is not None), None)
        return Followed(number.func.value, origin, origin) if number is not None else None
    for choice in evidence.facts.choices:
        package, _, asked = choice.source.rpartition(".")
        if package == kinds.tensor and kinds.place_questions.get(asked) != kinds.gpu and isinstance(choice.node, (ast.If, ast.IfExp)):
            kept = [choice.value or UNKNOWN, *(move.moved for move in choice.passed_over)]
            origins = [*ast.walk(choice.node), *(origin_of(joined_trait(one, PLACE)) for one in kept)]
            tensor = next((one.value for one in ast.walk(choice.node.test) if isinstance(one, ast.Attribute) and one.attr == asked), None)
            if tensor is not None and any(one is origin for one in origins):
                return Followed(tensor, choice.node, choice.node if isinstance(choice.node, ast.IfExp) else choice.node.test)
    return None


@once
def _number_in(evidence: Evidence, whole: ast.AST) -> ast.AST | None:
    """Return the first call in a node that asks for the number of a tensor's device."""
    numbers = {call.node for name in load_kinds().place_numbers for call in evidence.calls_of_method.get(name, ())}
    return next((one for one in walk(whole) if one in numbers), None) if numbers else None


def _is_asked(event: TensorEvent, options: Mapping[str, Any]) -> bool:
    """Return whether an event is `of` what is asked for, and its last operand has the `dtype`, or carries the `graph`."""
    changed = event.operands[-1]
    is_of = event.of in options.get("of", [event.of]) and changed.dtype in options.get("dtype", [changed.dtype])
    return is_of and (not options.get("graph") or is_true(joined_trait(changed.value, GRAPH)))


def _placed(event: TensorEvent, evidence: Evidence) -> Place:
    """Return an event at the operand that has to change: the last, where it was made or left behind, else where it is used."""
    changed = event.operands[-1]
    maker = maker_of(event)
    if maker is not None:
        node: ast.AST = maker.node
    else:
        node = _cast_of(event, evidence) or event.node if changed.node is None or event.kind == "float64" else changed.node
    span = evidence.span_of(node)
    values: dict[str, Any] = {
        "operation": operation(event),
        "written": evidence.document.text[span.start : span.end],
        "value": event.kind,
        "of": event.of,
        "name": event.name,
        "size": f" ({told})"
        if event.kind == "kept" and (told := arithmetic(changed.value, dtype_in(event.context, changed.value)))
        else "",
    }
    related = []
    for side, operand in zip(("other", "changed") if len(event.operands) > 1 else ("changed",), event.operands, strict=True):
        values |= {
            side: ast.unparse(operand.node) if operand.node is not None else "",
            f"{side}_place": operand.place,
            f"{side}_dtype": operand.dtype,
        }
        if maker is None and (origin := _origin(operand, evidence)) is not None and origin not in span and span not in origin:
            said = f"{values[side]} is put on {operand.place} here" if operand.place else f"{values[side]} is made here"
            said = f"{operand.dtype} comes from here" if event.kind == "float64" else said  # of which the origin is that of the dtype
            related.append(Related(origin, said))
    if maker is not None and span not in evidence.span_of(event.node):
        related.append(Related(evidence.span_of(event.node), "it goes to the Mac's GPU here"))
    related += _premise(event, evidence)
    return span, values, event, tuple(related), node


def _premise(event: TensorEvent, evidence: Evidence) -> list[Related]:
    """Return the function around an event that nothing calls, with what its device was taken for; nothing where none had to be."""
    function = next(iter(event.context.functions), None)
    names = evidence.facts.premised.get(function, ()) if isinstance(function, FUNCTIONS) else ()
    if not isinstance(function, FUNCTIONS) or not names:
        return []
    taken = f"{' and '.join(f'`{name}`' for name in names)} {'is' if len(names) == 1 else 'are'} taken for the Mac's GPU"
    return [Related(evidence.span_of(function), f"no call of {function.name}() is seen in this file: its {taken}")]


def _origin(operand: Operand, evidence: Evidence) -> Span | None:
    return evidence.span_of(operand.origin) if operand.origin is not None and hasattr(operand.origin, "lineno") else None


def _cast_of(event: TensorEvent, evidence: Evidence) -> ast.AST | None:
    """Return the cast that gave what is moved later its dtype; None for what is cast there, or is a part of what a call returns."""
    cast = event.operands[-1].origin
    if not isinstance(cast, ast.Call) or not isinstance(cast.func, ast.Attribute) or cast is event.node:
        return None
    casts = (call.result for call in evidence.calls_at.get(cast, ()) if call.method == cast.func.attr)
    return cast if any(one is not None and (is_tensor(one) or is_array(one) or is_module(one)) for one in casts) else None


def maker_of(event: TensorEvent) -> Call | None:
    """Return the call that made a tensor which has the wrong dtype from there on; None where another value does."""
    value = event.operands[-1].value
    is_cast = event.of == "cast" or dtype_of(joined_trait(value, DTYPE)) != event.operands[-1].dtype
    is_moved = event.kind == "float64" and not is_cast  # what is cast there had another dtype
    is_made = is_moved and isinstance(value, Instance) and value.cls is None and value.owner is None  # it wasn't cast since
    made = value.call if is_made and isinstance(value, Instance) and not is_module(value) else None  # which is cast in place
    return made if made is not None and not made.method and made.arguments and made.node is not event.node else None


def operation(event: TensorEvent) -> str:
    """Return what happens, as a reader writes it: the name of a function, the sign of an operator."""
    node = event.node
    if isinstance(node, ast.Call):
        return f"{ast.unparse(node.func)}()"
    text = ast.unparse(node)
    return text if len(text) <= LONGEST_OPERATION else f"{text[: LONGEST_OPERATION - 3]}..."


def call_of(event: TensorEvent, evidence: Evidence) -> Call | None:
    """Return the call that made what is changed, else that in which an event happens; None for an operator."""
    return maker_of(event) or next(iter(evidence.calls_at.get(event.node, ())), None)
