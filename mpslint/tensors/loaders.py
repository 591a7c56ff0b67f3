"""Data sets and loaders: what a batch is, by the samples of the data set and the function that collates them."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence

from mpslint.facts.joined import join_all
from mpslint.facts.values import (
    IN_EACH_ROUND,
    UNKNOWN,
    Argument,
    AtMost,
    Bound,
    DictEntry,
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
from mpslint.tensors.dimensions import row_of
from mpslint.tensors.kinds import Kinds, fits, load_kinds
from mpslint.tensors.shapes import batch_of
from mpslint.tensors.signatures import load_signatures
from mpslint.tensors.traits import (
    DTYPE,
    EACH,
    KEY,
    REAL,
    SHAPE,
    WHOLE,
    Machine,
    has_traits,
    is_array,
    is_module,
    is_tensor,
    joined_dtype,
    joined_trait,
    like,
    part_of,
    retyped,
    trait,
    typed,
)


def make(
    m: Machine, name: str, positional: tuple[Argument, ...], keywords: dict[str, Argument], node: ast.Call, result: Instance
) -> Value | None:
    """Return a loader or a data set that a call makes, with what going through it gives; None for another call."""
    kinds = load_kinds()
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
    passed = (positional[0] if positional else keywords.get("iterable")) if name in kinds.passing else None
    if passed is not None and (each := each_of(going_through(m, passed.value, node))) is not None:
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
        if batch is not None and (dtypes := _wide_dtypes(name, keywords, node)):
            batch.slots[DTYPE] = join_all(dtypes)  # of one of its tensors, and so of the batch where it's moved; which one isn't known
            batch.slots[EACH] = retyped(like(batch), dtype=join_all([*dtypes, Known(kinds.default_dtype, node)]))
        return batch
    if name not in kinds.loaders:
        return None
    said = kinds.loaders[name]
    data = (
        keywords[said["data"]].value
        if said["data"] in keywords
        else positional[said["position"]].value
        if len(positional) > said["position"]
        else UNKNOWN
    )
    collate = keywords[said["collate"]].value if said["collate"] in keywords else Known(None)
    sample = sample_of(m, data, node)
    number, word = said["size"]
    size = keywords[word].value if word in keywords else positional[number].value if len(positional) > number else Known(1)
    is_other = any(key in keywords for key in said["others"])
    result.slots[EACH] = _collated(m, collate, sample, node, UNKNOWN if is_other else _first_batch(m, size, data, node))
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
        if isinstance(one, Instance) and one.cls is not None and isinstance(getter := one.cls.lookup("__getitem__"), Function):
            samples.append(_followed(m, getter, [one, WHOLE], node))
        elif is_tensor(one) or is_array(one):
            samples.append(row_of(one))
        elif isinstance(one, Items):
            samples.append(join_all([*one.values(), *([one.each] if one.each is not None else [])]))
        else:
            samples.append(trait(going_through(m, one, node), EACH))
    return join_all(samples)


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


def _collated(m: Machine, collate: Value, sample: Value, node: ast.AST, size: Value) -> Value:
    function = collate.function if isinstance(collate, Bound) else collate
    if isinstance(function, Function):
        own = [collate.receiver] if isinstance(collate, Bound) else []
        batch = _followed(m, function, [*own, Items("list", {}, node, open=True, each=sample)], node)
        return _copied(batch, IN_EACH_ROUND) if batch is not UNKNOWN else batch_on_cpu(node, is_sure=False)
    if isinstance(collate, Known) and collate.value is None:
        return default_collate(sample, node, size)
    return batch_on_cpu(node, is_sure=False)


def default_collate(sample: Value, node: ast.AST, size: Value = UNKNOWN) -> Value:
    """Return what torch's own collate function makes of as many samples: real numbers become float64, arrays keep their dtype."""
    kinds = load_kinds()
    if isinstance(sample, OneOf):
        one = _alike(sample.values)
        return join_all([default_collate(one, node, size) for one in (sample.values if one is UNKNOWN else [one])])
    if sample is REAL or sample is WHOLE:
        return _batch(Known("float64" if sample is REAL else kinds.default_integer, node), node)
    if isinstance(sample, Known):
        dtypes = {bool: "bool", int: kinds.default_integer, float: "float64"}
        return _batch(Known(dtypes[type(sample.value)], sample.origin), node) if type(sample.value) in dtypes else sample
    if isinstance(sample, Items):
        parts = {key: default_collate(one, node, size) for key, one in sample.slots.items()}
        return Items("list", parts, sample.origin, sample.open, born=IN_EACH_ROUND)
    if isinstance(sample, Mapping):
        entries = {
            key: DictEntry(default_collate(entry.value, node, size), entry.node)
            for key, entry in sample.slots.items()
            if isinstance(entry, DictEntry)
        }
        return Mapping(entries, sample.origin, sample.is_open, born=IN_EACH_ROUND)
    if is_tensor(sample):
        batch = like(sample, Known(False))
        batch.slots[SHAPE] = batch_of(joined_trait(sample, SHAPE), size)
        return batch
    if is_array(sample):
        return _batch(joined_dtype(sample), node)
    return batch_on_cpu(node, is_sure=isinstance(sample, Instance) and fits(sample.name.removesuffix("[]"), kinds.data_readers))


def _batch(dtype: Value, node: ast.AST) -> Instance:
    kinds = load_kinds()
    return typed(
        Instance("", None), kinds.tensor, place=Known(kinds.default_place, node), dtype=dtype, graph=Known(False), zero=Known(False)
    )


def generated(yields: Sequence[Value]) -> Value:
    """Return what a generator is that gives tensors, arrays, or tuples or dicts of them: going through it gives one that stands for all."""
    each = _alike(yields)
    return UNKNOWN if each is UNKNOWN else Instance("builtins.generator", slots={EACH: each})


def _alike(values: Sequence[Value]) -> Value:
    first = values[0] if values else UNKNOWN
    if isinstance(first, Items) and all(isinstance(one, Items) and not one.open and len(one.slots) == len(first.slots) for one in values):
        parts = {number: _alike([one.slots[number] for one in values if isinstance(one, Items)]) for number in first.slots}
        return Items(first.kind, parts, born=IN_EACH_ROUND) if any(one is not UNKNOWN for one in parts.values()) else UNKNOWN
    if isinstance(first, Mapping) and all(isinstance(one, Mapping) and one.slots.keys() == first.slots.keys() for one in values):
        rows = {key: [one.slots[key] for one in values if isinstance(one, Mapping) and not one.is_open] for key in first.slots}
        if all(len(row) == len(values) and all(isinstance(one, DictEntry) for one in row) for row in rows.values()):
            entries = {key: DictEntry(_alike([one.value for one in row]), row[0].node) for key, row in rows.items()}
            return Mapping(entries, born=IN_EACH_ROUND) if any(one.value is not UNKNOWN for one in entries.values()) else UNKNOWN
        return UNKNOWN
    joined = join_all(list(values)) if values else UNKNOWN
    return like(joined) if is_tensor(joined) or is_array(joined) else UNKNOWN


def _wide_dtypes(name: str, keywords: dict[str, Argument], node: ast.AST) -> list[Value]:
    """Return the dtypes that one of the tensors in a batch may have that MPS lacks, by what makes it and what that is given."""
    said = load_kinds().wide_batches
    return [Known(dtype, node) for dtype in said["made_by"].get(name, ()) if not keywords.keys().isdisjoint(said["arguments"])]


def batch_on_cpu(node: ast.AST, made: Instance | None = None, is_sure: bool = True) -> Instance:
    """Return a batch, or a part of one, that nobody can see: a tensor on the CPU, or `made` or another that holds such tensors."""
    kinds = load_kinds()
    place, zero = Known(kinds.default_place, node, weak=not is_sure), Known(False, weak=not is_sure)
    batch = typed(made or Instance("batch"), kinds.tensor, place=place, graph=Known(False), zero=zero)
    batch.slots[EACH] = like(batch) if made is not None else batch
    return batch


def put(value: Value, place: Value) -> Value:
    """Return a batch whose tensors lie on another device."""
    if isinstance(value, Items):
        each = put(value.each, place) if value.each is not None else None
        return Items(value.kind, {key: put(one, place) for key, one in value.slots.items()}, value.origin, value.open, each)
    if isinstance(value, Mapping):
        entries = {
            key: DictEntry(put(entry.value, place), entry.node) for key, entry in value.slots.items() if isinstance(entry, DictEntry)
        }
        return Mapping(entries, value.origin, value.is_open)
    if not isinstance(value, Instance) or not is_tensor(value):
        return value
    made = retyped(value, place=place)
    if EACH in made.slots:
        made.slots[EACH] = made if made.slots[EACH] is value else put(made.slots[EACH], place)
    return made


def each_of(value: Value) -> Value | None:
    """Return what going through a value gives; None where the domain doesn't know."""
    found = []
    for one in alternatives_of(value):
        if trait(one, EACH) is not UNKNOWN:
            found.append(trait(one, EACH))
        elif is_tensor(one) or is_array(one):
            found.append(row_of(one))
        elif (inner := contained(one)) is not None:
            found.append(inner)
        elif isinstance(one, Items) and any(map(has_traits, one.values())) and not one.open:
            found += one.values()
        elif isinstance(one, Items) and one.open and one.each is not None and has_traits(one.each):
            found += [*one.values(), one.each]
        else:
            return None
    return join_all(found)


def any_of(items: Items) -> Value:
    """Return what one of the items of a list is, whichever is meant: tensors, arrays, or dicts and tuples that hold some; else Unknown."""
    values = [*items.values(), *([items.each or UNKNOWN] if items.open else [])]
    if all(is_tensor(one) or is_array(one) for one in values):
        return join_all(values)
    return (values[0] if len(values) == 1 else OneOf(tuple(values))) if _alike(values) is not UNKNOWN else UNKNOWN


def anew(value: Value) -> Value:
    """Return what goes through a loader as one round of a loop gets it: with lists and dicts of its own, which the next one doesn't see."""
    return _copied(value, None)


def as_yielded(value: Value) -> Value:
    """Return what a generator yields, as it is now: it may change it later."""
    return _copied(value, IN_EACH_ROUND) if isinstance(value, Mapping) else value


def _copied(value: Value, born: int | None) -> Value:
    """Return a value with other lists and dicts in the place of those that are made in each round, or where that is `born`, of all."""
    if isinstance(value, OneOf):
        parts = tuple(_copied(one, born) for one in value.values)
        return OneOf(parts) if any(one is not old for one, old in zip(parts, value.values, strict=True)) else value
    if not isinstance(value, (Items, Mapping)) or (isinstance(value, Mapping) and value.owner is not None):
        return value
    held = {key: one.value if isinstance(one, DictEntry) else one for key, one in value.slots.items()}
    inner = {key: _copied(one, born) for key, one in held.items()}
    if born is None and value.born != IN_EACH_ROUND and all(one is held[key] for key, one in inner.items()):
        return value
    when = count_made() if born is None else born
    if isinstance(value, Items):
        return Items(value.kind, inner, value.origin, value.open, value.each, born=when)
    entries = {key: DictEntry(one, value.slots[key].node, value.slots[key].is_sure) for key, one in inner.items()}
    return Mapping(entries, value.origin, value.is_open, each=value.each, born=when)


def depth_of(value: Value, most: int = 4) -> int:
    """Return how many lists and dicts lie within one another in a value, as far as it is known; deeper ones don't count."""
    if isinstance(value, OneOf):
        return max(depth_of(one, most) for one in value.values)
    if not isinstance(value, (Items, Mapping)) or not most:
        return 0
    held = [one.value if isinstance(one, DictEntry) else one for one in value.slots.values()]
    return 1 + max((depth_of(one, most - 1) for one in (*held, *([value.each] if value.each is not None else []))), default=0)


def contained(value: Value) -> Value | None:
    """Return what a container of modules holds, one of them standing for all; None for another value."""
    content = content_of(value)
    if isinstance(content, Mapping):
        return value_of(content)
    return join_all([*content.values(), *([content.each] if content.each is not None else [])]) if isinstance(content, Items) else None


def content_of(value: Value) -> Value | None:
    """Return the list or dict of a container of modules; None for another value."""
    if not isinstance(value, Instance) or not is_module(value):
        return None
    own = load_signatures().get(value.name)
    return value.slots.get(own.registered[0]) if own is not None and own.registered and not own.called_with else None


def held_at(value: Value, key: object) -> Value | None:
    """Return the module that a container of modules holds under a number or name; None where that isn't known."""
    content = content_of(value)
    if isinstance(content, Mapping):
        entry = content.slots.get(key)
        return entry.value if isinstance(entry, DictEntry) else None
    if isinstance(content, Items) and isinstance(key, int):
        return content.slots.get(key % len(content.slots) if content.slots and not content.open else key, content.each)
    return None


def of_iterable(receiver: Instance, method: str, result: Instance) -> Value | None:
    """Return what a method gives that goes through a loader or data set."""
    if method == "items":  # of a batch that is like a dict
        result.slots[EACH] = Items("tuple", {0: KEY, 1: trait(receiver, EACH)})
        return result
    if method in ("__iter__", "values", "keys"):
        result.slots[EACH] = KEY if method == "keys" else trait(receiver, EACH)
        return result
    return anew(trait(receiver, EACH)) if method in ("__next__", "get", "pop") else None


def is_batch(value: Value) -> bool:
    """Return whether something goes through the parts of a batch, of which there is one at least."""
    whole = [value, *([value.owner] if value.owner is not None else [])] if isinstance(value, Instance) and EACH in value.slots else []
    return any(map(is_tensor, whole))


def of_builtin(name: str, values: list[Value], result: Instance) -> None:
    """Give `enumerate(x)`, `zip(x, y)` and `iter(x)` what going through them gives."""
    each = [each_of(value) or (part_of(value, "[]") if isinstance(value, Instance) else Instance("[]")) for value in values]
    if name == "enumerate" and each:
        result.slots[EACH] = Items("tuple", {0: WHOLE, 1: each[0]})
    elif name == "zip":
        result.slots[EACH] = Items("tuple", dict(enumerate(each)))
    elif name in ("iter", "reversed", "sorted") and each and each_of(values[0]) is not None:
        result.slots[EACH] = each[0]


def value_of(entries: Mapping) -> Value:
    """Return what the tensors that a dict holds have in common; Unknown where it may hold something else."""
    values = [
        *(one.value for one in entries.slots.values() if isinstance(one, DictEntry)),
        *([entries.each] if entries.each is not None else []),
    ]
    is_all = bool(values) and all(map(has_traits, values)) and (entries.each is not None or not entries.is_open)
    return join_all(values) if is_all else UNKNOWN


def entry_of(entries: Mapping, method: str, node: ast.AST) -> Value:
    """Return what going through `items()` or `values()` of a dict gives."""
    value = value_of(entries)
    return value if method == "values" else Items("tuple", {0: UNKNOWN, 1: value}, node)


def split(value: Value, number: int) -> Value | None:
    """Return the part of a number of a group of tensors, or of a tensor, that is unpacked; None for another value."""
    if not isinstance(value, Instance):
        return None
    part = value.slots.get(("item", number)) or value.slots.get(EACH)
    return row_of(value) if part is None and (is_tensor(value) or is_array(value)) else part
