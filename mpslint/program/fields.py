"""Objects with fields: of classes whose annotated names are their fields (dataclasses, attrs, and those of pydantic, which make
objects of dicts), and those that hold settings as attributes or entries."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from mpslint.facts.copied import copied
from mpslint.facts.values import (
    UNKNOWN,
    Argument,
    Class,
    DictEntry,
    Function,
    Instance,
    Items,
    Known,
    Mapping,
    OneOf,
    Symbol,
    Unknown,
    Value,
    method_of,
    origin_of,
    weakened,
)
from mpslint.program import listed
from mpslint.program.exits import may_raise
from mpslint.program.machine import Walker
from mpslint.tensors.arguments import CallArguments

_WRAPPERS = ("Optional", "Annotated")
_NOTHING = CallArguments((), {}, False)
OTHER = "another file"
"""Why an entry is not known."""


def has_fields(m: Walker, cls: Class) -> bool:
    """Return whether what a class annotates are its fields: by a decorator (`@dataclass`) or by a base (`pydantic.BaseModel`)."""
    return not m.platform.field_classes.isdisjoint(cls.makers())


def field_default(m: Walker, arguments: CallArguments, node: ast.Call) -> Value:
    """Return the default that `dataclasses.field(...)` gives; unknown for one that must be given (`Field(...)`)."""
    default = arguments.get(0, "default")
    if default is not None:
        return UNKNOWN if isinstance(default, Known) and default.value is ... else default
    factory = arguments.get(99, "default_factory") or arguments.get(99, "factory")
    if factory is None:
        return UNKNOWN
    if isinstance(factory, Symbol) and factory.name in ("builtins.list", "builtins.tuple", "builtins.set"):
        return Items(factory.name.removeprefix("builtins."), {}, node)
    m.factories[id(node)] = factory
    with m.store.path():  # each object that is made calls it, the class does not
        return m.calls.call_value(m, factory, None, _NOTHING, node)


def fill(m: Walker, instance: Instance, cls: Class, arguments: CallArguments, node: ast.Call | None) -> None:
    """Give an object the fields that its class has by default, then those of a call, then what the class itself makes of them.

    Where a call has arguments that are not known, a default is only a default.
    """
    own = [one for one in cls.lineage() if one.decorators or has_fields(m, one)]
    names = tuple(dict.fromkeys(name for one in reversed(own) for name in one.fields)) if own else cls.all_fields()
    if arguments.is_open and has_fields(m, cls):
        for name in names:
            if (default := cls.lookup(name)) is not None:
                m.store.write(instance.slots, name, default if id(origin_of(default)) in m.instead else weakened(default))
    kinds = {name: kind for own in reversed(cls.lineage()) for name, kind in own.kinds.items()}
    is_apart = {name for name in names if _says(cls, name, "init", False) or _says(cls, name, "kw_only", True)}
    by_position = [name for name in names if name not in is_apart and kinds.get(name) != "by keyword"]
    given = {**dict(zip(by_position, arguments.positional, strict=False)), **arguments.keywords}
    is_bare = any(name not in given and cls.lookup(name) is None for name in names) or (
        bool(arguments.positional) and not has_fields(m, cls)
    )
    if not arguments.is_open and (is_bare or len(arguments.positional) > len(by_position) or not given.keys() <= set(names)):
        may_raise(m)
    for name, argument in given.items():
        if kinds.get(name) != "passed on":
            m.store.write(instance.slots, name, argument.value)
    for name in names if has_fields(m, cls) else ():
        if name not in instance.slots and (default := default_of(m, cls, name)) is not cls.lookup(name) and default is not None:
            m.store.write(instance.slots, name, default)
    finish(m, instance, node)


def default_of(m: Walker, cls: Class, name: str) -> Value | None:
    """Return what a field of a new object is by default, which is its own where a function makes it, or where it holds others."""
    calls = _calls(cls, name)
    if calls and isinstance(factory := m.factories.get(id(calls[0])), Function):
        return m.calls.call_value(m, factory, None, _NOTHING, calls[0])
    default = cls.lookup(name)
    is_made = any("factory" in (one.arg or "") for one in _keywords(cls, name))
    is_own = isinstance(default, (Items, Mapping)) or (is_made and isinstance(default, Instance) and default.cls is not None)
    return copied(default, is_deep=True) if is_own and default is not None else default


def _calls(cls: Class, name: str) -> list[ast.Call]:
    """Return the calls (`field(default_factory=...)`) that say what a field is, those of the class itself first."""
    bodies = (own.node.body for own in cls.lineage())
    found = (
        [
            one.value
            for one in body
            if isinstance(one, (ast.Assign, ast.AnnAssign))
            and any(isinstance(at, ast.Name) and at.id == name for at in ([one.target] if isinstance(one, ast.AnnAssign) else one.targets))
        ]
        for body in bodies
    )
    return next(([call for call in told if isinstance(call, ast.Call)] for told in found if told), [])


def _keywords(cls: Class, name: str) -> list[ast.keyword]:
    return [keyword for call in _calls(cls, name) for keyword in call.keywords]


def _says(cls: Class, name: str, keyword: str, answer: bool) -> bool:
    return any(one.arg == keyword and isinstance(one.value, ast.Constant) and one.value.value is answer for one in _keywords(cls, name))


def names_of_fields(m: Walker, body: Sequence[ast.stmt]) -> tuple[tuple[str, ...], dict[str, str]]:
    """Return the annotated names of a class that may be its fields, and which of them are special (`Class.kinds`)."""
    found: list[str] = []
    kinds: dict[str, str] = {}
    is_by_keyword = False
    for one in body:
        if isinstance(one, ast.AnnAssign) and isinstance(one.target, ast.Name):
            kind = one.annotation.value if isinstance(one.annotation, ast.Subscript) else one.annotation
            name = getattr(m.looked_at(kind), "name", "") if isinstance(kind, (ast.Name, ast.Attribute)) else ""
            meant = m.platform.annotations.get(name, "by keyword" if is_by_keyword else "")
            is_by_keyword = is_by_keyword or meant == "begins keywords"
            if meant not in ("no field", "begins keywords"):
                found.append(one.target.id)
                kinds.update({one.target.id: meant} if meant else {})
    return tuple(found), kinds


def is_frozen(m: Walker, cls: Class) -> bool | None:
    """Return whether no attribute of an object of a class can be written: `@dataclass(frozen=True)`, `class Point(NamedTuple)`.

    None where that is not known: by a base or a decorator that may be something else.
    """
    if not m.platform.unwritable_classes.isdisjoint(cls.outside_bases()):
        return True
    makers = [one for own in cls.lineage() for one in (*own.decorators, *own.bases)]
    calls = [one.call for one in makers if isinstance(one, Instance) and one.call is not None]
    said = [(one.keywords["frozen"].value, not m.platform.field_classes.isdisjoint(one.names)) for one in calls if "frozen" in one.keywords]
    if any(isinstance(frozen, Known) and frozen.value is True and is_known for frozen, is_known in said):
        return True
    is_settled = all(isinstance(frozen, Known) and (is_known or frozen.value is False) for frozen, is_known in said)
    return None if not is_settled or any(isinstance(one, (Unknown, OneOf)) for one in makers) else False


def replaced(m: Walker, arguments: CallArguments, node: ast.Call) -> Value | None:
    """Return what `replace(point, x=1)` makes of an object of fields: one with the same values, but for those that are given."""
    old = arguments.first()
    if not isinstance(old, Instance) or old.cls is None or not has_fields(m, old.cls):
        return None
    names = [name for name in old.cls.all_fields() if not _says(old.cls, name, "init", False)]
    values = {name: UNKNOWN if arguments.is_open else m.attribute(old, name, None) for name in names}  # it may be given by `**`
    kept = {name: Argument(values[name], None, None, unpacked=True) for name in names if name not in arguments.keywords}
    return m.calls.instantiate(m, old.cls, CallArguments((), {**kept, **arguments.keywords}, arguments.is_open), node)


def hold(m: Walker, instance: Instance, cls: Class) -> None:
    """Note the fields of a new object that hold a constant of a fix which their annotations or validators don't list."""
    reads_annotations = not m.platform.unread_annotations.issuperset(cls.makers())
    for own in cls.lineage() if m.instead and has_fields(m, cls) else ():
        before, m.frame = m.frame, own.frame or m.frame
        for one in own.node.body:
            target = one.target if isinstance(one, ast.AnnAssign) else one.targets[0] if isinstance(one, ast.Assign) else None
            value = (instance.slots.get(target.id) or cls.lookup(target.id)) if isinstance(target, ast.Name) else None
            if isinstance(one, ast.AnnAssign) and reads_annotations and value is not None:
                listed.hold(m, one.annotation, value)
            if isinstance(target, ast.Name) and value is not None and listed.new_constants(m, value):
                for validator in _validators(m, own, target.id):
                    listed.hold_validated(m, validator, instance, value)
        m.frame = before


def _validators(m: Walker, cls: Class, name: str) -> Iterator[Value]:
    """Yield what checks a field of attrs: what `validator=` says, and the methods below `@name.validator`."""
    word = "validator"
    yield from (m.looked_at(one.value) for one in _keywords(cls, name) if one.arg == word)
    for one in cls.slots.values():
        for by in one.node.decorator_list if isinstance(one, Function) and not isinstance(one.node, ast.Lambda) else ():
            if isinstance(by, ast.Attribute) and by.attr == word and isinstance(by.value, ast.Name) and by.value.id == name:
                yield one


def finish(m: Walker, made: Value, node: ast.Call | None) -> None:
    """Walk what a class of fields does once they are filled (`__post_init__`)."""
    if isinstance(made, Instance) and made.cls is not None and has_fields(m, made.cls):
        for name in m.platform.after_fields:
            if isinstance(method := made.cls.lookup(name), Function):
                m.calls.call_function(m, method, [made], {}, True, node)


def plain_names(annotation: ast.expr) -> Iterator[str]:
    """Yield the names of the classes that a value may be of: `A`, `A | None`, `Optional[A]`; of a list of them none."""
    if isinstance(annotation, ast.Name):
        yield annotation.id
    elif isinstance(annotation, ast.BinOp):
        yield from plain_names(annotation.left)
        yield from plain_names(annotation.right)
    elif isinstance(annotation, ast.Subscript) and ast.unparse(annotation.value).endswith(_WRAPPERS):
        inner = annotation.slice
        yield from plain_names(inner.elts[0] if isinstance(inner, ast.Tuple) and inner.elts else inner)


def entries_of(value: Value) -> Iterator[tuple[str, Value]]:
    """Yield the keys of a dict, of an object that holds settings, or of a class, with their values."""
    if isinstance(value, Mapping):
        yield from ((str(key), entry.value) for key, entry in value.slots.items() if isinstance(entry, DictEntry))
    elif isinstance(value, (Instance, Class)):
        held = value.written_slots() if isinstance(value, Instance) else value.slots
        yield from ((key, one) for key, one in held.items() if isinstance(key, str))


def kept_parameters(m: Walker, arguments: CallArguments) -> Value:
    """Return what a method keeps of the parameters of the function that calls it: all, those that it names, or those of an object."""
    first = arguments.first() if arguments.positional else None
    if isinstance(first, Instance):
        return first
    if isinstance(first, Mapping):
        return Instance("", slots=dict(entries_of(first)), fallback=OTHER if first.is_open else "")
    named = {one.value.value for one in arguments.positional if isinstance(one.value, Known)}
    given = {name: value for name, value in m.frame.slots.items() if name != "self" and (not named or name in named)}
    return Instance("", slots=dict(given), fallback=OTHER)


def from_getter(m: Walker, owner: Instance, getter: str, name: str) -> Value | None:
    """Return what a class's own `__getattr__` or `__getitem__` gives for a name; None where it has none, or that is not known."""
    if (method := method_of(owner, getter)) is None:
        return None
    found = m.calls.call_function(m, method, [owner, Known(name)], {}, False, None)
    return found if isinstance(found, (Known, Mapping, Instance, Items)) else None
