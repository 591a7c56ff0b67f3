"""Calls of what lies outside the program: each becomes a fact, and may call functions that it is given."""

from __future__ import annotations

import ast
from dataclasses import replace

from mpslint.facts.values import (
    UNKNOWN,
    Bound,
    Class,
    DictEntry,
    Function,
    Instance,
    Items,
    Known,
    Mapping,
    Symbol,
    Unknown,
    Value,
    alternatives_of,
    is_weak,
)
from mpslint.program import config_files, effects, executed, fields, implicit
from mpslint.program.called import record_call
from mpslint.program.machine import Walker
from mpslint.program.places import CONTENT, parts_of
from mpslint.program.reach import BY_NAME, CHANGING, Reach, extend, written_by
from mpslint.program.stubs import library as stubs
from mpslint.program.walk import called_name
from mpslint.tensors import domain, libraries
from mpslint.tensors.arguments import CallArguments
from mpslint.tensors.kinds import load_kinds
from mpslint.tensors.traits import is_module

WRITING = {"__setattr__": "builtins.object.__setattr__", "__delattr__": "builtins.delattr"}
"""Methods that every object has from Python, by the function that does the same."""
NOTHING = CallArguments((), {}, True)


def _entries(value: Value | None) -> dict[str, Value]:
    """Return what an object that is like a dict, such as what a tokenizer returns, is updated with; nothing where that isn't known."""
    if not isinstance(value, Mapping) or value.is_open:
        return {}
    return {key: one.value for key, one in value.slots.items() if isinstance(key, str) and isinstance(one, DictEntry)}


def call_outside(m: Walker, callee: Value, receiver: Value | None, arguments: CallArguments, node: ast.Call) -> Value:
    """Record a call of something outside the program, and return the object it makes."""
    implicit.called(m, arguments.all, implicit.ANY)
    method = node.func.attr if isinstance(node.func, ast.Attribute) and not m.is_known_module(receiver) else ""
    receiver, method, arguments = _of_object(m, callee, receiver, method, arguments)
    entries = _entries(arguments.first()) if method == "update" and isinstance(receiver, Instance) else {}
    _change_given(m, callee, receiver, arguments, node)
    names = _names_of(callee)
    if method in WRITING and isinstance(receiver, Instance):  # `super().__setattr__(name, value)`
        return m.calls.call_with(m, Symbol(WRITING[method]), [receiver, *arguments.given], node)
    if method in CHANGING and isinstance(receiver, Instance) and receiver.name == executed.NAMES:
        m.store.lose((dict(enumerate((*arguments.all, *arguments.unpacked))), True))
        executed.forget_names(m, receiver.slots, method not in ("update", "setdefault"))
        return Known(None, node) if method == "update" else UNKNOWN
    if names and method in m.platform.returns_self and isinstance(receiver, Instance) and not stubs.is_kept(receiver):
        made = domain.call(m, callee, names[0], method, receiver, arguments, node, Instance(names[0]))
        record_call(m, names, method, receiver, arguments, node, made if isinstance(made, Instance) and made is not receiver else None)
        return receiver if made is None else made
    if names and names[0] in m.platform.returns_arguments and (given := _given_back(m, names[0], arguments)) is not None:
        libraries.place(m, names[0], receiver, arguments, node)
        record_call(m, names, method, receiver, arguments, node)
        return given
    if method in m.platform.parameter_keepers and isinstance(receiver, Instance) and receiver.cls is not None:
        receiver.slots[m.platform.parameter_keepers[method]] = fields.kept_parameters(m, arguments)
    is_settings = method and isinstance(receiver, Instance) and stubs.holds_settings(m, receiver)
    if is_settings and (found := stubs.call_method(m, receiver, method, arguments, node)) is not None:  # type: ignore[arg-type]
        return found
    if names and names[0] in m.platform.config_readers and (config := config_files.read(m, names[0], arguments, node)) is not None:
        return config
    result = _loaded_object(m, receiver, method, names) or m.made(Instance(names[0] if names else f"?.{method}" if method else ""))
    if isinstance(receiver, Instance):
        result.owner = receiver
    called = callee if receiver is None and isinstance(callee, Instance) and callee.owner is None else receiver
    call = record_call(m, names, method, called, arguments, node, result)
    effects.call_given(m, receiver if method else callee, method, arguments.all)
    result.call = call
    is_object = isinstance(callee, Instance) and callee.owner is None
    asked, word = (callee, "__call__") if is_object else (receiver, method)
    if isinstance(asked, Instance) and (handled := stubs.call_method(m, asked, word, arguments, node)) is not None:
        return handled
    made_of = callee.call if isinstance(callee, Instance) else None  # what it was made of, it may call with these arguments
    kept = (*made_of.arguments, *made_of.keywords.values()) if made_of is not None else ()
    name = names[0] if names else ""
    told = CallArguments(arguments.positional[1:], arguments.keywords, True) if name in m.platform.partials else NOTHING
    follow_callbacks(m, CallArguments((*arguments.positional, *kept), arguments.keywords, False) if kept else arguments, told)
    if isinstance(receiver, Instance):
        for key, value in entries.items():
            m.store.write(receiver.slots, key, value)
    about = domain.call(m, callee, name, method, receiver, arguments, node, result) or result
    effects.hold(m, result, ())
    domain.note_generator(m, name, arguments.keywords, about, node)
    return about


def _of_object(
    m: Walker, callee: Value, receiver: Value | None, method: str, arguments: CallArguments
) -> tuple[Value | None, str, CallArguments]:
    """Return what a method is called of, its name and arguments, also where it is read before, or a class's (`Module.to(net)`)."""
    word = callee.name.rpartition(".")[2] if isinstance(callee, (Instance, Symbol)) else ""
    own = callee.owner if isinstance(callee, Instance) and callee.call is None and not method else None
    if own is not None and is_module(own):
        return own, word, arguments
    first = next(iter(arguments.given), None)
    if isinstance(receiver, Symbol) and receiver.name in load_kinds().module_bases and isinstance(first, Instance) and is_module(first):
        return first, word, replace(arguments, positional=arguments.positional[1:])
    return receiver, method, arguments


def _names_of(callee: Value) -> tuple[str, ...]:
    """Return the name of what is called; none for what isn't known."""
    if isinstance(callee, Instance):
        return (callee.name if callee.owner is not None else f"{callee.name}.__call__",)
    return (callee.name,) if isinstance(callee, Symbol) else ()


def _change_given(m: Walker, callee: Value, receiver: Value | None, arguments: CallArguments, node: ast.Call) -> None:
    """Forget what a call of something outside may change of what it is given, and keep in mind what an object is handed.

    A name that is forgotten (`operator`) may still stand for the module: there the last word decides.
    """
    changing = callee.name if isinstance(callee, Symbol) else f"{callee.name}.__call__" if isinstance(callee, Instance) else ""
    word = called_name(node) if isinstance(callee, Unknown) else ""
    if changing in m.platform.changers or word in m.platform.changing_words:
        for one in parts_of(arguments.first() or UNKNOWN):
            if isinstance(one, (Items, Mapping)):
                m.store.forget(one, CONTENT)
            elif isinstance(one, Unknown):
                effects.change_items(m)
            else:
                effects.change_given(m, one, "")
    if isinstance(callee, Instance) and callee.name.rpartition(".")[2] in CHANGING and callee.name not in m.platform.changing_itself:
        effects.change_given(m, callee, "", Items("tuple", dict(enumerate(arguments.all))))
    if isinstance(receiver, Instance) and receiver.cls is None:
        effects.hold(m, receiver, arguments.all)


def _given_back(m: Walker, name: str, arguments: CallArguments) -> Value | None:
    """Return what a call gives back of its arguments: one by itself, several as a tuple; None where it isn't known which they are."""
    places = m.platform.returns_arguments[name]
    given = arguments.given if places == "*" else [(arguments.get(*place) if place else None) or UNKNOWN for place in places]
    if arguments.is_open or not given:
        return None
    return given[0] if len(given) == 1 else Items("tuple", dict(enumerate(given)))


def _loaded_object(m: Walker, receiver: Value | None, method: str, names: tuple[str, ...]) -> Instance | None:
    """Return an object of a class of the program that a method of outside makes (`Net.from_pretrained`), None for another method."""
    if not isinstance(receiver, Class) or method not in m.platform.object_loaders or not names:
        return None
    made = m.calls.instantiate(m, receiver, CallArguments((), {}, True), None)
    if isinstance(made, Instance):
        made.name = names[0]
    return made if isinstance(made, Instance) else None


def follow_callbacks(m: Walker, arguments: CallArguments, told: CallArguments = NOTHING) -> None:
    """Walk functions that are handed to something outside: it may call them at any time, with what is `told` of it and whatever else."""
    lost, all_given = len(m.store.lost), arguments.all
    if any(isinstance(one, (Function, Bound)) for one in all_given):
        for part in [part for one in all_given if not isinstance(one, (Function, Bound)) for part in parts_of(one)]:
            if not (isinstance(part, Instance) and part.cls is None and any(map(is_weak, part.slots.values()))):
                m.store.lose(part)  # options aside, which may be others anyway
    is_told_more = len(m.store.lost) > lost
    for value in [one for given in all_given for one in alternatives_of(given)]:
        if isinstance(value, Bound) and value.name in CHANGING:
            whole = [one for one in parts_of(value.receiver) if isinstance(one, (Items, Mapping))]
            effects.never_sure_again(m, {(id(one), CONTENT): (one, CONTENT, None) for one in whole})
        if isinstance(value, Symbol) and value.name.removeprefix("builtins.") in BY_NAME:
            reach = extend(Reach(changes=True, is_vague=True), m.store, [one for one in all_given if one is not value])
            effects.never_sure_again(m, written_by(reach, None, True))
        if isinstance(value, Instance) and value.cls is not None and isinstance(own := value.cls.lookup("__call__"), Function):
            value = Bound(value, "__call__", own)
        function = value.function if isinstance(value, Bound) else value
        given = [value.receiver] if isinstance(value, Bound) else []
        key = (id(function), *map(id, given))
        if not isinstance(function, Function):
            continue
        is_known = id(function.node) in m.analysed
        if (m.is_silent or is_known) and key in m.handed and not is_told_more:
            continue
        m.handed[key] = (function, *given)
        with m.silently(is_known), m.store.path() as written:
            m.calls.call_function(m, function, [*given, *told.given], told.named, True, None)
        effects.never_sure_again(m, written)
