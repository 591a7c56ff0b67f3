"""Calls: functions and classes of the program are followed, what lies outside becomes a fact."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from mpslint.core.knowledge import platform_data
from mpslint.core.versions import parse_version
from mpslint.facts.copied import copied
from mpslint.facts.joined import join_all, same, with_attribute
from mpslint.facts.values import (
    UNKNOWN,
    Argument,
    Bound,
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
    origin_of,
    settled,
)
from mpslint.program import (
    bags,
    built,
    builtin,
    commandline,
    commands,
    composed,
    config_files,
    effects,
    environment,
    fields,
    flags,
    implicit,
    lists,
    self_parsed,
    tracked,
)
from mpslint.program.arguments import CallArguments
from mpslint.program.called import record_call
from mpslint.program.exits import Raised, may_raise
from mpslint.program.functions import call_function
from mpslint.program.lists import iterated
from mpslint.program.machine import COMMAND_WORDS, Walker
from mpslint.program.platform import NO_ANSWER
from mpslint.program.reach import CHANGING, Reach, extend
from mpslint.program.store import CONTENT, parts_of
from mpslint.tensors import domain, libraries, loaders, modules
from mpslint.tensors.meet import name_device
from mpslint.tensors.traits import as_one, is_module_class

COPYING = frozenset({"__copy__", "__deepcopy__", "__reduce__", "__reduce_ex__", "__getstate__", "__setstate__", "__getnewargs__"})
"""The methods by which an object says how it is copied."""


def evaluate_call(m: Walker, node: ast.Call) -> Value:
    """Return what a call returns, and record it when it calls something outside the program."""
    receiver: Value | None = None
    if isinstance(node.func, ast.Attribute):
        receiver = as_one(with_attribute(m.value(node.func.value), node.func.attr))
        callee = _method_of(m, receiver, node.func)
    else:
        callee = with_attribute(m.value(node.func), "__call__")
    arguments = evaluate_arguments(m, node)
    if (
        isinstance(receiver, OneOf)
        and isinstance(node.func, ast.Attribute)
        and any(isinstance(one, (Items, Mapping)) for one in receiver.values)
    ):
        methods = [(_method_of(m, one, node.func), one) for one in receiver.values]
        with m.guarded(node.func, True):
            return _call_one_of(m, methods, arguments, node)
    if isinstance(callee, OneOf):
        is_same = isinstance(receiver, OneOf) and len(receiver.values) == len(callee.values)
        owners = receiver.values if isinstance(receiver, OneOf) and is_same else (receiver,) * len(callee.values)
        if all(isinstance(value, Instance) and value.cls is None for value in callee.values):
            call_value(m, callee.values[0], owners[0], arguments, node)  # a method of some outside object is called in any case
        with m.guarded(node.func, True):  # which of them is called is not decided
            return _call_one_of(m, list(zip(callee.values, owners, strict=True)), arguments, node)
    return call_value(m, callee, receiver, arguments, node)


def _call_one_of(m: Walker, callees: Sequence[tuple[Value, Value | None]], arguments: CallArguments, node: ast.Call) -> Value:
    """Call each of several, of which one is called; return what is known of what that gives."""
    results, paths = [], []
    for callee, receiver in callees:
        m.store.begin()
        try:
            result = call_value(m, callee, receiver, arguments, node)
        except Raised:
            result, is_over = UNKNOWN, True
        else:
            is_over = m.is_dead
        finally:
            writes = m.store.undo()
        m.is_dead = False
        if not is_over:
            results.append(result)
            paths.append(writes)
    if len(paths) < len(callees):
        may_raise(m)
    if not paths:
        m.is_dead = m.is_in_try
        return UNKNOWN
    m.store.merge(*paths)
    return join_all(results)


def _method_of(m: Walker, receiver: Value, node: ast.Attribute) -> Value:
    """Return what `receiver.name(...)` calls; a method of an outside object is not kept as one of its attributes."""
    if (
        isinstance(receiver, Instance)
        and node.attr not in receiver.slots
        and (receiver.cls is None or receiver.cls.lookup(node.attr) is None)
    ):
        held = loaders.held_at(receiver, node.attr)
        return Instance(f"{receiver.name}.{node.attr}", owner=receiver) if held is None else held
    return m.attribute(receiver, node.attr, node)


def evaluate_arguments(m: Walker, node: ast.Call) -> CallArguments:
    """Evaluate the arguments of a call, those that `*` and `**` unpack included."""
    positional: list[Argument] = []
    keywords: dict[str, Argument] = {}
    is_open = False
    unpacked: list[Value] = []
    for argument in node.args:
        if isinstance(argument, ast.Starred):
            given = m.value(argument.value)
            implicit.called(m, [given], implicit.GOING_THROUGH)
            more = iterated(given)
            if more is None:
                may_raise(m)
            positional += [Argument(item, argument) for item in more or ()] if not is_open else []
            is_open = is_open or more is None
        elif is_open:
            m.value(argument)  # nobody knows which parameter it is for
        else:
            positional.append(Argument(m.value(argument), argument))
    for keyword in node.keywords:
        value = m.value(keyword.value)
        if keyword.arg is not None:
            keywords[keyword.arg] = Argument(value, keyword.value, keyword)
        elif isinstance(value, Mapping):
            for name, entry in value.slots.items():
                if isinstance(name, str) and isinstance(entry, DictEntry):
                    if name in keywords and entry.is_sure:
                        raise Raised("TypeError")
                    keywords[name] = Argument(entry.value, entry.node, None, unpacked=True)
            is_open = is_open or value.is_open
            unpacked += [value.each] if value.each is not None else []
        elif isinstance(value, Instance) and value.cls is None and bags.is_dict(m, value):
            for name, one in bags.entries_of(value):
                keywords[name] = Argument(one, one.origin if isinstance(one, Known) else None, None, unpacked=True)
            is_open = is_open or bool(value.fallback)
            unpacked += [value] if value.fallback else []
        else:
            if isinstance(value, Known) and not value.source:
                raise Raised("TypeError")
            may_raise(m)
            is_open = True
            unpacked.append(value)
    return CallArguments(tuple(positional), keywords, is_open, tuple(unpacked))


def call_value(m: Walker, callee: Value, receiver: Value | None, arguments: CallArguments, node: ast.Call) -> Value:
    """Return what calling `callee` returns."""
    if isinstance(callee, Function):
        return call_function(m, callee, _values(arguments), _keyword_values(arguments), arguments.is_open, node)
    if isinstance(callee, Bound) and callee.function is not None:
        given = _values(arguments) if callee.function.is_static else [callee.receiver, *_values(arguments)]
        return call_function(m, callee.function, given, _keyword_values(arguments), arguments.is_open, node)
    if isinstance(callee, Class):
        return instantiate(m, callee, arguments, node)
    if isinstance(callee, Bound) and callee.name in m.platform.file_questions:
        return config_files.is_there(m, callee.receiver, node)
    if isinstance(callee, Bound) and callee.name in m.platform.path_openers and (file := config_files.opened_by(m, callee)) is not None:
        return file
    if isinstance(callee, Bound) and isinstance(callee.receiver, Instance):
        named = Instance(f"{callee.receiver.name}.{callee.name}", owner=callee.receiver)
        return _call_outside(m, named, callee.receiver, arguments, node)
    if isinstance(callee, Bound):
        implicit.called(m, [*_values(arguments), *_keyword_values(arguments).values(), callee.receiver], implicit.ANY)
        return builtin.call_method(m, callee, arguments, node)
    if isinstance(callee, Symbol):
        return _call_symbol(m, callee, receiver, arguments, node)
    if isinstance(callee, Instance) and callee.cls is not None:
        method = callee.cls.lookup("__call__") or callee.cls.lookup("forward")
        if isinstance(method, Function):
            return call_function(m, method, [callee, *_values(arguments)], _keyword_values(arguments), arguments.is_open, node)
    if isinstance(callee, Unknown):
        if isinstance(receiver, Unknown) and isinstance(node.func, ast.Attribute):
            effects.call_method(m, node.func.attr, [*_values(arguments), *_keyword_values(arguments).values()])
        elif not isinstance(node.func, ast.Name) or m.is_bound(node.func.id):  # an unbound name is no function of the program
            effects.call(m, [*_values(arguments), *_keyword_values(arguments).values()])
    return _call_outside(m, callee, receiver, arguments, node)


def call_with(m: Walker, callee: Value, values: Sequence[Value], node: ast.Call, at: Sequence[ast.expr] = ()) -> Value:
    """Return what calling `callee` with positional arguments returns, which stand `at` some expressions, else where the call does."""
    arguments = tuple(map(Argument, values, at or [node] * len(values)))
    return call_value(m, callee, None, CallArguments(arguments, {}, False), node)


def _values(arguments: CallArguments) -> list[Value]:
    return [argument.value for argument in arguments.positional]


def _keyword_values(arguments: CallArguments) -> dict[str, Value]:
    return {name: argument.value for name, argument in arguments.keywords.items()}


def _call_symbol(m: Walker, callee: Symbol, receiver: Value | None, arguments: CallArguments, node: ast.Call) -> Value:
    name, platform = callee.name, m.platform
    if (answer := platform.answer(name, m.versions)) is not NO_ANSWER:
        if name in platform.raising_questions:
            record_call(m, (name,), "", None, arguments, node)
        return Known(answer, node, source=name)
    if name in platform.core_counts:
        return OneOf(tuple(Known(number, node) for number in sorted(platform.cores)))
    if name in platform.copiers and arguments.positional:
        return _copied(m, arguments.positional[0].value, platform.copiers[name])
    named = [one.value for key, one in arguments.keywords.items() if name in platform.devices and key in platform.device_arguments]
    if name in platform.transparent and (arguments.positional or named):
        value = arguments.positional[0].value if arguments.positional else named[0]
        if name in platform.devices:
            record_call(m, (name,), "", None, arguments, node)
            name_device(m, node, value, is_used=False)
            if isinstance(value, Known):
                return Known(value.value, value.origin, value.weak, name)
        return value
    if name in platform.version_parsers and isinstance(arguments.first(), Known):
        parsed = parse_version(str(getattr(arguments.first(), "value", "")))
        return Known(parsed, node) if parsed is not None else UNKNOWN
    if name in platform.version_of and isinstance(first := arguments.first(), Known):
        version = m.versions.get(str(first.value).lower())
        return Known(".".join(map(str, version)), node, source=f"{first.value}.__version__") if version is not None else UNKNOWN
    if name in platform.bags:
        return bags.made(m, name, arguments)
    if name in platform.section_readers:
        return m.made(Instance(name))
    if name in platform.finders and isinstance(first := arguments.first(), Known) and first.value in platform_data("shell")["missing"]:
        return Known(None, node, source=name)
    if name in platform.file_questions:
        return config_files.is_there(m, arguments.first(), node)
    if name in platform.openers and (file := config_files.opened(m, name, arguments, node)) is not None:
        return file
    if name in platform.config_readers and (config := config_files.read(m, name, arguments, node)) is not None:
        return config
    if name in platform.config_functions and (config := composed.call_config(m, name, arguments, node)) is not None:
        return config
    if name in platform.builders:
        return built.build(m, name, arguments, node)
    if name in platform.starters and (started := commands.start(m, arguments, node, name in platform.choosing_starters)) is not None:
        return started
    if name in platform.flag_makers:
        return flags.define(m, name, arguments, node)
    if name in platform.namespace_makers:
        return commandline.of_namespace(m, platform.namespace_makers[name], arguments, node)
    if name in platform.argument_parsers:
        return commandline.made_parser(name, arguments, node)
    if name in platform.dataclass_parsers:
        return commandline.dataclass_parser(m, name, arguments, node)
    if (given := _of_python(m, name, arguments, node)) is not None:
        return given
    if name in platform.validators and isinstance(receiver, Class):
        return fields.validated(m, receiver, arguments, node)
    if name in platform.field_copiers and (made := fields.replaced(m, arguments, node)) is not None:
        return made
    if name in platform.field_makers:
        return fields.field_default(m, arguments, node)
    return _call_outside(m, callee, receiver, arguments, node)


def _copied(m: Walker, value: Value, is_deep: bool) -> Value:
    """Return a copy of a value, unless an object in it says itself how it is copied."""
    found = extend(Reach(), m.store, [value]).seen.values() if not m.methods.isdisjoint(COPYING) else ()
    own = [method for one in found if isinstance(one, Class) for name in COPYING if isinstance(method := one.lookup(name), Function)]
    if not own:
        return copied(value, is_deep)
    effects.not_followed(m, [*own, value])
    m.store.lose(value)
    return UNKNOWN


def _of_python(m: Walker, name: str, arguments: CallArguments, node: ast.Call) -> Value | None:
    """Return what a function of Python itself gives; None for one that is not known."""
    if name.startswith("argparse."):
        return Instance(name)
    if name.startswith(COMMAND_WORDS) and (method := name.rpartition(".")[2]) in lists.AT_THE_END and arguments.positional:
        added = arguments.positional[0].value
        lists.add_words(m, added if method == "extend" else Items("list", {0: added}))
        return Known(None, node)
    if name.startswith("os."):
        return environment.call_os(m, name, arguments, node)
    if name.startswith("builtins."):
        implicit.of_function(m, name.removeprefix("builtins."), [*_values(arguments), *_keyword_values(arguments).values()])
        return builtin.call_builtin(m, name.removeprefix("builtins."), arguments, node)
    return None


def instantiate(m: Walker, cls: Class, arguments: CallArguments, node: ast.Call | None) -> Value:
    """Return a new object of a class of the program; its constructor is followed, its dataclass fields are filled."""
    if m.platform.enumerations.intersection(cls.outside_bases()):
        return _member_of(cls, arguments)
    if (made := _made_otherwise(m, cls, arguments, node)) is not None and not (isinstance(made, Instance) and made.cls is cls):
        return made
    names = {name for own in cls.lineage() for name in own.slots}
    if any(isinstance(own := cls.lookup(name), Function) and _is_abstract(m, own) for name in names):
        may_raise(m)
    instance = made if isinstance(made, Instance) else m.made(Instance(cls.node.name, cls=cls))
    m.instances.setdefault(id(cls), instance)
    if is_module_class(cls):
        modules.become_module(m, instance, node)
    if self_parsed.is_parser(m, cls):
        instance.slots[commandline.OPTIONS] = Mapping({}, node)
    outside = cls.outside_bases()
    constructor = cls.lookup("__init__")
    if not isinstance(constructor, Function) and bags.is_dict(m, instance):
        bags.call_method(m, instance, "__init__", arguments, node)
    elif not isinstance(constructor, Function) or fields.takes_dicts(m, cls):
        fields.fill(m, instance, cls, arguments, node)
    if isinstance(constructor, Function):
        call_function(m, constructor, [instance, *_values(arguments)], _keyword_values(arguments), arguments.is_open, node)
    if node is not None and (builder := next((base for base in outside if base in m.platform.builders), "")):
        built.build(m, builder, arguments, node, instance)
    elif outside and node is not None:
        inherited = {
            name: Argument(value, origin_of(value))
            for name in cls.all_fields()
            if (value := cls.lookup(name)) is not None and name not in arguments.keywords
        }
        call = record_call(m, (*outside,), "", None, arguments, node, instance, inherited)
        instance.call = call
    elif node is not None:
        _follow_callbacks(m, arguments)
    return instance


def _is_abstract(m: Walker, method: Function) -> bool:
    return any(isinstance(one, Symbol) and one.name in m.platform.abstract_methods for one in method.decorators)


def _member_of(cls: Class, arguments: CallArguments) -> Value:
    """Return the object of an enumeration that has a value."""
    value = arguments.first() or UNKNOWN
    members = [one for one in cls.slots.values() if isinstance(one, Instance) and one.cls is cls]
    return next((one for one in members if isinstance(value, Known) and same(one.slots["value"], value)), UNKNOWN)


def _made_otherwise(m: Walker, cls: Class, arguments: CallArguments, node: ast.Call | None) -> Value | None:
    """Return what the program's own `__new__` makes, or what its metaclass does where that is called; None where neither is there."""
    given = [cls, *_values(arguments)]
    for one in cls.lineage():
        for maker in one.decorators:
            if isinstance(maker, Class) and isinstance(own := maker.lookup("__call__"), Function):
                effects.not_followed(m, [own, *given, *_keyword_values(arguments).values()])
                return UNKNOWN
    new = cls.lookup("__new__")
    if not isinstance(new, Function):
        return None
    made = call_function(m, new, given, _keyword_values(arguments), arguments.is_open, node)
    if isinstance(made, (Unknown, OneOf)) and isinstance(constructor := cls.lookup("__init__"), Function):
        effects.not_followed(m, [constructor, made, *given, *_keyword_values(arguments).values()])
    return None if isinstance(made, Unknown) and cls.outside_bases() else made


def _call_outside(m: Walker, callee: Value, receiver: Value | None, arguments: CallArguments, node: ast.Call) -> Value:
    """Record a call of something outside the program, and return the object it makes."""
    changing = callee.name if isinstance(callee, Symbol) else f"{callee.name}.__call__" if isinstance(callee, Instance) else ""
    if changing in m.platform.changers:
        for one in parts_of(arguments.first() or UNKNOWN):
            if isinstance(one, (Items, Mapping)):
                m.store.forget(one, CONTENT)
    method = node.func.attr if isinstance(node.func, ast.Attribute) and not m.is_known_module(receiver) else ""
    names: tuple[str, ...] = ()
    if method == "__setattr__" and isinstance(receiver, Instance) and receiver.cls is None and len(arguments.positional) == 2:
        written, value = _values(arguments)  # `super().__setattr__(name, value)`
        if isinstance(written, Known):
            m.store.write(receiver.slots, written.value, settled(value))
        else:
            effects.change_any_attribute(m, receiver, value)
        return Known(None, node)
    if isinstance(callee, Symbol):
        names = (callee.name,)
    elif isinstance(callee, Instance):
        names = (callee.name if callee.owner is not None else f"{callee.name}.__call__",)
    if method in m.platform.returns_self and isinstance(receiver, Instance):
        made = domain.call(m, callee, names[0], method, receiver, arguments, node, Instance(names[0]))
        record_call(m, names, method, receiver, arguments, node, made if isinstance(made, Instance) and made is not receiver else None)
        return receiver if made is None else made
    if names and names[0] in m.platform.returns_arguments and (given := _given_back(m, names[0], arguments)) is not None:
        libraries.place(m, names[0], receiver, arguments, node)
        record_call(m, names, method, receiver, arguments, node)
        return given
    special = environment.call_outside(m, names, arguments, node)
    if special is not None:
        return special
    if method in m.platform.parameter_keepers and isinstance(receiver, Instance) and receiver.cls is not None:
        receiver.slots[m.platform.parameter_keepers[method]] = bags.kept_parameters(m, arguments)
    if method and isinstance(receiver, Instance) and (found := bags.call_method(m, receiver, method, arguments, node)) is not None:
        return found
    if isinstance(receiver, Instance) and receiver.name in m.platform.section_readers:
        return config_files.ask_sections(m, receiver, method, arguments, node)
    if names and names[0] in m.platform.config_readers and (config := config_files.read(m, names[0], arguments, node)) is not None:
        return config
    result = _loaded_object(m, receiver, method, names) or m.made(Instance(names[0] if names else f"?.{method}" if method else ""))
    if isinstance(receiver, Instance):
        result.owner = receiver
    called = callee if receiver is None and isinstance(callee, Instance) and callee.owner is None else receiver
    call = record_call(m, names, method, called, arguments, node, result)
    result.call = call
    if names and names[0] in m.platform.tracked_calls:
        tracked.note(m, names[0], arguments, result)
    if names and names[0] in m.platform.searches:
        tracked.search(m, names[0], arguments)
    if method in commandline.METHODS and isinstance(receiver, Instance):
        handled = self_parsed.parse_itself(m, receiver, method, arguments, node) or commandline.call_method(
            m, receiver, method, arguments, node
        )
        if handled is not None:
            return handled
    if m.project is not None and isinstance(callee, Instance) and callee.name in m.platform.command_groups:
        commands.start_group(m, callee)
    _follow_callbacks(m, arguments)
    name = names[0] if names else ""
    about = domain.call(m, callee, name, method, receiver, arguments, node, result)
    return result if about is None else about


def _given_back(m: Walker, name: str, arguments: CallArguments) -> Value | None:
    """Return what a call gives back of its arguments: one by itself, several as a tuple; None where it isn't known which they are."""
    places = m.platform.returns_arguments[name]
    given = _values(arguments) if places == "*" else [(arguments.get(*place) if place else None) or UNKNOWN for place in places]
    if arguments.is_open or not given:
        return None
    return given[0] if len(given) == 1 else Items("tuple", dict(enumerate(given)))


def _loaded_object(m: Walker, receiver: Value | None, method: str, names: tuple[str, ...]) -> Instance | None:
    """Return an object of a class of the program that a method of outside makes (`Net.from_pretrained`), None for another method."""
    if not isinstance(receiver, Class) or method not in m.platform.object_loaders or not names:
        return None
    made = instantiate(m, receiver, CallArguments((), {}, True), None)
    if isinstance(made, Instance):
        made.name = names[0]
    return made if isinstance(made, Instance) else None


def _follow_callbacks(m: Walker, arguments: CallArguments) -> None:
    """Walk functions that are handed to something outside: it may call them at any time, with arguments that are not known."""
    for argument in (*arguments.positional, *arguments.keywords.values()):
        value = argument.value
        if isinstance(value, Bound) and value.name in CHANGING:
            whole = [(one, CONTENT, None) for one in parts_of(value.receiver) if isinstance(one, (Items, Mapping))]
            effects.never_sure_again(m, {(id(one), key): (one, key, None) for one, key, _ in whole})
        if isinstance(value, Instance) and value.cls is not None and isinstance(own := value.cls.lookup("__call__"), Function):
            value = Bound(value, "__call__", own)
        function = value.function if isinstance(value, Bound) else value
        given = [value.receiver] if isinstance(value, Bound) else []
        key = (id(function), *map(id, given))
        if not isinstance(function, Function):
            continue
        is_silent, m.is_silent = m.is_silent, m.is_silent or id(function.node) in m.analysed
        if m.is_silent and key in m.handed:
            m.is_silent = is_silent
            continue
        m.handed[key] = (function, *given)
        m.store.begin()
        try:
            call_function(m, function, given, {}, True, None)
        finally:
            m.is_silent = is_silent
            effects.never_sure_again(m, m.store.undo())
