"""Classes whose annotated names are their fields: dataclasses, attrs, and those of pydantic, which make objects of dicts."""

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
    weakened,
)
from mpslint.program import validators
from mpslint.program.arguments import CallArguments
from mpslint.program.exits import may_raise
from mpslint.program.machine import Walker

_WRAPPERS = ("Optional", "Annotated")
_NOTHING = CallArguments((), {}, False)


def has_fields(m: Walker, cls: Class) -> bool:
    """Return whether what a class annotates are its fields: by a decorator (`@dataclass`) or by a base (`pydantic.BaseModel`)."""
    return not m.platform.field_classes.isdisjoint(_makers(cls.bases, cls.decorators))


def takes_dicts(m: Walker, cls: Class) -> bool:
    """Return whether a class makes objects of the dicts that its fields are given, and checks what they are given."""
    return not m.platform.validating_classes.isdisjoint(_makers(cls.bases, cls.decorators))


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

    Where the environment may answer (`BaseSettings`), or a call has arguments that are not known, a default is only a default.
    """
    makers = _makers(cls.bases, cls.decorators)
    own = [one for one in cls.lineage() if one.decorators or has_fields(m, one)]
    names = tuple(dict.fromkeys(name for one in reversed(own) for name in one.fields)) if own else cls.all_fields()
    if takes_dicts(m, cls):
        arguments = validators.with_checked_entries(m, cls, arguments, node)
    if (arguments.is_open and has_fields(m, cls)) or makers & m.platform.environment_classes:
        for name in names:
            if (default := cls.lookup(name)) is not None:
                m.store.write(instance.slots, name, weakened(default))
    aliases = cls.all_aliases()
    kinds = {name: kind for own in reversed(cls.lineage()) for name, kind in own.kinds.items()}
    is_apart = {name for name in names if _says(cls, name, "init", False) or _says(cls, name, "kw_only", True)}
    by_position = [name for name in names if name not in is_apart and kinds.get(name) != "by keyword"]
    given = {**dict(zip(by_position, arguments.positional, strict=False)), **{aliases.get(k, k): v for k, v in arguments.keywords.items()}}
    is_bare = any(name not in given and cls.lookup(name) is None for name in names) or (
        bool(arguments.positional) and not has_fields(m, cls)
    )
    if not arguments.is_open and (is_bare or len(arguments.positional) > len(by_position) or not given.keys() <= set(names)):
        may_raise(m)
    held = {name: _filled(m, cls, name, argument.value) for name, argument in given.items() if kinds.get(name) != "passed on"}
    for name, value in (validators.check_fields(m, cls, held, node) if takes_dicts(m, cls) else held).items():
        m.store.write(instance.slots, name, value)
    for name in names if has_fields(m, cls) else ():
        default = cls.lookup(name)
        made = made_by_factory(m, cls, name) if name not in instance.slots else None
        if made is not None:
            m.store.write(instance.slots, name, made)
        elif name not in instance.slots and (
            isinstance(default, (Items, Mapping)) or (isinstance(default, Instance) and default.cls is not None and _is_made(cls, name))
        ):
            m.store.write(instance.slots, name, copied(default, is_deep=True))
    finish(m, instance, node)
    if takes_dicts(m, cls):
        validators.check_whole(m, instance, cls, node)


def made_by_factory(m: Walker, cls: Class, name: str) -> Value | None:
    """Return what a function of the program makes for a field of an object (`field(default_factory=...)`); None where none does."""
    made_by = next((one for one in _calls(cls, name)[:1] if isinstance(m.factories.get(id(one)), Function)), None)
    return m.calls.call_value(m, m.factories[id(made_by)], None, _NOTHING, made_by) if made_by is not None else None


def _calls(cls: Class, name: str) -> list[ast.Call]:
    """Return the calls (`field(default_factory=...)`) that say what a field is, those of the class itself first."""
    bodies = ([one for one in own.node.body if isinstance(one, ast.AnnAssign)] for own in cls.lineage())
    found = ([one.value for one in body if isinstance(one.target, ast.Name) and one.target.id == name] for body in bodies)
    return next(([call for call in told if isinstance(call, ast.Call)] for told in found if told), [])


def _keywords(cls: Class, name: str) -> list[ast.keyword]:
    return [keyword for call in _calls(cls, name) for keyword in call.keywords]


def _is_made(cls: Class, name: str) -> bool:
    """Return whether each object of a class is given an object of its own for a field, by a call."""
    return any("factory" in (one.arg or "") for one in _keywords(cls, name))


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
    kept = {name: Argument(m.attribute(old, name, None), None, None, unpacked=True) for name in names if name not in arguments.keywords}
    return m.calls.instantiate(m, old.cls, CallArguments((), {**kept, **arguments.keywords}, arguments.is_open), node)


def finish(m: Walker, made: Value, node: ast.Call | None) -> None:
    """Walk what a class of fields does once they are filled (`__post_init__`)."""
    if isinstance(made, Instance) and made.cls is not None and has_fields(m, made.cls):
        for name in m.platform.after_fields:
            if isinstance(method := made.cls.lookup(name), Function):
                m.calls.call_function(m, method, [made], {}, True, node)


def aliases_in(m: Walker, body: Sequence[ast.stmt]) -> dict[str, str]:
    """Return the names of fields by the other name under which they are given (`rate: float = Field(alias="lr")`)."""
    return {
        alias: statement.target.id
        for statement in body
        if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name) and isinstance(statement.value, ast.Call)
        for keyword in statement.value.keywords
        if keyword.arg in m.platform.field_aliases
        for alias in _names_of(m, keyword.value)
    }


def _names_of(m: Walker, node: ast.expr) -> list[str]:
    """Return the names that an alias says: one, or several of which each will do (`AliasChoices("FP16", "half")`)."""
    is_choice = isinstance(node, ast.Call) and getattr(m.value(node.func), "name", "") in m.platform.alias_choices
    given = node.args if isinstance(node, ast.Call) and is_choice else [node]
    return [one.value for one in given if isinstance(one, ast.Constant) and isinstance(one.value, str)]


def nested_in(m: Walker, body: Sequence[ast.stmt], bases: Sequence[Value], decorators: Sequence[Value]) -> dict[str, Class]:
    """Return the classes of the program that make objects of the dicts which some fields are given, by the name of the field."""
    if m.platform.validating_classes.isdisjoint(_makers(bases, decorators)):
        return {}
    found = {}
    for statement in body:
        if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
            kinds = [kind for name in plain_names(statement.annotation) if isinstance(kind := m.lookup(name), Class)]
            if len(kinds) == 1:
                found[statement.target.id] = kinds[0]
    return found


def _filled(m: Walker, cls: Class, name: str, value: Value) -> Value:
    """Return what a field holds that is given a value: an object, where a class of fields takes a dict for one."""
    kind = cls.nested_class(name)
    return m.calls.instantiate(m, kind, _of_entries(value), None) if kind is not None and isinstance(value, Mapping) else value


def validated(m: Walker, cls: Class, arguments: CallArguments, node: ast.Call) -> Value:
    """Return the object that `Model.model_validate(entries)` makes of a class."""
    first = arguments.first()
    return m.calls.instantiate(m, cls, _of_entries(first) if isinstance(first, Mapping) else CallArguments((), {}, True), node)


def _of_entries(entries: Mapping) -> CallArguments:
    named = {
        name: Argument(entry.value, entry.node, None, unpacked=True)
        for name, entry in entries.slots.items()
        if isinstance(name, str) and isinstance(entry, DictEntry)
    }
    return CallArguments((), named, entries.is_open)


def _makers(bases: Sequence[Value], decorators: Sequence[Value]) -> set[str]:
    """Return the names of the decorators and of the outside bases of a class."""
    outside = [name for base in bases for name in (base.outside_bases() if isinstance(base, Class) else [getattr(base, "name", "")])]
    return {*outside, *(decorator.name for decorator in decorators if isinstance(decorator, (Instance, Symbol)))}


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
