"""Which tensors of a step are, with what certainly lies beside them, more than the Mac's memory: the arithmetic, in a rule's words."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping

from mpslint.core.knowledge import platform_data
from mpslint.core.record import record
from mpslint.facts.events import Certainty, TensorEvent
from mpslint.facts.values import Items, Value, alternatives_of, is_weak
from mpslint.settings.evidence import Evidence
from mpslint.target.macs import GIB, limits, smallest_for
from mpslint.tensors.graphs import passes_of
from mpslint.tensors.memory import bytes_of, dtype_in, size_of
from mpslint.tensors.shapes import product_of, shape_of
from mpslint.tensors.signatures import load_signatures
from mpslint.tensors.traits import SHAPE, joined_trait

ON_DEVICE = ("device", "wanted")
JOINS = ("joined", "stacked")


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
