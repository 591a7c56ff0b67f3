"""What a stub may ask of the functions, classes and objects of the program, and do with them: more functions of `stubs.host`."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from mpslint.facts.values import (
    UNKNOWN,
    Argument,
    Bound,
    Class,
    Function,
    Instance,
    Known,
    Mapping,
    Module,
    Symbol,
    Value,
    is_weak,
    method_of,
    origin_of,
)
from mpslint.program import exits, fields, listed
from mpslint.program.called import record_call
from mpslint.program.config_files import path_of
from mpslint.program.fields import entries_of as entries_in
from mpslint.program.stubs.host import Host, functions_of, plain, unknown
from mpslint.program.stubs.language import StubObject
from mpslint.tensors.arguments import CallArguments


def _value(given: Any) -> Value | None:
    if isinstance(given, StubObject):
        return given.instance
    return given.value if isinstance(given, Argument) else None


def _told(value: Value) -> Argument:
    return Argument(value, origin_of(value))


def is_class(host: Host, given: Any) -> bool:
    """Return whether a value is a class of the program, or a name of outside that may be one."""
    return isinstance(_value(given), (Symbol, Class))


def is_own_class(host: Host, given: Any) -> bool:
    """Return whether a value is a class of the program."""
    return isinstance(_value(given), Class)


def is_function(host: Host, given: Any) -> bool:
    """Return whether a value is a function or a method of the program."""
    return _function(given) is not None


def _function(given: Any) -> Function | None:
    value = _value(given)
    function = value.function if isinstance(value, Bound) else value
    return function if isinstance(function, Function) else None


def class_of(host: Host, given: Any) -> Argument:
    """Return the class of an object of the program."""
    value = _value(given)
    cls = (value.proxied or value).cls if isinstance(value, Instance) else None
    return Argument(cls, None) if cls is not None else unknown


def fields_of(host: Host, cls: Argument) -> list[str]:
    """Return the names of the fields of a class of the program, those of its bases first; none of a class of outside."""
    return list(cls.value.all_fields()) if isinstance(cls.value, Class) else []


def field_default(host: Host, cls: Argument, name: str) -> Argument | None:
    """Return what a field of a class is by default, None where it has none."""
    found = fields.default_of(host.m, cls.value, name) if isinstance(cls.value, Class) else None
    return _told(found) if found is not None else None


def field_kind(host: Host, cls: Argument, name: str) -> str:
    """Return the qualified name of the class that a field is annotated with, `list of` that of its items for a list; '' for any other."""
    return next((_kind(host, one.annotation) for one in _written(host, cls, name)), "")


def field_class(host: Host, cls: Argument, name: str) -> Argument | None:
    """Return the class of the program that a field is annotated with."""
    return next((_class_of(host, one.annotation) for one in _written(host, cls, name)), None)


def field_notes(host: Host, cls: Argument, name: str, with_default: bool = True) -> list[tuple[str, list[Argument], dict[str, Argument]]]:
    """Return the calls in the annotation of a field, then that which is its default: what each calls, and what it is given."""
    return [note for one in _written(host, cls, name) for note in _notes(host, one.annotation, one.value if with_default else None)]


def _notes(host: Host, annotation: ast.expr | None, default: ast.expr | None) -> list[tuple[str, list[Argument], dict[str, Argument]]]:
    found = []
    for call in (*(ast.walk(annotation) if annotation is not None else ()), default):
        if isinstance(call, ast.Call):
            named = {one.arg: Argument(host.m.looked_at(one.value), one.value) for one in call.keywords if one.arg is not None}
            given = [Argument(host.m.looked_at(one), one) for one in call.args]
            found.append((getattr(host.m.looked_at(call.func), "name", ""), given, named))
    return found


def _written(host: Host, cls: Argument, name: str) -> Iterator[ast.AnnAssign]:
    """Yield what a class, or the first of its bases that does, writes of a field; names mean then what they do there."""
    for own in cls.value.lineage() if isinstance(cls.value, Class) else ():
        for one in own.node.body:
            if isinstance(one, ast.AnnAssign) and isinstance(one.target, ast.Name) and one.target.id == name:
                before, host.m.frame = host.m.frame, own.frame or host.m.frame
                try:
                    yield one
                finally:
                    host.m.frame = before
                return


def made_by(host: Host, given: Any) -> tuple[str, list[Argument], dict[str, Argument]]:
    """Return what a call that made a value called, and what it was given; of a name of outside, this alone."""
    call = value.call if isinstance(value := _value(given), Instance) else None
    return (getattr(value, "name", ""), list(call.arguments) if call else [], dict(call.keywords) if call else {})


def decorators_of(host: Host, function: Argument) -> list[Argument]:
    """Return the decorators of a function, the one that is written nearest to it last."""
    called = _function(function)
    return [Argument(one, None) for one in called.decorators] if called is not None else []


def held_by(host: Host, given: Any) -> list[tuple[str, Argument, str, list[Argument], dict[str, Argument]]]:
    """Return what an object, or a function, holds: what its methods decorate (`@app.command()`), and what they are given first
    (`app.add_command(train)`). Each is the name of the method, what is held with its own name, and the further arguments."""
    holder, found = _value(given), []
    for function in list(host.m.functions.values()):
        for by in (one for one in function.decorators if isinstance(one, Instance) and one.call is not None):
            if (by.call.receiver or by.owner) is holder:  # type: ignore[union-attr]
                _, arguments, named = made_by(host, Argument(by, None))
                found.append((by.name.rpartition(".")[2], Argument(function, None), function.name, arguments, named))
    for call in [one for one in host.m.facts.calls if one.receiver is holder and one.arguments]:
        name = getattr(call.arguments[0].value, "name", "")
        found.append((call.method, call.arguments[0], name, list(call.arguments[1:]), dict(call.keywords)))
    return found


def decorated(host: Host, cls: Argument) -> list[tuple[str, Argument, list[Argument]]]:
    """Return the methods of a class that decorators of outside are written above, by name, bound to it, each with those."""
    own: Any = cls.value
    methods = {name: one for above in reversed(own.lineage()) for name, one in above.slots.items() if isinstance(one, Function)}
    return [(name, Argument(Bound(own, name, one), None), [Argument(by, None) for by in one.decorators]) for name, one in methods.items()]


def _kind(host: Host, annotation: ast.expr | None) -> str:
    outer = annotation.value.id if isinstance(annotation, ast.Subscript) and isinstance(annotation.value, ast.Name) else ""
    if isinstance(annotation, ast.Subscript) and outer == "Annotated" and isinstance(annotation.slice, ast.Tuple):
        return _kind(host, annotation.slice.elts[0])
    if isinstance(annotation, ast.Subscript) and outer in ("list", "List"):
        inner = _kind(host, annotation.slice)
        return f"list of {inner}" if inner else ""
    names = [one for one in fields.plain_names(annotation) if one != "None"] if annotation is not None else []
    kind = host.m.lookup(names[0]) if len(names) == 1 else None
    return kind.name if isinstance(kind, Symbol) else ""


def attribute(host: Host, given: Any, name: str, otherwise: Argument | None = None) -> Argument | None:
    """Return an attribute that an object of the program has itself; `otherwise` where it has none, unknown for what is no object."""
    value = _value(given)
    if not isinstance(value, Instance):
        return unknown
    return _told(value.slots[name]) if name in value.slots else otherwise


def set_attribute(host: Host, given: Any, name: str, said: Argument) -> None:
    """Give an object of the program an attribute."""
    if isinstance(value := _value(given), Instance):
        host.m.store.write(value.slots, name, said.value)


def may_raise(host: Host) -> None:
    """Note that the call may raise."""
    exits.may_raise(host.m)


def refuse(host: Host, pattern: Argument, said: Argument) -> None:
    """Note a constant of a fix that the program's own pattern certainly doesn't match."""
    text = plain(host, said)
    if text in host.m.instead.values() and listed.is_refused(plain(host, pattern), text):
        listed.note(host.m, pattern.node or host.call or ast.Constant(None))


def finish(host: Host, made: Any) -> None:
    """Walk what a class does once its fields are filled (`__post_init__`)."""
    fields.finish(host.m, _value(made) or UNKNOWN, host.call)


def object_of(
    host: Host,
    cls: Argument,
    slots: dict[str, Argument],
    keywords: dict[str, Argument],
    is_known: bool,
    is_all: bool,
    unnamed: dict[str, Any],
) -> Argument:
    """Return an object of a class with these fields; for a class of outside, what it derives from included, as a call with `keywords`.

    Where the words are not known, any field may be another; where they are all, the fields that nothing names are as `unnamed` says, by
    the name of the class.
    """
    m, own, call = host.m, cls.value, host.call
    assert isinstance(own, (Symbol, Class))
    outside = own.outside_bases() if isinstance(own, Class) else (own.name,)
    made = Instance(
        own.node.name if isinstance(own, Class) else own.name,
        slots={name: one.value for name, one in slots.items()},
        cls=own if isinstance(own, Class) else None,
        fallback="" if is_known else "command line",
    )
    m.made(made)
    if outside and call is not None:
        is_open = not (is_known and is_all)
        for name in outside if not is_open else ():
            more = {key: Known(value, call) for key, value in unnamed.get(name, {}).items() if key not in keywords and key not in slots}
            made.slots.update(more)
        given = {name: Argument(one.value, origin_of(one.value), unpacked=True) for name, one in keywords.items()}
        inherited = {name: _told(one.value) for name, one in slots.items() if name not in keywords}
        made.call = record_call(m, outside, "", None, CallArguments((), given, is_open), call, made, inherited, is_parsed=True)
    return Argument(made, call)


def made_by_call(host: Host, name: str, keywords: dict[str, Argument], inherited: dict[str, Argument], is_open: bool) -> Argument:
    """Return the object that a call of a class of outside makes, which takes of what it inherits what it knows."""
    made = host.m.made(Instance(name))
    assert host.call is not None
    given = {key: Argument(one.value, one.node, unpacked=True) for key, one in keywords.items()}
    below = {key: _told(one.value) for key, one in inherited.items() if key not in keywords}
    made.call = record_call(host.m, (name,), "", None, CallArguments((), given, is_open), host.call, made, below)
    return Argument(made, host.call)


def mark_incomplete(host: Host, given: Any) -> None:
    """Have an object hold attributes that aren't known."""
    if isinstance(value := _value(given), Instance):
        value.fallback = "another file"


def program_object(host: Host, name: str, slots: dict[str, Argument], reason: str = "command line") -> Argument:
    """Return a new object of outside with some attributes, which may have others for a reason, unless that is ''."""
    made = Instance(name, slots={key: one.value for key, one in slots.items()}, fallback=reason)
    return Argument(host.m.made(made), host.call)


def shared(host: Host, name: str, reason: str = "command line") -> Argument:
    """Return the object that a name of a library stands for everywhere in the program."""
    return Argument(host.m.shared(name, reason), None)


def is_overridable(host: Host, given: Argument) -> bool:
    """Return whether a value is a default that may be changed from outside."""
    return is_weak(given.value)


def entries_in_file(host: Host, path: Any) -> dict[str, Argument] | None:
    """Return what a configuration file of the run holds, None for a path that isn't known, and any other file."""
    m = host.m
    value = _value(path) or UNKNOWN
    known = path_of(m, value, host.call) if host.call is not None else value
    if m.project is None or not isinstance(known, Known):
        return None
    found = m.project.load_config(m, str(known.value), known.weak)
    return {key: _told(value) for key, value in entries_in(found)} if isinstance(found, Mapping) else None


def function_in_file(host: Host, path: str, name: str) -> Argument | None:
    """Return a function of a Python file of the run, None where there is none."""
    module = host.m.project.module_at(host.m, path) if host.m.project is not None else None
    found = module.slots.get(name) if isinstance(module, Module) else None
    return Argument(found, None) if isinstance(found, Function) else None


def names_in_file(host: Host, path: str) -> dict[str, Argument] | None:
    """Return what a Python file of the run gives names to, but functions and modules; None where there is none."""
    module = host.m.project.module_at(host.m, path) if host.m.project is not None else None
    body = host.m.project.body(host.m, path) if isinstance(module, Module) and host.m.project is not None else None
    if not isinstance(module, Module) or module.stars or not body:
        return None
    if body[0] not in host.m.facts.read_as_configs:
        host.m.facts.read_as_configs.append(body[0])
    return {name: _told(one) for name, one in module.slots.items() if isinstance(name, str) and not isinstance(one, (Function, Module))}


def functions_in(host: Host, given: Any) -> dict[str, Argument] | None:
    """Return the public functions of an object, of a dict, or (without any) of the module; None for anything else."""
    value = _value(given)
    if isinstance(value, Instance) and value.cls is not None:
        methods = {name: one for cls in reversed(value.cls.lineage()) for name, one in cls.slots.items() if isinstance(one, Function)}
        slots: dict[Any, Any] = {name: Bound(value, name, one) for name, one in methods.items()}
    elif given is None:
        slots = dict(host.m.module.slots)
    elif isinstance(value, Mapping):
        slots = dict(entries_in(value))
    else:
        return None
    public = {name: one for name, one in slots.items() if isinstance(name, str) and name[:1] != "_"}
    return {name: Argument(one, None) for name, one in public.items() if _function(Argument(one, None)) is not None}


def parameters(host: Host, given: Any) -> list[dict[str, Any]] | None:
    """Return the parameters of a function, or of the constructor of a class, without that for the object; None where there is none.

    Each is a dict: its `name`; `by` position, name or rest; whether it `is_required`; its `kind`, as `field_kind` has it; the `class` of
    the program with fields that it is annotated with; and its `notes`, as `field_notes` has them (`typer.Option(4, "--bs", "-b")`).
    """
    value = _value(given)
    function = value.lookup("__init__") if isinstance(value, Class) else _function(given)
    if not isinstance(function, Function):
        return None
    signature = function.node.args
    by_position = [*signature.posonlyargs, *signature.args]
    defaults = dict(zip(reversed(by_position), reversed(signature.defaults), strict=False))
    defaults.update({one: default for one, default in zip(signature.kwonlyargs, signature.kw_defaults, strict=True) if default is not None})
    skipped = 1 if isinstance(value, (Class, Bound)) and not function.is_a("staticmethod") else 0
    ways = [("position", by_position[skipped:]), ("name", signature.kwonlyargs), ("rest", [signature.kwarg] if signature.kwarg else [])]
    return [
        {
            "name": one.arg,
            "by": by,
            "is_required": by != "rest" and one not in defaults,
            "kind": _kind(host, one.annotation),
            "class": _class_of(host, one.annotation, True),
            "notes": _notes(host, one.annotation, defaults.get(one)),
        }
        for by, several in ways
        for one in several
    ]


def _class_of(host: Host, annotation: ast.expr | None, has_fields: bool = False) -> Argument | None:
    """Return the class of the program that an annotation means, one with fields where that is asked for."""
    names = list(fields.plain_names(annotation)) if annotation is not None else []
    kinds = [
        kind for name in names if isinstance(kind := host.m.lookup(name), Class) and (fields.has_fields(host.m, kind) or not has_fields)
    ]
    return Argument(kinds[0], None) if len(kinds) == 1 else None


def call_with(host: Host, function: Argument, named: dict[str, Argument], is_open: bool, given: list[Argument] = []) -> Argument:  # noqa: B006
    """Return what calling a function of the program gives; where the arguments are open, a default is only a default."""
    value, called = function.value, _function(function)
    assert called is not None
    first = [value.receiver] if isinstance(value, Bound) and not called.is_a("staticmethod") else []
    by_name = {name: one.value for name, one in named.items()}
    return _told(host.m.calls.call_function(host.m, called, [*first, *(one.value for one in given)], by_name, is_open, None))


def call_own(host: Host, given: Any, name: str, *taken: Argument) -> None:
    """Call a method that an object's class of the program may have for its library to call."""
    value = _value(given)
    if value is not None and (method := method_of(value, name)) is not None:
        host.m.calls.call_function(host.m, method, [value, *(one.value for one in taken)], {}, False, None)


def has_own(host: Host, given: Any, name: str) -> bool:
    """Return whether the class of an object, in the program, has a method itself."""
    return method_of(_value(given), name) is not None


def instantiate(host: Host, cls: Argument, named: dict[str, Argument], is_open: bool, is_noted: bool = True) -> Argument:
    """Return the object of a class of the program that its constructor makes of arguments by name; a call that `is_noted` is a fact."""
    assert isinstance(cls.value, Class)
    given = {name: Argument(one.value, origin_of(one.value), unpacked=True) for name, one in named.items()}
    return _told(host.m.calls.instantiate(host.m, cls.value, CallArguments((), given, is_open), host.call if is_noted else None))


FUNCTIONS = functions_of(__name__)
"""What a stub can import of these."""
