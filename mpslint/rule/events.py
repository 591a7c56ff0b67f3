"""Events as rules ask about them: which kind, of what and how sure, at the place that has to change; and the arithmetic of tensors that
are more than the memory of the Mac."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from typing import Any

from mpslint.core.finding import Related, Span
from mpslint.core.knowledge import platform_data
from mpslint.core.record import record
from mpslint.facts.events import Certainty, Operand, TensorEvent
from mpslint.facts.values import UNKNOWN, Call, Instance, Items, Value, alternatives_of, is_weak, origin_of
from mpslint.program.walk import walk
from mpslint.rule.rule import Condition
from mpslint.settings.evidence import Evidence, once
from mpslint.target.macs import GIB, limits, smallest_for
from mpslint.tensors.graphs import passes_of
from mpslint.tensors.kinds import load_kinds
from mpslint.tensors.memory import bytes_of, dtype_in, size_of
from mpslint.tensors.shapes import product_of, shape_of
from mpslint.tensors.signatures import load_signatures
from mpslint.tensors.traits import DTYPE, GRAPH, PLACE, SHAPE, dtype_of, is_array, is_module, is_tensor, is_true, joined_trait

LONGEST_OPERATION = 60
FOLLOWED = ("mismatch", "absent")
"""What happens where a device follows a tensor for CUDA only."""
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
Place = tuple[Span, Mapping[str, Any], TensorEvent, tuple[Related, ...], ast.AST]
"""Where a finding is, what its message may speak of, the event, the other places that it names, and the expression to change."""
ON_DEVICE = ("device", "wanted")
JOINS = ("joined", "stacked")


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


def beyond_memory(words: Mapping[str, str], evidence: Evidence) -> Iterator[tuple[TensorEvent, dict[str, str]]]:
    """Yield the event that needs most of each loop that isn't within another, where a Mac has less, and what is to be said of it.

    There are `words` for what is needed (`made`, `beside` its operands, when a function has `run`, in its `backward` pass, `kept` by the
    rounds of a loop, and then `joined`, `growing` where nobody knows how many there are, `defaults` of options), and for the Mac, one of a
    memory that is `given`, or `assumed` where none is, or `none`, and its `room`.
    """
    memory = evidence.target.memory_gib or platform_data("assumptions")["memory_gb"]
    worst: dict[object, _Needed] = {}
    for event in evidence.facts.events:
        found = _needed(event, evidence) if event.kind in ("large", "kept") and event.certainty is Certainty.SURE else None
        loop = next(iter(event.context.all_loops), None)
        if found is not None and found.bytes > max(memory * GIB, worst[loop].bytes if loop in worst else 0):
            worst[loop] = found
    for found in worst.values():
        event, largest = found.event, found.event.operands[-1]
        each = bytes_of(largest.value, found.dtype)
        told = {
            "product": arithmetic(largest.value, found.dtype),
            "needed": _gib(found.bytes),
            "copies": found.bytes // each,
            "rounds": found.rounds,
            "defaults": words["defaults"] if is_weak(joined_trait(largest.value, SHAPE)) else "",
        }
        judged = words["room"].format(memory=memory, most=memory * GIB // each) if found.how == "growing" else ""
        values = {"told": words[found.how].format(**told), "judged": judged or _judged(found.bytes, memory, evidence, words)}
        keeps = event.operands[0].node if event.kind == "kept" else None
        yield event, {**values, **({} if keeps is None else {"operation": ast.unparse(keeps)})}


def arithmetic(value: Value, dtype: str) -> str:
    """Return how many bytes a tensor of a dtype takes: "64 x 512 x 50,257 x 4 bytes = 6.1 GiB"; '' where that isn't known."""
    shape = shape_of(value)
    if shape is None or not bytes_of(value, dtype):
        return ""
    return f"{' x '.join(f'{one:,}' for one in shape.memory or ())} x {size_of(dtype)} bytes = {_gib(bytes_of(value, dtype))}"


@record(frozen=True, slots=True)
class _Needed:
    """The bytes that certainly lie in memory at once, and how, by the word for that."""

    event: TensorEvent
    bytes: int
    how: str
    dtype: str
    rounds: int = 0


def _needed(event: TensorEvent, evidence: Evidence) -> _Needed | None:
    largest = event.operands[-1]
    if event.kind == "kept":
        return _kept(event, evidence) if event.of in ON_DEVICE else None
    each = [bytes_of(one.value, one.dtype) for one in event.operands]
    signature = load_signatures().get(event.name)
    if signature is None or not signature.copies:
        is_alone = sum(each) - each[-1] < GIB // 20
        return _Needed(event, sum(each), "made" if is_alone else "beside", largest.dtype)
    shape, own = shape_of(largest.value), passes_of(largest.value)
    is_backward = event.of == "loss" and any(one.passes & own for one in evidence.facts.gradients)
    if shape is None or shape.memory is None or product_of(shape.lengths) != product_of(shape.memory):
        return None  # of a slice, only a part is copied
    return _Needed(event, each[-1] * signature.copies[is_backward], "backward" if is_backward else "run", largest.dtype)


def _kept(event: TensorEvent, evidence: Evidence) -> _Needed | None:
    """Return what the rounds of a loop keep; where nobody knows how many they are, three of them."""
    container, kept = (one.value for one in event.operands)
    dtype = dtype_in(event.context, kept)
    each = bytes_of(kept, dtype)
    loop = event.context.all_loops[-1]
    through = next((iterated for one, iterated, _ in evidence.facts.loops if one is loop), None)
    if not isinstance(through, Items) or through.open or len(event.context.all_loops) > 1:
        return _Needed(event, 3 * each, "growing", dtype)
    joining = [call for call in evidence.facts.calls if any(one is container for value in call.given for one in alternatives_of(value))]
    signatures = [load_signatures().get(call.name) for call in joining]
    is_joined = any(one is not None and one.shape.split(" ")[0] in JOINS for one in signatures)
    rounds = len(through.slots)
    return _Needed(event, each * rounds * (2 if is_joined else 1), "joined" if is_joined else "kept", dtype, rounds)


def _judged(needed: int, memory: int, evidence: Evidence, words: Mapping[str, str]) -> str:
    macos = evidence.target.versions.get("macos")
    limit, least = limits(memory, macos), smallest_for(needed, macos)
    word = "given" if evidence.target.memory_gib else "none" if least is None else "assumed"
    shown = {"memory": memory, "least": least, "recommended": f"{limit.recommended / GIB:.1f}", "most": f"{limit.high / GIB:.1f}"}
    return words[word].format(**shown)


def _gib(count: int) -> str:
    return f"{count / GIB:.1f} GiB"
