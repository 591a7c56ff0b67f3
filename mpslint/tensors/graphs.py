"""Graphs: which passes through modules a tensor was computed in, which of them are differentiated, and what is kept of the others."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Sequence

from mpslint.facts.events import Certainty, Operand, TensorEvent
from mpslint.facts.facts import Accumulation, Gradients, Pass
from mpslint.facts.values import (
    UNKNOWN,
    AutogradGraph,
    Context,
    Instance,
    Items,
    Known,
    Loop,
    Mapping,
    OneOf,
    PassKey,
    Value,
    alternatives_of,
)
from mpslint.tensors.kinds import load_kinds
from mpslint.tensors.meet import note
from mpslint.tensors.traits import (
    GRAPH,
    PLACE,
    TRAINING,
    ZERO,
    Machine,
    device_text,
    elements_of,
    is_module_method,
    is_tensor,
    is_true,
    joined_trait,
    trait,
)

MOST_SOURCES = 200
"""Values that are looked at for the passes that one was computed in."""


def passes_of(value: Value) -> frozenset[PassKey]:
    """Return the passes that a value was computed in: its own where it is a tensor, those of what an unknown one was made of."""
    found: set[PassKey] = set()
    waiting: list[Value | None] = [value]
    seen: set[int] = set()
    while waiting and len(seen) < MOST_SOURCES:
        one = waiting.pop()
        if one is None or id(one) in seen:
            continue
        seen.add(id(one))
        if isinstance(one, OneOf):
            waiting += one.values
        elif isinstance(one, Items):
            waiting += [*one.values(), one.each]
        elif isinstance(one, Mapping):
            waiting += [*(entry.value for entry in one.slots.values()), one.each]
        elif isinstance(one, Instance):
            if GRAPH in one.slots:
                found.update(key for graph in alternatives_of(one.slots[GRAPH]) for key in _passes(graph))
            elif one.cls is None and not one.kind:
                given = (*one.call.arguments, *one.call.keywords.values()) if one.call is not None else ()
                waiting += [one.owner, *(argument.value for argument in given)]
    return frozenset(found)


def _passes(graph: Value) -> frozenset[PassKey]:
    return graph.value.passes if isinstance(graph, Known) and isinstance(graph.value, AutogradGraph) else frozenset()


def computed(graph: Value, values: Sequence[Value]) -> Value:
    """Return whether what is computed of some values carries a graph, with their passes; where it isn't known it may or may not."""
    passes = frozenset().union(*map(passes_of, values))
    if not passes:
        return graph
    if isinstance(graph, Known):
        return Known(AutogradGraph(bool(graph.value), passes), graph.origin, graph.weak)
    return OneOf((Known(AutogradGraph(False, passes)), Known(AutogradGraph(True, passes))))


def without(graph: Value) -> Value:
    """Return that there is no graph, with the passes that another was of."""
    return Known(AutogradGraph(False, frozenset().union(*map(_passes, alternatives_of(graph)))))


def note_pass(m: Machine, module: Instance, node: ast.AST, graph: Value, inputs: Sequence[Value]) -> Value:
    """Note that a module with weights is called; return whether what it gives carries a graph, with this pass and those before it."""
    context = m.context
    level = next((n for n, function in enumerate(context.functions) if is_module_method(m, function)), None)
    levels = (*context.outer_loops, context.loops)[: None if level is None else level + 1]
    loops = tuple(loop for one in levels for loop in one)
    at = node if level is None else context.calls[level] or node
    calls = context.calls if level is None else context.calls[:level]
    key = (node, context.calls)
    training = trait(module, TRAINING)
    leaves = [one for one in inputs if is_true(joined_trait(one, GRAPH)) and not passes_of(one)]
    is_evaluated = isinstance(training, Known) and not training.value
    if not m.is_silent:
        m.facts.passes.append(Pass(key, at, calls, loops, context, is_evaluated, is_true(graph), bool(leaves)))
    made = computed(graph, inputs)
    return _joined(made, key)


def note_frozen(m: Machine, module: Instance, given: Value) -> None:
    """Note that a module whose weights are trained gets what needs no gradient: data, or what frozen modules made of it."""
    graph, made = joined_trait(given, GRAPH), module.call
    is_frozen = isinstance(graph, Known) and not graph.value
    if is_frozen and made is not None and not m.is_mute and is_true(module.slots.get(GRAPH, Known(True))):
        operand = Operand(module, "", "", made.node.func)
        note(m, TensorEvent("frozen", made.node, (operand,), Certainty.SURE, made.context, module.name))


def _joined(graph: Value, key: PassKey) -> Value:
    parts = [
        Known(AutogradGraph(bool(one.value), _passes(one) | {key}), one.origin, one.weak) if isinstance(one, Known) else one
        for one in alternatives_of(graph)
    ]
    return parts[0] if len(parts) == 1 else OneOf(tuple(parts))


def differentiate(m: Machine, values: Sequence[Value]) -> None:
    """Carry out a backward pass from some values: what they are, if it isn't known, are tensors with a graph."""
    note_gradients(m, values)
    made = (one.call for one in values if isinstance(one, Instance) and one.call is not None)
    for value in [*values, *(argument.value for call in made for argument in call.arguments)]:  # `scaler.scale(loss).backward()`
        if isinstance(value, Instance) and not value.kind and value.cls is None and GRAPH not in value.slots and (own := passes_of(value)):
            m.store.write(value.slots, GRAPH, Known(AutogradGraph(True, own)))


def note_gradients(m: Machine, values: Sequence[Value]) -> None:
    """Note that values are differentiated, or handed to who may do it."""
    if not m.is_silent:
        passes = frozenset().union(*map(passes_of, values))
        is_known = any(is_tensor(one) and isinstance(joined_trait(one, GRAPH), Known) for one in values)
        m.facts.gradients.append(Gradients(passes, not passes and not is_known, m.context))


def judge(m: Machine) -> None:
    """Note what is recorded or kept for a backward pass that never runs, once a whole program was walked."""
    facts = m.facts
    by_key = {one.key: one for one in facts.passes}
    taken = frozenset().union(*(one.passes for one in facts.gradients))
    is_kept: frozenset[PassKey] = frozenset()
    blind = [one.context.all_loops for one in facts.gradients if one.is_blind]
    for kept in facts.accumulations:
        if (what := _kept(m, kept, by_key, bool(blind))) is not None:
            operands = (Operand(kept.container, "", "", kept.target_node), Operand(kept.value, "", "", kept.value_node))
            note(m, TensorEvent("kept", kept.node, operands, Certainty.SURE, kept.context, what))
        is_kept |= passes_of(kept.value) if what == "graph" or blind else frozenset()
    groups: dict[tuple[ast.AST, tuple[ast.AST | None, ...]], list[Pass]] = defaultdict(list)
    for one in facts.passes:
        groups[one.at, one.calls].append(one)
    idle: dict[tuple[Loop, tuple[ast.AST | None, ...]], tuple[list[ast.AST | None], Context]] = {}
    fine: list[tuple[ast.AST, tuple[ast.AST | None, ...]]] = []
    for (at, calls), group in groups.items():
        if any(one.is_wanted or one.key in taken for one in group) or not any(one.has_graph for one in group):
            fine.append((at, calls))
            continue
        first = next((one for one in group if one.is_evaluated and one.has_graph), None)
        is_told = first is not None and first.loops and first.context.called and not any(one.key in is_kept for one in group)
        if first is not None and is_told and not any(first.loops[-1] in loops for loops in blind) and not _is_one_pass(first.loops[-1]):
            idle.setdefault((first.loops[-1], calls), ([at, *reversed(calls)], first.context))
    wasted = {calls for _, calls in idle}
    needed = {at for at, _ in fine} | {call for _, calls in fine if calls not in wasted for call in calls}
    for chain, context in idle.values():  # of what is called for other ends as well, the call for this one
        place = next((one for one in chain if one is not None and one not in needed), chain[0])
        assert place is not None
        note(m, TensorEvent("with_graph", place, (Operand(UNKNOWN, "", ""),), Certainty.SURE, context))


def _is_one_pass(loop: Loop) -> bool:
    return isinstance(loop, ast.stmt) and isinstance(loop.body[-1], (ast.Break, ast.Return))


def _kept(m: Machine, kept: Accumulation, passes: dict[PassKey, Pass], is_blind: bool) -> str | None:
    """Return what outlives the round of a loop in which it was computed: a `loss` with what is left of its graph after a backward pass,
    a `graph` that is never differentiated, or something on the `device`, maybe `wanted` there; None for nothing."""
    loops = kept.context.all_loops
    if not loops or not isinstance(loops[-1], ast.stmt) or any(is_module_method(m, one) for one in kept.context.functions):
        return None
    if not kept.context.loops and _ends_with_its_call(kept):
        return None
    loop, own = loops[-1], passes_of(kept.value)
    if not any(loop in passes[key].loops for key in own if key in passes) or _starts_anew(kept, loop):
        return None
    graphs = [joined_trait(one, GRAPH) for one in elements_of(kept.value)]
    gradients = [one for one in m.facts.gradients if one.passes & own]
    if gradients and is_true(joined_trait(kept.value, GRAPH)):
        return "loss" if all(loop in one.context.all_loops for one in gradients) else None
    if gradients or is_blind:
        return None
    if any(map(is_true, graphs)):
        return "graph" if _is_run(kept.context, own, passes) else None
    is_on_gpu = device_text(joined_trait(kept.value, PLACE)) == load_kinds().gpu
    is_left = bool(graphs) and isinstance(graphs[0], Known) and is_on_gpu and not is_true(joined_trait(kept.value, ZERO))
    return ("wanted" if _is_wanted_there(m, kept.container) else "device") if is_left else None


def _ends_with_its_call(kept: Accumulation) -> bool:
    """Return whether tensors are added to a name that a function binds for itself: the loop around its call makes it anew each round."""
    target, inside = kept.target_node, list(ast.walk(kept.context.functions[-1])) if kept.context.functions else []
    is_outer = any(
        isinstance(one, (ast.Global, ast.Nonlocal)) and isinstance(target, ast.Name) and target.id in one.names for one in inside
    )
    bound = [one.id for one in inside if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store)]
    return isinstance(target, ast.Name) and target.id in bound and not is_outer


def _is_wanted_there(m: Machine, container: Value) -> bool:
    """Return whether something is called with what was kept, and its result isn't taken to the CPU."""
    kinds = load_kinds()
    for call in m.facts.calls:
        given = (*call.arguments, *call.keywords.values())
        if any(one is container for argument in given for one in alternatives_of(argument.value)):
            methods = m.facts.methods_called().get(id(call.result), set()) if call.result is not None else set()
            if not any(kinds.moves.get(method, {}).get("place") == kinds.default_place for method in methods):
                return True
    return False


def _is_run(context: Context, own: frozenset[PassKey], passes: dict[PassKey, Pass]) -> bool:
    """Return whether a place is run by the program itself, or with a model in evaluation mode: what calls it may differentiate else."""
    return context.called or any(passes[key].is_evaluated for key in own if key in passes)


def _starts_anew(kept: Accumulation, loop: Loop) -> bool:
    """Return whether the loop also empties what keeps the tensors, as every few steps after it was logged."""
    target = kept.target
    for node in (inner for statement in getattr(loop, "body", ()) for inner in ast.walk(statement)):
        is_emptied = isinstance(node, ast.Attribute) and node.attr in load_kinds().emptying and ast.unparse(node.value) == target
        is_written = isinstance(getattr(node, "ctx", None), (ast.Store, ast.Del)) and node is not kept.target_node
        if is_emptied or (is_written and ast.unparse(node) == target):
            return True
    return False
