"""Methods through which pass the fields of classes that check what they are given, as those of pydantic do."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from mpslint.facts.values import UNKNOWN, Argument, Class, DictEntry, Function, Instance, Known, Mapping, Symbol, Value
from mpslint.program.arguments import CallArguments
from mpslint.program.machine import Walker

ENTRIES = "entries"
"""What a method that runs afterwards is given, of those that check the whole: the entries of all fields, not the object."""


def validators_in(m: Walker, body: Sequence[ast.stmt]) -> dict[str, list[Function]]:
    """Return the functions through which annotations send what a field is given (`Annotated[bool, AfterValidator(f)]`), by its name."""
    found: dict[str, list[Function]] = {}
    for statement in body:
        annotation = statement.annotation if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name) else None
        inner = annotation.slice if isinstance(annotation, ast.Subscript) else None
        for part in inner.elts if isinstance(inner, ast.Tuple) else ():
            made = m.value(part) if isinstance(part, ast.Call) else None
            first = made.call.arguments[0].value if isinstance(made, Instance) and made.call is not None and made.call.arguments else None
            if isinstance(made, Instance) and made.name in m.platform.annotated_validators and isinstance(first, Function):
                found.setdefault(ast.unparse(statement.target), []).append(first)  # type: ignore[attr-defined]
    return found


def with_checked_entries(m: Walker, cls: Class, arguments: CallArguments, node: ast.Call | None) -> CallArguments:
    """Return what an object is given once the methods have seen it that run before its fields are filled (`mode="before"`)."""
    for method, when in _of_the_whole(m, cls):
        if when == "after":
            continue
        entries = Mapping({k: DictEntry(v.value, v.node) for k, v in arguments.keywords.items()}, None, arguments.is_open)
        made = m.calls.call_function(m, method, [cls, entries], {}, True, node) if when == "before" else UNKNOWN
        if not isinstance(made, Mapping):
            return CallArguments((), {name: Argument(UNKNOWN, None) for name in cls.all_fields()}, True)
        given = {name: Argument(entry.value, entry.node) for name, entry in made.slots.items() if isinstance(name, str)}
        arguments = CallArguments(arguments.positional, given, made.is_open)
    return arguments


def check_fields(m: Walker, cls: Class, given: dict[str, Value], node: ast.Call | None) -> dict[str, Value]:
    """Return what the fields hold that a call gives values, and those whose defaults are checked as well."""
    validators = _of_fields(m, cls)
    checked = {**_checked_defaults(m, cls, validators), **given}
    for name, value in checked.items():
        for method, *_ in (*validators.get(name, ()), *validators.get("*", ())):
            value = m.calls.call_function(m, method, [cls, value] if method.cls is not None else [value], {}, True, node)
        checked[name] = value
    return checked


def check_whole(m: Walker, instance: Instance, cls: Class, node: ast.Call | None) -> None:
    """Follow the methods that check an object whose fields are filled (`mode="after"`)."""
    for method, when in _of_the_whole(m, cls):
        if when == ENTRIES:
            slots = {name: instance.slots.get(name, cls.lookup(name) or UNKNOWN) for name in cls.all_fields()}
            made = m.calls.call_function(m, method, [cls, Mapping({k: DictEntry(v) for k, v in slots.items()}, None)], {}, True, node)
            for name in slots:
                entry = made.slots.get(name) if isinstance(made, Mapping) else None
                m.store.write(instance.slots, name, entry.value if isinstance(entry, DictEntry) else UNKNOWN)
        elif when == "after":
            m.calls.call_function(m, method, [instance], {}, True, node)


def _of_the_whole(m: Walker, cls: Class) -> Iterator[tuple[Function, str]]:
    """Yield the methods of a class and of its bases that check the whole, with when: `before`, `after`, or what else they are given."""
    for function, decorator in _decorated(cls):
        if decorator.name in m.platform.object_validators:
            said = _said(decorator, "mode") or ("before" if _said(decorator, "pre") else "")
            yield function, str(said or m.platform.object_validators[decorator.name])


def _of_fields(m: Walker, cls: Class) -> dict[str, list[tuple[Function, bool]]]:
    """Return the methods through which passes what a field is given, by the field's name, and whether its default passes, too."""
    found: dict[str, list[tuple[Function, bool]]] = {}
    for above in reversed(cls.lineage()):
        for name, functions in above.validators.items():
            found.setdefault(name, []).extend((function, False) for function in functions)
    for function, decorator in _decorated(cls):
        if isinstance(decorator, Instance) and decorator.name in m.platform.field_validators and decorator.call is not None:
            is_always = any(_said(decorator, name) is True for name in m.platform.checked_defaults)
            for name in (argument.value.value for argument in decorator.call.arguments if isinstance(argument.value, Known)):
                found.setdefault(str(name), []).append((function, is_always))
    return found


def _decorated(cls: Class) -> list[tuple[Function, Instance | Symbol]]:
    """Return the methods of a class and of its bases, a method of the same name further up left out, with each of their decorators."""
    slots = {name: value for above in reversed(cls.lineage()) for name, value in above.slots.items()}
    methods = [value for value in slots.values() if isinstance(value, Function)]
    return [(one, decorator) for one in methods for decorator in one.decorators if isinstance(decorator, (Instance, Symbol))]


def _said(made: Instance | Symbol, name: str) -> object:
    """Return the constant that a call was given for an argument, None where it was given none."""
    call = made.call if isinstance(made, Instance) else None
    value = call.keywords[name].value if call is not None and name in call.keywords else None
    return value.value if isinstance(value, Known) else None


def _checked_defaults(m: Walker, cls: Class, validators: dict[str, list[tuple[Function, bool]]]) -> dict[str, Value]:
    """Return the defaults that pass through validators: by what the class is configured, by the field, or by the validator."""
    whole = _checks_defaults(m, cls)
    names = [name for name in cls.all_fields() if name in validators or "*" in validators]
    checked = [n for n in names if whole or _is_checked(m, cls, n) or any(always for _, always in validators.get(n, ()))]
    return {name: default for name in checked if (default := cls.lookup(name)) is not None}


def _checks_defaults(m: Walker, cls: Class) -> bool:
    """Return whether a class checks its defaults: those of the environment's classes do, unless they say otherwise."""
    told = (_entry(config, name) for config in map(cls.lookup, m.platform.class_configs) for name in m.platform.checked_defaults)
    said = next((value.value for value in told if isinstance(value, Known)), None)
    return bool(said) if said is not None else not m.platform.environment_classes.isdisjoint(cls.outside_bases())


def _entry(config: Value | None, name: str) -> Value | None:
    """Return an entry of a class's configuration: a dict, a call that makes one, or a class inside the class."""
    if isinstance(config, Mapping):
        return getattr(config.slots.get(name), "value", None)
    if isinstance(config, Instance) and config.call is not None:
        return config.call.keywords[name].value if name in config.call.keywords else None
    return config.lookup(name) if isinstance(config, Class) else None


def _is_checked(m: Walker, cls: Class, field: str) -> bool:
    """Return whether a field itself says that its default is checked (`Field(True, validate_default=True)`)."""
    for statement in cls.node.body:
        value = statement.value if isinstance(statement, ast.AnnAssign) and ast.unparse(statement.target) == field else None
        for keyword in value.keywords if isinstance(value, ast.Call) else ():
            if keyword.arg in m.platform.checked_defaults and isinstance(keyword.value, ast.Constant):
                return bool(keyword.value.value)
    return False
