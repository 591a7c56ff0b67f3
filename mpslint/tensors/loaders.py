"""Data sets and loaders: what a batch is, by the samples of the data set and the function that collates them."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence

from mpslint.facts.joined import join_all
from mpslint.facts.values import (
    IN_EACH_ROUND,
    UNKNOWN,
    AtMost,
    Bound,
    Class,
    Function,
    Instance,
    Items,
    Known,
    Mapping,
    OneOf,
    Value,
    alternatives_of,
    count_made,
)
from mpslint.tensors.arguments import CallArguments
from mpslint.tensors.dimensions import row_of
from mpslint.tensors.gone_through import alike, anew, changed_within, copied_as, each_of, is_whole, with_tensors
from mpslint.tensors.kinds import Kinds, fits, load_kinds
from mpslint.tensors.shapes import batch_of
from mpslint.tensors.traits import (
    DTYPE,
    EACH,
    PLACE,
    REAL,
    SHAPE,
    WHOLE,
    Machine,
    elements_of,
    is_array,
    is_tensor,
    joined_dtype,
    joined_trait,
    like,
    retyped,
    trait,
    typed,
)

GETTER = "__getitem__"
"""The method by which Python takes an item."""


def make(m: Machine, name: str, arguments: CallArguments, node: ast.Call, result: Instance) -> Value | None:
    """Return a loader or a data set that a call makes, with what going through it gives; None for another call."""
    kinds, positional, keywords = load_kinds(), arguments.positional, arguments.keywords
    if name in kinds.keeps:
        named = {**dict(zip(kinds.keeps[name], positional, strict=False)), **keywords}
        result.slots.update({PLACE: Known(kinds.default_place, node, weak=True), **{key: one.value for key, one in named.items()}})
        return result
    if name in kinds.tensor_data:
        rows = [row_of(one.value) if is_tensor(one.value) else UNKNOWN for one in positional]
        result.slots[EACH] = Items("tuple", dict(enumerate(rows)), node)
        return result
    if name in kinds.data_views | kinds.data_lists and positional:
        data = positional[0].value if name in kinds.data_views else sample_of(m, positional[0].value, node)
        result.slots[EACH] = sample_of(m, data, node)
        if name.endswith("split"):
            result.slots[EACH] = Instance(f"{name}[]", owner=result, slots={EACH: result.slots[EACH]})
        return result
    passed = arguments.get(0, "iterable") if name in kinds.passing else None
    if passed is not None and (each := each_of(going_through(m, passed, node))) is not None:
        result.slots[EACH] = each
        return result
    if name in kinds.collates and positional and isinstance(samples := positional[0].value, Items):
        whole = [*samples.values(), *([samples.each or UNKNOWN] if samples.open else [])]
        return anew(default_collate(whole[0] if len(whole) == 1 else OneOf(tuple(whole)), node))
    hooks = (*positional[1:], *(keywords[key] for key in kinds.data_hooks if key in keywords))
    if fits(name, kinds.data_readers) and _is_read(kinds, (one.value for one in hooks)):
        result.slots[EACH] = Instance(f"{name}[]", owner=result)
        return result
    if fits(name, kinds.cpu_batches):
        is_tensors = all(
            key in keywords and isinstance(one := keywords[key].value, Known) and one.value == value
            for key, value in kinds.cpu_batches_when.items()
        )
        batch = batch_on_cpu(node, result) if is_tensors else None
        said = kinds.wide_batches  # some of the tensors in a batch may have dtypes that MPS lacks
        dtypes: list[Value] = [
            Known(dtype, node) for dtype in said["made_by"].get(name, ()) if not keywords.keys().isdisjoint(said["arguments"])
        ]
        if batch is not None and dtypes:
            batch.slots[DTYPE] = join_all(dtypes)  # of one of its tensors, and so of the batch where it's moved; which one isn't known
            batch.slots[EACH] = retyped(like(batch), dtype=join_all([*dtypes, Known(kinds.default_dtype, node)]))
        return batch
    if name not in kinds.loaders:
        return None
    said = kinds.loaders[name]
    data, size = arguments.get(said["position"], said["data"]) or UNKNOWN, arguments.get(*said["size"]) or Known(1)
    collate = keywords[said["collate"]].value if said["collate"] in keywords else Known(None)
    begun = count_made()
    sample = sample_of(m, data, node)
    is_other = any(key in keywords for key in said["others"])
    first = UNKNOWN if is_other else _first_batch(m, size, data, node)
    is_whole = all(isinstance(one, Known) and one.value is None for one in (size, collate))
    result.slots[EACH] = _converted(sample, node) if is_whole else _collated(m, collate, sample, node, begun, first)
    return result


def _first_batch(m: Machine, size: Value, data: Value, node: ast.AST) -> Value:
    """Return how many rows the first batch has: the size of a batch, unless there are fewer; Unknown where nobody says how many."""
    if not isinstance(size, Known) or type(size.value) is not int:
        return UNKNOWN
    getter = data.cls.lookup("__len__") if isinstance(data, Instance) and data.cls is not None else None
    made = data.call if isinstance(data, Instance) and data.name in load_kinds().tensor_data else None
    tensor = made.arguments[0].value if made is not None and made.arguments else data
    shape = joined_trait(tensor, SHAPE)
    rows = _followed(m, getter, [data], node) if isinstance(getter, Function) else UNKNOWN
    if isinstance(shape, Known) and shape.value.lengths:
        rows = Known(shape.value.lengths[0], weak=shape.weak)
    if isinstance(data, Items) and not data.open:
        rows = Known(len(data.slots))
    if not isinstance(rows, Known) or type(rows.value) is not int:
        return UNKNOWN
    return Known(AtMost(min(rows.value, size.value)), size.origin, size.weak or rows.weak)


def _is_read(kinds: Kinds, given: Iterable[Value]) -> bool:
    """Return whether what a data set is given runs no code of the program: texts, numbers, and transforms of its own library."""
    return all(
        isinstance(one, Known)
        or (isinstance(one, Items) and not one.open and _is_read(kinds, one.values()))
        or (
            isinstance(one, Instance) and fits(one.name, kinds.data_transforms) and one.call is not None and _is_read(kinds, one.call.given)
        )
        for value in given
        for one in alternatives_of(value)
    )


def sample_of(m: Machine, data: Value, node: ast.AST) -> Value:
    """Return a sample of a data set: what its `__getitem__` or `__iter__` gives, Unknown for one of outside."""
    samples = []
    for one in alternatives_of(data):
        name = _getter_of(one.cls) if isinstance(one, Instance) and one.cls is not None else ""
        if isinstance(one, Instance) and one.cls is not None and isinstance(getter := one.cls.lookup(name), Function):
            given = one.call.given if one.call is not None and name != GETTER else ()  # a library hands it to what it is given
            is_all = all(isinstance(value, Known) for value in given)
            samples.append(_followed(m, getter, [one, WHOLE], node) if is_all else UNKNOWN)
        elif is_tensor(one) or is_array(one):
            samples.append(row_of(one))
        elif isinstance(one, Items):
            samples.append(join_all([*one.values(), *([one.each] if one.each is not None else [])]))
        else:
            samples.append(trait(going_through(m, one, node), EACH))
    return join_all(samples)


def _getter_of(cls: Class) -> str:
    """Return the method of a class of data sets that gives a sample by its number."""
    said = load_kinds().getters
    return next((said[base] for base in cls.outside_bases() if base in said), GETTER)


def going_through(m: Machine, value: Value, node: ast.AST) -> Value:
    """Return what goes through an object of the program, by its `__iter__`; another value, and one of which that isn't known, itself."""
    if not isinstance(value, Instance) or value.cls is None or trait(value, EACH) is not UNKNOWN:
        return value
    method, following = value.cls.lookup("__iter__"), value.cls.lookup("__next__")
    given = _followed(m, method, [value], node) if isinstance(method, Function) else UNKNOWN
    each = each_of(given) or UNKNOWN
    if given is value and isinstance(following, Function):
        m.store.begin()
        for name in [key for key, one in value.slots.items() if not isinstance(one, Instance) or is_tensor(one) or is_array(one)]:
            m.store.forget(value.slots, name)  # it is another one in each round
        each = _followed(m, following, [value], node)
        m.store.undo()
    return value if each is UNKNOWN else Instance("builtins.iterator", owner=value, slots={EACH: each})


def _followed(m: Machine, function: Function, given: list[Value], node: ast.AST) -> Value:
    """Return what a function of the program gives, with what it writes into what it makes and nothing else of what it writes.

    Of one file, what happens in a worker is noted where the function itself is walked.
    """
    before, m.is_silent = m.is_silent, m.is_silent or m.project is None
    begun, objects = count_made(), len(m.facts.objects)
    m.store.begin()
    try:
        value: Value = m.calls.call_function(m, function, given, {}, False, node)
    finally:
        written = m.store.undo()
        m.is_silent = before
    made = {id(one.slots) for one in m.facts.objects[objects:]}
    for place, key, new in written.values():
        if id(place) in made or (isinstance(place, (Items, Mapping)) and place.born > begun):
            m.store.put(place, key, new)
    return value


def _collated(m: Machine, collate: Value, sample: Value, node: ast.AST, begun: int, size: Value) -> Value:
    function = collate.function if isinstance(collate, Bound) else collate
    if isinstance(function, Function):
        own = [collate.receiver] if isinstance(collate, Bound) else []
        batch = _followed(m, function, [*own, Items("list", {}, node, open=True, each=sample)], node)
        if isinstance(batch, (Items, Mapping)) and batch.born < begun:
            return batch  # what the data set keeps
        return copied_as(batch, IN_EACH_ROUND) if batch is not UNKNOWN else batch_on_cpu(node, is_sure=False)
    if isinstance(collate, Known) and collate.value is None:
        return default_collate(sample, node, size)
    return batch_on_cpu(node, is_sure=False)


def default_collate(sample: Value, node: ast.AST, size: Value = UNKNOWN) -> Value:
    """Return what torch's own collate function makes of as many samples: real numbers become float64, arrays keep their dtype."""
    kinds = load_kinds()
    if isinstance(sample, OneOf):
        one = alike(sample.values)
        return join_all([default_collate(one, node, size) for one in (sample.values if one is UNKNOWN else [one])])
    if sample is REAL or sample is WHOLE:
        return _batch(Known("float64" if sample is REAL else kinds.default_integer, node), node)
    if isinstance(sample, Known):
        dtypes = {bool: "bool", int: kinds.default_integer, float: "float64"}
        return _batch(Known(dtypes[type(sample.value)], sample.origin), node) if type(sample.value) in dtypes else sample
    if isinstance(sample, (Items, Mapping)):
        whole = changed_within(sample, lambda one: default_collate(one, node, size), IN_EACH_ROUND)
        return Items("list", whole.slots, whole.origin, whole.open, whole.each, born=IN_EACH_ROUND) if isinstance(whole, Items) else whole
    if is_tensor(sample):
        batch = like(sample, Known(False))
        batch.slots[SHAPE] = batch_of(joined_trait(sample, SHAPE), size)
        return batch
    if is_array(sample):
        return _batch(joined_dtype(sample), node)
    if is_whole(sample):
        return with_tensors(sample, lambda one: default_collate(one, node, size))
    return batch_on_cpu(node, is_sure=isinstance(sample, Instance) and fits(sample.name.removesuffix("[]"), kinds.data_readers))


def _converted(sample: Value, node: ast.AST) -> Value:
    """Return what a loader that makes no batches gives: samples, with tensors in the place of arrays."""
    if isinstance(sample, (Items, Mapping)):
        return changed_within(sample, lambda one: _converted(one, node), IN_EACH_ROUND)
    return _batch(joined_dtype(sample), node) if is_array(sample) else sample


def _batch(dtype: Value, node: ast.AST) -> Instance:
    kinds = load_kinds()
    return typed(
        Instance("", None), kinds.tensor, place=Known(kinds.default_place, node), dtype=dtype, graph=Known(False), zero=Known(False)
    )


def generated(yields: Sequence[Value]) -> Value:
    """Return what a generator is that gives tensors, arrays, or tuples or dicts of them: going through it gives one that stands for all."""
    each = alike(yields)
    return UNKNOWN if each is UNKNOWN else Instance("builtins.generator", slots={EACH: each})


def batch_on_cpu(node: ast.AST, made: Instance | None = None, is_sure: bool = True) -> Instance:
    """Return a batch, or a part of one, that nobody can see: a tensor on the CPU, or `made` or another that holds such tensors."""
    kinds = load_kinds()
    place, zero = Known(kinds.default_place, node, weak=not is_sure), Known(False, weak=not is_sure)
    batch = typed(made or Instance("batch"), kinds.tensor, place=place, graph=Known(False), zero=zero)
    batch.slots[EACH] = like(batch) if made is not None else batch
    return batch


def put(value: Value, place: Value) -> Value:
    """Return a batch whose tensors lie on another device."""
    if isinstance(value, (Items, Mapping)):
        return changed_within(value, lambda one: put(one, place))
    if is_whole(value):
        return with_tensors(value, lambda one: put(one, place))
    if not isinstance(value, Instance) or not is_tensor(value):
        return value
    made = retyped(value, place=place)
    if EACH in made.slots:
        made.slots[EACH] = made if made.slots[EACH] is value else put(made.slots[EACH], place)
    return made


def tensors_of(value: Value) -> Iterator[Value]:
    """Yield the tensors that a batch holds, in lists, dicts and such objects."""
    for one in elements_of(value):
        yield from filter(is_tensor, one.slots.values()) if is_whole(one) else (one,)
