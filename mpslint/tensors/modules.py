"""Modules: where their weights lie, what moves with them, and what calling them makes of tensors."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from mpslint.core.knowledge import configuration_of, parameters_of
from mpslint.facts.copied import copied
from mpslint.facts.joined import join
from mpslint.facts.values import (
    CHILD,
    RAISED,
    UNKNOWN,
    Argument,
    Function,
    Instance,
    Items,
    Known,
    Value,
    alternatives_of,
    origin_of,
    weakened,
)
from mpslint.facts.values import Mapping as DictValue
from mpslint.tensors.arguments import GivenByName
from mpslint.tensors.graphs import computed, note_frozen, note_pass
from mpslint.tensors.kinds import fits, load_kinds
from mpslint.tensors.meet import Met, meet, met, note_other_autocast, note_use
from mpslint.tensors.memory import note_large
from mpslint.tensors.shapes import shape_by
from mpslint.tensors.signatures import Signature, load_signatures, with_arguments
from mpslint.tensors.state import default_dtype, default_place, is_without_graph
from mpslint.tensors.traits import (
    DTYPE,
    EACH,
    GRAPH,
    HOOKED,
    LAYOUT,
    PLACE,
    SHAPE,
    WEIGHTS,
    Machine,
    devices_of,
    dtype_of,
    elements_of,
    is_module,
    is_none,
    is_tensor,
    is_true,
    joined_trait,
    layer_below,
    like,
    retyped,
    trait,
    typed,
)
from mpslint.tensors.transfer import apply, give_parts, graph_of

MOST_MODULES = 2000
"""Modules within one that a move goes through."""


def become_module(m: Machine, made: Instance, node: ast.AST | None) -> None:
    """Make an object of a class of the program a module whose weights lie where they are made."""
    at = node if node is not None else made.cls.node if made.cls is not None else ast.Pass()
    typed(made, load_kinds().module, place=default_place(m, at), dtype=default_dtype(m, at))
    made.slots[WEIGHTS] = Known((layer := layer_below(made.cls)) is not None and layer.weights)


def make_module(
    m: Machine,
    signature: Signature | None,
    positional: Sequence[Argument],
    keywords: Mapping[str, Argument],
    node: ast.AST,
    made: Instance,
) -> None:
    """Make what a call of an outside class gives a module; its argument modules and tensors move with it as the signature says.

    Without a signature, where its weights lie is only assumed.
    """
    given = {**dict(zip(signature.parameters if signature is not None else (), positional, strict=False)), **keywords}
    place = _given(keywords, "device") or default_place(m, node)
    if (mapped := _given(keywords, "device_map")) is not None:
        place = _mapped(mapped, positional[0].value if positional else UNKNOWN)
    elif signature is None and not _stays_where_made(m, made, place, keywords):
        place = weakened(place)
    dtype = _given(keywords, "dtype")
    kind = UNKNOWN if signature is None and dtype is None else default_dtype(m, node) if dtype is None else _dtype_value(dtype)
    typed(made, load_kinds().module, place=place, dtype=kind)
    note_use(m, trait(made, PLACE))
    if signature is None:
        return
    made.slots[WEIGHTS] = Known(with_arguments(signature, frozenset(name for name, one in given.items() if not is_none(one.value))).weights)
    for name in signature.registered:
        if name in given:
            one = given[name].value  # a container of modules keeps no list that it is given
            made.slots[name] = made.slots[(CHILD, name)] = copied(one, is_deep=False) if isinstance(one, (Items, DictValue)) else one
        elif signature.name in load_kinds().lists:
            made.slots[name] = made.slots[(CHILD, name)] = Items("list", {})
    if signature.inside:
        inner = [*positional, *(one for name, one in keywords.items() if name in signature.inside)]
        made.slots.update({(CHILD, number): one for number, one in enumerate(_contained([argument.value for argument in inner]))})


def _stays_where_made(m: Machine, made: Instance, place: Value, keywords: Mapping[str, Argument]) -> bool:
    """Return whether a library's function certainly leaves on the CPU the model that it makes, and no class of outside may move it."""
    kinds, given = load_kinds(), made.call
    if given is None or given.is_open or not fits(made.name, kinds.leaves_on_cpu) or devices_of(place) != {kinds.default_place}:
        return False
    around = [m.functions[id(one)] for one in m.context.functions if id(one) in m.functions]
    is_own = all(one.cls is None or set(one.cls.outside_bases()) <= kinds.module_bases for one in around)
    return is_own and kinds.leaves_on_cpu_without.isdisjoint(keywords)


def _mapped(asked: Value, checkpoint: Value) -> Value:
    """Return where a device map puts a model: accelerate's own maps on the GPU as far as it has room, a device there.

    What doesn't fit as a whole gets hooks that move its inputs, too; a checkpoint that is known to be small always fits.
    """
    kinds = load_kinds()
    if isinstance(asked, Known) and asked.value in kinds.device_maps:
        return Known(kinds.gpu, asked.origin, weak=not _is_small(checkpoint))
    return asked if devices_of(asked) <= {kinds.gpu, kinds.default_place} else UNKNOWN


def _is_small(checkpoint: Value) -> bool:
    """Return whether a model fits on the GPU of any Mac, by the name of its checkpoint."""
    name = checkpoint.value if isinstance(checkpoint, Known) and isinstance(checkpoint.value, str) else ""
    millions = parameters_of(name)
    return configuration_of(name) is not None if millions is None else millions <= load_kinds().always_fits


def _given(keywords: Mapping[str, Argument], name: str) -> Value | None:
    value = keywords[name].value if name in keywords else None
    return None if value is None or is_none(value) else value


def _dtype_value(value: Value) -> Value:
    name = dtype_of(value)
    return Known(name, origin_of(value)) if name else UNKNOWN


def _contained(values: list[Value]) -> Iterator[Value]:
    for value in values:
        if isinstance(value, Items):
            yield from _contained([*value.values(), *([value.each] if value.each is not None else [])])
        elif isinstance(value, DictValue):
            yield from _contained([entry.value for entry in value.slots.values()])
        else:
            yield value


def children(module: Instance) -> Iterator[tuple[Any, Value]]:
    """Yield what moves with a module, by its slot: modules, parameters and buffers. A plain tensor or a list of modules doesn't."""
    for key, value in list(module.slots.items()):
        is_read = isinstance(value, Instance) and value.owner is module and value.call is None
        if (isinstance(key, tuple) and key[0] == CHILD) or (
            isinstance(key, str)
            and not is_read
            and any(is_module(one) or is_parameter(one) or _is_part(one) for one in alternatives_of(value))
        ):
            yield key, value


def _is_part(value: Value) -> bool:
    """Return whether an unknown value is a part of a module of outside: its `features`, its `classifier`."""
    root = value if isinstance(value, Instance) and not value.kind and value.call is None else None
    while root is not None and not root.kind:
        root = root.owner
    return root is not None and is_module(root)


def is_parameter(value: Value) -> bool:
    """Return whether a value is a parameter: a tensor that moves in place with its module, and carries a graph."""
    made = value.call if isinstance(value, Instance) and is_tensor(value) else None
    return made is not None and not load_kinds().parameters.isdisjoint(made.names)


def within(module: Instance) -> Iterator[Instance]:
    """Yield a module or a parameter, and the modules and parameters within it."""
    waiting: list[Instance] = [module]
    seen: set[int] = set()
    while waiting and len(seen) < MOST_MODULES:
        one = waiting.pop()
        if id(one.slots) not in seen:
            seen.add(id(one.slots))
            yield one
            inner = (part for _, child in children(one) for part in elements_of(child)) if is_module(one) else ()
            waiting += [part for part in inner if isinstance(part, Instance) and (is_module(part) or is_parameter(part))]


def set_all(m: Machine, module: Instance, key: tuple[str, str], value: Value) -> None:
    """Give a module and those within it a trait: whether they train, or their weights require grad."""
    for one in within(module):
        m.store.write(one.slots, key, value)


def move(m: Machine, module: Instance, place: Value | None, dtype: Value | None, is_seen: bool = True) -> None:
    """Move a module and all that moves with it, in place, or cast it; a buffer gives way to another tensor.

    Where the move is only supposed, and not `is_seen` in the program, it shows no use of the GPU.
    """
    changes = {PLACE: place, DTYPE: dtype}
    if is_seen and place is not None and not is_without_weights(module):
        note_use(m, place, is_move=True)
    waiting: list[Instance] = [module]
    seen: set[int] = set()
    while waiting and len(seen) < MOST_MODULES:
        one = waiting.pop()
        if id(one.slots) in seen:
            continue
        seen.add(id(one.slots))
        for key, value in changes.items():
            if value is not None:
                m.store.write(one.slots, key, value)
        _unplace_others(m, one)
        for key, value in children(one) if is_module(one) else ():
            if is_tensor(value) and isinstance(value, Instance) and not is_parameter(value):
                buffer = retyped(value, **{name: new for name, new in (("place", place), ("dtype", dtype)) if new is not None})
                for slot in (key, key[1] if isinstance(key, tuple) else (CHILD, key)):
                    if slot in one.slots:
                        m.store.write(one.slots, slot, buffer)
            else:
                waiting += [inner for inner in elements_of(value) if isinstance(inner, Instance)]


def _unplace_others(m: Machine, module: Instance) -> None:
    """Forget where the plain tensors of a module lie whose class says itself what moves with it."""
    own = load_kinds().own_moves
    if module.cls is None or not any(isinstance(module.cls.lookup(name), Function) for name in own):
        return
    for key, value in list(module.slots.items()):
        if isinstance(key, str) and isinstance(value, Instance) and is_tensor(value):
            m.store.write(module.slots, key, retyped(value, place=UNKNOWN))


def write_data(m: Machine, tensor: Instance, name: str, value: Value) -> bool:
    """Carry out `tensor.data = value`, which gives a tensor another device and dtype, or `tensor.requires_grad = value`; return whether
    it is one of these.

    One parameter that stands for all of a module does so for all of them.
    """
    kinds = load_kinds()
    if is_module(tensor) and tensor.cls is None and is_parameter(value):
        m.store.write(tensor.slots, PLACE, join(trait(tensor, PLACE), joined_trait(value, PLACE)))  # the others of its weights stay
    if not is_tensor(tensor) or name not in kinds.views_without_graph | {kinds.graph_switch}:
        return False
    whole = tensor.owner if isinstance(tensor.owner, Instance) and is_module(tensor.owner) and tensor.call is None else None
    if name == kinds.graph_switch:
        set_all(m, whole or tensor, GRAPH, value if isinstance(value, Known) else UNKNOWN)
        return True
    place, dtype = joined_trait(value, PLACE), joined_trait(value, DTYPE)
    if whole is not None:
        move(m, whole, place, dtype)
    m.store.write(tensor.slots, PLACE, place)
    m.store.write(tensor.slots, DTYPE, dtype)
    layout = joined_trait(value, LAYOUT)
    m.store.write(tensor.slots, LAYOUT, layout)
    name = tensor.name.rpartition(".")[2]
    if whole is not None and (name in whole.slots or isinstance(layout, Known)):
        # The module holds no weight by name but one that is written, and is asked for it in the end: it has to lie so in every call.
        is_always = name not in whole.slots and not any(one.receiver is whole for one in m.facts.calls)
        register(m, whole, Known(name), tensor if is_always else UNKNOWN)
    return True


def unplace_within(m: Machine, value: Value) -> None:
    """Forget where the modules in a list lie: something that isn't known may be one of them, and move."""
    for one in elements_of(value):
        if isinstance(one, Instance) and is_module(one):
            move(m, one, UNKNOWN, None, is_seen=False)


def register(m: Machine, module: Instance, name: Value, value: Value) -> None:
    """Carry out `register_buffer(name, value)` and its like."""
    key = name.value if isinstance(name, Known) and isinstance(name.value, str) else None
    if key is not None:
        m.store.write(module.slots, key, value)
        m.store.write(module.slots, (CHILD, key), value)
    else:
        m.store.write(module.slots, (CHILD, id(value)), value)


def call_module(
    m: Machine,
    module: Instance,
    positional: Sequence[Argument],
    keywords: Mapping[str, Argument],
    node: ast.Call,
    name: str,
    result: Instance,
) -> Value:
    """Return what a module of outside makes of what it is given; notes where its input lies on another device than its weights."""
    if HOOKED in module.slots:
        return result
    own = load_signatures().get(module.name) or layer_below(module.cls)
    inner = [one for _, one in sorted_children(module)] if own is not None and own.inside else []
    if own is not None and own.inside and module.cls is not None and not inner:
        return result  # its class gives its base the modules within it
    if inner and positional and (passed := _through(m, inner, positional[0].value, node)) is not None:
        return passed
    named = dict(zip(own.called_with, positional, strict=False)) if own is not None else {}
    if own is not None and own.does in load_signatures() and module.cls is None:
        done = load_signatures()[own.does]
        held = {key: Argument(module.slots[key], node.func) for key in own.registered if key in module.slots}
        given = {**_of_class(own, module), **held, **named, **keywords}
        ordered = {key: given[key] for key in sorted(given, key=lambda key: key not in own.called_with)}
        return apply(m, done, GivenByName(ordered, False), node, result)
    if positional and not is_without_graph(m) and not is_without_weights(module):
        note_frozen(m, module, positional[0].value)
    inputs = [one for argument in (*positional, *keywords.values()) for one in met(argument.value, argument.node)]
    if own is None and module.call is not None and module.name and not fits(module.name, load_kinds().module_makers):
        inputs = [one for one in inputs if not one.may_be_number]  # a library's object, such as a pipeline, takes anything
    weights = weights_of(module, node.func)
    is_seen = own is not None and not inner  # else of a class, or around a module, that nobody sees: what it takes and gives is assumed
    if not is_seen and not fits(module.name, load_kinds().module_makers):
        weights = Met(module, node.func, weakened(weights.place), Known(False))
    tensors = [one for one in inputs if not one.may_be_number]
    has_weights = bool(inner) or not is_without_weights(module)
    meeting = [*([weights] if has_weights else []), *inputs]
    raises = meet(m, node, meeting, "module" if is_seen else "outside module", name, scalars=False)
    note_other_autocast(m, weights.place if has_weights else UNKNOWN, node)
    place = RAISED if raises else weights.place if has_weights else tensors[0].place if tensors else UNKNOWN
    note_use(m, place)
    dtype = trait(module, DTYPE) if has_weights else joined_trait(tensors[0].value, DTYPE) if tensors else UNKNOWN
    graph = Known(False) if is_without_graph(m) else _graph(module, inputs, not is_seen) if has_weights else graph_of(inputs)
    values = [one.value for one in inputs]
    graph = note_pass(m, module, node, graph, values) if has_weights else computed(graph, values)
    if own is None or inner:  # what a library's model gives: tensors on its device, in a group of some kind
        typed(result, load_kinds().tensor, place=place, graph=graph)
        result.slots[EACH] = like(result)
        return result
    made = _given_by(own, result, tensors[0].value if tensors else UNKNOWN, place, dtype, graph)
    shape = shape_by(own, GivenByName({**_of_class(own, module), **named, **keywords}, False)) if own.shape else UNKNOWN
    if shape is not UNKNOWN and isinstance(made, Instance):
        made.slots[SHAPE] = shape
        note_large(m, node, made, values, own)
    return result


def _given_by(own: Signature, result: Instance, first: Value, place: Value, dtype: Value, graph: Value) -> Value:
    """Give what a layer makes of its first input its traits, and return it, or the first of its parts."""
    if not own.parts:
        typed(result, load_kinds().tensor, place=place, dtype=dtype, graph=graph, zero=Known(False) if own.zero == "never" else UNKNOWN)
        return result
    tensors_only = (load_kinds().tensor,) * len(own.parts)
    give_parts(result, own.parts, own.part_classes or tensors_only, lambda word: dtype if word else UNKNOWN, place, graph, Known(False))
    made = result.slots["item", 0]
    if isinstance(first, Instance) and isinstance(made, Instance) and first.kind:
        made.kind = first.kind  # of packed sequences a layer makes packed ones
    return made


def _graph(module: Instance, inputs: Sequence[Met], is_assumed: bool) -> Value:
    """Return whether what a module with weights gives carries a graph: it does unless they and its inputs require no grad."""
    is_one = not is_assumed or module.cls is not None or fits(module.name, load_kinds().module_makers)
    requires = module.slots.get(GRAPH, Known(True, weak=is_assumed) if is_one else UNKNOWN)
    given = graph_of(inputs)
    if isinstance(requires, Known) and not requires.value:
        return Known(False, weak=True) if given is UNKNOWN else given  # what nobody sees is taken for data
    return given if is_true(given) else requires


def weights_of(module: Instance, node: ast.AST) -> Met:
    """Return the weights of a module as what a call of it meets."""
    return Met(module, node, trait(module, PLACE), Known(False))


def _of_class(own: Signature, module: Instance) -> dict[str, Argument]:
    """Return the arguments with which a module was made, by name; what a call of it is given goes before them."""
    call = module.call
    return {**dict(zip(own.parameters, call.arguments, strict=False)), **call.keywords} if call is not None else {}


def is_without_weights(module: Instance) -> bool:
    """Return whether a module certainly has no parameters or buffers."""
    weights = trait(module, WEIGHTS)
    return isinstance(weights, Known) and not weights.value


def sorted_children(module: Instance) -> list[tuple[Any, Value]]:
    """Return the modules that a container holds by number, in order."""
    return sorted(
        ((key[1], one) for key, one in module.slots.items() if isinstance(key, tuple) and key[0] == CHILD and isinstance(key[1], int)),
        key=lambda child: int(child[0]),
    )


def _through(m: Machine, inner: Sequence[Value], value: Value, node: ast.Call) -> Value | None:
    """Return what modules make of a value one after the other; None where one of them isn't known."""
    for one in inner:
        if not is_module(one):
            return None
        value = m.calls.call_with(m, one, [value], node, node.args[:1])
    return value
