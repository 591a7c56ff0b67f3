"""Where values meet: whether their devices and dtypes go together on the Target, and the event where they don't."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from mpslint.core.record import record
from mpslint.facts.events import Certainty, Operand, TensorEvent
from mpslint.facts.joined import join_all, same
from mpslint.facts.values import (
    COMMAND_LINE,
    RAISED,
    UNKNOWN,
    Bound,
    Class,
    Function,
    Instance,
    Items,
    Known,
    Module,
    OneOf,
    Symbol,
    Unknown,
    Value,
    alternatives_of,
    is_weak,
    origin_of,
)
from mpslint.tensors.kinds import load_kinds
from mpslint.tensors.traits import (
    DTYPE,
    GRAPH,
    IN_PLACE,
    NUMBER,
    OF_ARRAY,
    PLACE,
    WEIGHTS,
    ZERO,
    Machine,
    device_text,
    devices_of,
    dtype_of,
    held_in,
    is_array,
    is_module,
    is_tensor,
    is_true,
    joined_trait,
)


@record(frozen=True, slots=True, eq=False)
class Met:
    """One of the values that meet: a tensor, a module with weights, or something that isn't known."""

    value: Value
    node: ast.AST | None
    place: Value
    zero: Value = UNKNOWN
    may_be_number: bool = False
    """It may be something that has no device at all."""

    @property
    def devices(self) -> frozenset[str]:
        """Where it may lie; '' among them where that isn't known."""
        return devices_of(self.place)


def met(value: Value, node: ast.AST | None) -> list[Met]:
    """Return what meets others in a value: the tensors in it, or the value itself where it may be one.

    Of several values of which it is one, none meets another: they are one, which may lie where any of them does.
    """
    if isinstance(value, (Known, Symbol)):
        return []
    if isinstance(value, Items) and isinstance(node, (ast.List, ast.Tuple)) and len(node.elts) == len(value.slots) and not value.open:
        return [one for inner, written in zip(value.values(), node.elts, strict=True) for one in met(inner, written)]
    if is_tensor(value):
        return [Met(value, node, joined_trait(value, PLACE), joined_trait(value, ZERO))]
    if is_module(value):
        has_weights = joined_trait(value, WEIGHTS) is UNKNOWN or is_true(joined_trait(value, WEIGHTS))
        return [Met(value, node, joined_trait(value, PLACE), Known(False))] if has_weights else []
    if isinstance(value, OneOf):
        ways = [one for alternative in value.values for one in met(alternative, node)]
        places = {device_text(place): place for one in ways for place in alternatives_of(one.place) if place is not RAISED}
        place = OneOf(tuple(places.values())) if len(places) > 1 else join_all([one.place for one in ways])
        zero, may_be_number = join_all([one.zero for one in ways]), any(one.may_be_number for one in ways)
        return [Met(value, node, place, zero, may_be_number)] if len(ways) > 1 else ways
    if (inner := held_in(value)) is not None:
        return [one for part in inner for one in met(part, node)]
    if is_array(value):
        return []
    if (place := joined_trait(value, PLACE)) is not UNKNOWN and not is_true(joined_trait(value, IN_PLACE)):
        return [Met(value, node, place)]
    return [Met(value, node, UNKNOWN, UNKNOWN, True)] if _may_be_tensor(value) else []


def _may_be_tensor(value: Value) -> bool:
    """Return whether a value that isn't known to be a tensor may be one: what the command line or a configuration gives never is."""
    if isinstance(value, (Known, Symbol, Function, Class, Module, Bound)) or value is COMMAND_LINE:
        return False
    if isinstance(value, Unknown):
        return value.reason not in (COMMAND_LINE.reason, NUMBER.reason)
    if isinstance(value, Instance):
        root = value
        while root.owner is not None:
            root = root.owner
        return not (is_array(value) or root.fallback or root.name.partition(".")[0] in load_kinds().plain_packages)
    return False


def meet(m: Machine, node: ast.AST, operands: Sequence[Met], of: str, name: str, scalars: bool, is_known: bool = True) -> bool:
    """Note that operands that must lie on one device don't, or may not, and return whether it certainly raises.

    With `scalars`, a CPU tensor without dimensions goes with all. Where the operation isn't known (`is_known`), nothing is sure.
    """
    left = [one for one in operands if one.place is not RAISED]
    if m.is_mute or len(left) < 2:
        return len(left) < len(operands)
    operands = left
    gpu, order = load_kinds().gpu, [*Certainty]
    on_gpu = [one for one in operands if gpu in one.devices]
    if not on_gpu:
        return False
    first = next((one for one in on_gpu if one.devices == {gpu}), on_gpu[0])
    worst: tuple[Certainty, Met] | None = None
    for other in operands:
        is_number = scalars and other.may_be_number and m.context.called and not _is_made(other.value)
        certainty = _apart(first, other, gpu, scalars) if other is not first and not is_number else None
        if certainty is not None and (worst is None or order.index(certainty) < order.index(worst[0])):
            worst = certainty, other
    if worst is None:
        return False
    certainty = worst[0] if is_known or worst[0] is not Certainty.SURE else Certainty.UNKNOWN
    note(m, TensorEvent("mismatch", node, (operand(first), operand(worst[1])), certainty, m.context, of, name))
    return certainty is Certainty.SURE


def note_unfollowed(m: Machine, node: ast.AST) -> None:
    """Note that the program has something computed where the interpreter doesn't follow it: in a hook, in a backward pass of its own."""
    if not m.is_mute:
        note(m, TensorEvent("unfollowed", node, (Operand(UNKNOWN, "", "", node, None),), Certainty.UNKNOWN, m.context))


def name_device(m: Machine, node: ast.AST, place: Value, is_used: bool = True) -> None:
    """Note that a text which is given to torch as device names none; where the device `is_used`, also that a Mac lacks it."""
    kinds = load_kinds()
    for kind, is_meant in (("no_device", kinds.is_no_device), *([("absent", kinds.is_absent)] if is_used else [])):
        meant = next((one for one in alternatives_of(place) if device_text(one) and is_meant(device_text(one))), None)
        if meant is not None and not m.is_mute:
            certainty = Certainty.GUARDED if isinstance(place, OneOf) else Certainty.ASSUMED if is_assumed(place) else Certainty.SURE
            shown = Operand(meant, device_text(meant), "", origin_of(meant) or node, origin_of(meant))
            note(m, TensorEvent(kind, node, (shown,), certainty, m.context))


def note_other_autocast(m: Machine, place: Value, node: ast.AST) -> None:
    """Note that what has its weights on the Mac's GPU is computed under an autocast for the CPU, which leaves it as it is."""
    kinds = load_kinds()
    if m.is_mute or devices_of(place) != {kinds.gpu}:
        return
    for manager in m.context.managers:
        call = manager.call if isinstance(manager, Instance) and manager.name in kinds.autocasts else None
        given = (*call.arguments[:1], *(call.keywords[name] for name in kinds.autocasts_for if name in call.keywords)) if call else ()
        switch = call.keywords.get(kinds.autocasts_switch) if call is not None else None
        is_on = switch is None or (isinstance(switch.value, Known) and bool(switch.value.value))
        if call is not None and is_on and given and device_text(given[0].value) == kinds.default_place:
            shown = Operand(given[0].value, kinds.default_place, "", given[0].node, origin_of(given[0].value))
            note(m, TensorEvent("autocast", call.node, (Operand(place, kinds.gpu, "", node), shown), Certainty.SURE, m.context))


def shared_place(operands: Sequence[Met]) -> Value:
    """Return the device of what is computed of some operands: that of one with dimensions, one whose device isn't only assumed first."""
    known = [one for one in operands if not one.may_be_number and one.place is not UNKNOWN]
    sized = [one for one in known if not is_true(one.zero)] or known
    return next((one.place for one in sized if not is_weak(one.place)), sized[0].place if sized else UNKNOWN)


def note_use(m: Machine, place: Value, is_move: bool = False) -> None:
    """Note that something is computed on a device, or that a model moves there, where that is, or in a move may be, the Mac's GPU."""
    devices = devices_of(place)
    if load_kinds().gpu in devices or (is_move and "" in devices):
        m.facts.uses_gpu = True


def _is_made(value: Value) -> bool:
    """Return whether an unknown value is what a call gives: a name or an attribute that isn't known is mostly a number, such as a rate."""
    return isinstance(value, Instance) and value.call is not None


def _apart(first: Met, other: Met, gpu: str, scalars: bool) -> Certainty | None:
    """Return how certainly two operands lie on different devices; None where they don't."""
    if same(first.place, other.place) and first.place is not UNKNOWN:
        return None
    devices = other.devices - {gpu}
    if not devices or (scalars and is_true(other.zero)):
        return None
    if "" in devices:
        return Certainty.UNKNOWN
    if load_kinds().default_place not in devices:
        return None  # a device that the Mac lacks: naming it raised before
    if scalars and not isinstance(other.zero, Known):
        return Certainty.UNKNOWN
    if len(other.devices) > 1 or len(first.devices) > 1:
        return Certainty.GUARDED
    if is_assumed(first.place) or is_assumed(other.place):
        return Certainty.ASSUMED
    return Certainty.SURE


def is_assumed(said: Value) -> bool:
    """Return whether a trait rests on what the program doesn't show. The premise that code runs on the Mac's GPU has no origin."""
    return is_weak(said) and any(origin_of(one) is not None for one in alternatives_of(said))


def operand(one: Met) -> Operand:
    """Return what an event says of one of the values that meet."""
    dtype = joined_trait(one.value, DTYPE)
    return Operand(one.value, device_text(one.place), dtype_of(dtype), one.node, origin_of(one.place))


def wide(m: Machine, node: ast.AST, value: Value, dtype: Value, place: Value, of: str, name: str = "") -> bool:
    """Note that a tensor of a dtype that the Mac's GPU lacks is, or may be, put, made or cast there; return whether it surely is."""
    kinds = load_kinds()
    if m.is_mute or kinds.gpu not in devices_of(place):
        return False
    names = frozenset(dtype_of(one) for one in alternatives_of(dtype))
    if not names & kinds.lacks and (of == "cast" or "" not in names):  # what is computed there of what isn't float64 isn't either
        return False
    if names <= kinds.lacks:
        is_one_of = len(devices_of(place)) > 1 or is_assumed(place) or (isinstance(dtype, OneOf) and len(names) > 1)
        certainty = Certainty.GUARDED if is_one_of else Certainty.ASSUMED if is_assumed(dtype) else Certainty.SURE
    elif names & kinds.lacks:
        certainty = Certainty.GUARDED
    else:
        certainty = Certainty.UNKNOWN if dtype is OF_ARRAY else Certainty.ASSUMED
    shown = Operand(value, device_text(place), dtype_of(dtype) or next(iter(names & kinds.lacks), ""), node, origin_of(dtype))
    note(m, TensorEvent("float64", node, (shown,), certainty, m.context, of, name))
    return certainty is Certainty.SURE


def on_cpu(
    m: Machine, node: ast.AST, value: Value, at: ast.AST | None, name: str, kind: str = "numpy", needs_no_graph: bool = True
) -> None:
    """Note that a tensor, which stands `at` an expression, isn't on the CPU as it has to be, or requires grad where it must not.

    `kind` is "numpy" where it's made an array.
    """
    place, graph = joined_trait(value, PLACE), joined_trait(value, GRAPH)
    if m.is_mute or is_array(value) or is_module(value) or (place is UNKNOWN and not is_tensor(value)):
        return
    kinds = load_kinds()
    shown = Operand(value, device_text(place), dtype_of(joined_trait(value, DTYPE)), at, origin_of(place))
    if kinds.gpu in devices_of(place):
        is_one = devices_of(place) == {kinds.gpu}
        certainty = Certainty.GUARDED if not is_one else Certainty.ASSUMED if is_assumed(place) else Certainty.SURE
        note(m, TensorEvent(kind, node, (shown,), certainty, m.context, "device", name))
    elif needs_no_graph and isinstance(graph, Known) and graph.value and "" not in devices_of(place):
        certainty = Certainty.ASSUMED if is_weak(graph) else Certainty.SURE
        note(m, TensorEvent(kind, node, (shown,), certainty, m.context, "graph", name))


def note(m: Machine, event: TensorEvent) -> None:
    """Note an event. Where only another option than the default leads, it isn't sure."""
    if event.certainty is Certainty.SURE and any(one.default is not None and one.default is not one.taken for one in event.context.guards):
        event = TensorEvent(event.kind, event.node, event.operands, Certainty.GUARDED, event.context, event.of, event.name)
    m.facts.events.append(event)
