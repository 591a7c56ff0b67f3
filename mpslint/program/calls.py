"""Calls: functions and classes of the program are followed, what lies outside becomes a fact."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from functools import partial

from mpslint.core.knowledge import platform_data
from mpslint.core.versions import parse_version
from mpslint.facts.copied import copied
from mpslint.facts.facts import BY_NAME
from mpslint.facts.joined import join_all, same, with_attribute
from mpslint.facts.paths import PathText
from mpslint.facts.values import (
    BASES,
    UNKNOWN,
    Argument,
    Bound,
    Class,
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
)
from mpslint.program import builtin, config_files, effects, environment, fields, implicit, lengths, listed, lists
from mpslint.program.called import record_call
from mpslint.program.exits import Raised, ends, may_raise
from mpslint.program.functions import call_function
from mpslint.program.lists import iterated
from mpslint.program.machine import COMMAND_WORDS, Walker
from mpslint.program.outside import call_outside, follow_callbacks
from mpslint.program.platform import NO_ANSWER
from mpslint.program.reach import Reach, extend
from mpslint.program.stubs import hooks
from mpslint.program.stubs import library as stubs
from mpslint.tensors import gone_through, modules
from mpslint.tensors.arguments import CallArguments
from mpslint.tensors.meet import name_device
from mpslint.tensors.traits import as_one, is_module_class

READS = {"read": "format", "readline": "format", "readlines": "splitlines"}
"""The methods of an opened file, by those of its text that give the same where that is empty."""
COPYING = frozenset({"__copy__", "__deepcopy__", "__reduce__", "__reduce_ex__", "__getstate__", "__setstate__", "__getnewargs__"})
"""The methods by which an object says how it is copied."""


def evaluate_call(m: Walker, node: ast.Call) -> Value:
    """Return what a call returns, and record it when it calls something outside the program."""
    receiver: Value | None = None
    if isinstance(node.func, ast.Attribute):
        receiver = as_one(_having(m, m.value(node.func.value), node.func.attr))
        callee = _method_of(m, receiver, node.func)
        m.facts.uses.read(node.func, callee)
    else:
        callee = _having(m, m.value(node.func), "__call__")
    arguments = evaluate_arguments(m, node)
    value = lengths.of_call(m, node, callee, receiver, arguments, _called(m, node, callee, receiver, arguments))
    m.facts.uses.read(node, value)
    return value


def _having(m: Walker, value: Value, name: str) -> Value:
    """Return what a value is where an attribute of it is asked for, which may raise."""
    left = with_attribute(value, name)
    if left is not value:
        may_raise(m)
    return left


def _called(m: Walker, node: ast.Call, callee: Value, receiver: Value | None, arguments: CallArguments) -> Value:
    """Return what calling one of several gives, or the one that it is."""
    if (
        isinstance(receiver, OneOf)
        and isinstance(node.func, ast.Attribute)
        and any(isinstance(one, (Items, Mapping)) for one in receiver.values)
    ):
        methods = [(_method_of(m, one, node.func), one) for one in receiver.values]
        with m.guarded(node.func, True):
            return m.one_of([partial(call_value, m, method, one, arguments, node) for method, one in methods])
    if isinstance(callee, OneOf):
        is_same = isinstance(receiver, OneOf) and len(receiver.values) == len(callee.values)
        owners = receiver.values if isinstance(receiver, OneOf) and is_same else (receiver,) * len(callee.values)
        if all(isinstance(value, Instance) and value.cls is None for value in callee.values):
            call_value(m, callee.values[0], owners[0], arguments, node)  # a method of some outside object is called in any case
        with m.guarded(node.func, True):  # which of them is called is not decided
            return m.one_of([partial(call_value, m, one, owner, arguments, node) for one, owner in zip(callee.values, owners, strict=True)])
    return call_value(m, callee, receiver, arguments, node)


def _method_of(m: Walker, receiver: Value, node: ast.Attribute) -> Value:
    """Return what `receiver.name(...)` calls; a method of an outside object is not kept as one of its attributes."""
    if (
        isinstance(receiver, Instance)
        and node.attr not in receiver.slots
        and (receiver.cls is None or receiver.cls.lookup(node.attr) is None)
    ):
        held = gone_through.held_at(receiver, node.attr)
        return Instance(f"{receiver.name}.{node.attr}", owner=receiver) if held is None else held
    return m.attribute(receiver, node.attr, node)


def evaluate_arguments(m: Walker, node: ast.Call) -> CallArguments:
    """Evaluate the arguments of a call, those that `*` and `**` unpack included."""
    positional: list[Argument] = []
    keywords: dict[str, Argument] = {}
    is_open = False
    unpacked: list[Value] = []
    rest: Value = UNKNOWN
    for argument in node.args:
        if isinstance(argument, ast.Starred):
            given = m.value(argument.value)
            implicit.called(m, [given], implicit.GOING_THROUGH)
            more = iterated(given)
            if more is None:
                may_raise(m)
            positional += [Argument(item, argument) for item in more or ()] if not is_open else []
            rest = given if more is None and not is_open else UNKNOWN
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
            if value.is_open or not all(entry.is_sure for entry in value.slots.values()):
                may_raise(m)
            for name, entry in value.slots.items():
                if entry.is_sure and (name in keywords or not isinstance(name, str)):
                    raise Raised("TypeError")
                if isinstance(name, str):
                    keywords[name] = Argument(entry.value, entry.node, None, unpacked=True)
            is_open = is_open or value.is_open
            unpacked += [value.each] if value.each is not None else []
        elif isinstance(value, Instance) and value.cls is None and stubs.holds_settings(m, value):
            for name, one in fields.entries_of(value):
                keywords[name] = Argument(one, one.origin if isinstance(one, Known) else None, None, unpacked=True)
            is_open = is_open or bool(value.fallback)
            unpacked += [value] if value.fallback else []
        else:
            if isinstance(value, Known) and not value.source:
                raise Raised("TypeError")
            may_raise(m)
            implicit.called(m, [value], implicit.GOING_THROUGH)
            is_open = True
            unpacked.append(value)
    return CallArguments(tuple(positional), keywords, is_open, tuple(unpacked), rest)


def call_value(m: Walker, callee: Value, receiver: Value | None, arguments: CallArguments, node: ast.Call) -> Value:
    """Return what calling `callee` returns."""
    if isinstance(callee, Function):
        result = call_function(m, callee, arguments.given, arguments.named, arguments.is_open, node)
        hooks.start_commands(m, callee)
        return result
    if isinstance(callee, Bound) and callee.function is not None:
        given = arguments.given if callee.function.is_a("staticmethod") else [callee.receiver, *arguments.given]
        return call_function(m, callee.function, given, arguments.named, arguments.is_open, node)
    if isinstance(callee, Class):
        return instantiate(m, callee, arguments, node)
    if isinstance(callee, Bound) and callee.name in m.platform.file_questions:
        return config_files.is_there(m, callee.receiver, node)
    if isinstance(callee, Bound) and callee.name in m.platform.path_openers and (file := config_files.opened_by(m, callee)) is not None:
        return file
    if isinstance(callee, Bound) and isinstance(callee.receiver, Instance):
        named = Instance(f"{callee.receiver.name}.{callee.name}", owner=callee.receiver)
        return call_outside(m, named, callee.receiver, arguments, node)
    if isinstance(callee, Bound):
        implicit.called(m, [*arguments.all, callee.receiver], implicit.ANY)
        if "key" in arguments.keywords:
            follow_callbacks(m, arguments)
        return builtin.call_method(m, callee, arguments, node)
    if isinstance(callee, Symbol):
        return _call_symbol(m, callee, receiver, arguments, node)
    if (method := method_of(callee, "__call__") or method_of(callee, "forward")) is not None:
        return call_function(m, method, [callee, *arguments.given], arguments.named, arguments.is_open, node)
    if isinstance(callee, Unknown):
        if isinstance(receiver, Unknown) and isinstance(node.func, ast.Attribute):
            effects.call_method(m, node.func.attr, arguments.all)
        elif not isinstance(node.func, ast.Name) or m.is_bound(node.func.id):  # an unbound name is no function of the program
            effects.call(m, arguments.all)
        if receiver is not None and isinstance(node.func, ast.Attribute) and (own := method_of(receiver, node.func.attr)) is not None:
            effects.not_followed(m, [own, receiver, *arguments.all])  # the object may have another one of this name, or may not
    if isinstance(callee, Known) and not callee.weak:
        ends(m, node)  # None, a number and a text can't be called
    return call_outside(m, callee, receiver, arguments, node)


def call_with(m: Walker, callee: Value, values: Sequence[Value], node: ast.Call, at: Sequence[ast.expr] = ()) -> Value:
    """Return what calling `callee` with positional arguments returns, which stand `at` some expressions, else where the call does."""
    arguments = tuple(map(Argument, values, at or [node] * len(values)))
    return call_value(m, callee, None, CallArguments(arguments, {}, False), node)


def _call_symbol(m: Walker, callee: Symbol, receiver: Value | None, arguments: CallArguments, node: ast.Call) -> Value:
    name, platform = callee.name, m.platform
    m.facts.uses.is_vague = m.facts.uses.is_vague or name in BY_NAME
    if (answer := platform.answer(name, m.versions)) is not NO_ANSWER:
        if name in platform.raising_questions:
            record_call(m, (name,), "", None, arguments, node)
        return Known(answer, node, source=name)
    if name in platform.core_counts:
        return OneOf(tuple(Known(number, node) for number in sorted(platform.cores)))
    if name in platform.copiers and arguments.positional:
        return _copied(m, arguments.positional[0].value, platform.copiers[name])
    if name in platform.paths and arguments.positional:
        return _path_of(arguments.given, node)
    if name in platform.path_texts and isinstance(first := arguments.first(), Known) and isinstance(first.value, PathText):
        return Known(str(first.value), first.origin, first.weak)
    if name in platform.transparent and (given := _given_back(m, name, arguments, node)) is not None:
        return given
    if name in platform.version_parsers and isinstance(arguments.first(), Known):
        parsed = parse_version(str(getattr(arguments.first(), "value", "")))
        return Known(parsed, node) if parsed is not None else UNKNOWN
    if name in platform.version_of and isinstance(first := arguments.first(), Known):
        version = m.versions.get(str(first.value).lower())
        return Known(".".join(map(str, version)), node, source=f"{first.value}.__version__") if version is not None else UNKNOWN
    if (made := stubs.call(m, name, arguments, node, receiver)) is not None:
        return made
    if name in platform.finders and isinstance(first := arguments.first(), Known) and first.value in platform_data("shell")["missing"]:
        return Known(None, node, source=name)
    if command := _silent_command(name, arguments.first()):
        call, output = record_call(m, (name,), "", receiver, arguments, node), Known("", node, source=command)
        lines = Items("list", {}, node, source=command)
        return Instance(name, call, {key: Bound(output, same) for key, same in READS.items()}) if arguments.positional else lines
    if name in platform.file_questions:
        return config_files.is_there(m, arguments.first(), node)
    if name in platform.openers and (file := config_files.opened(m, name, arguments, node)) is not None:
        return file
    if name in platform.config_readers and (config := config_files.read(m, name, arguments, node)) is not None:
        return config
    if (given := _of_python(m, name, arguments, node)) is not None:
        return given
    if name in platform.field_copiers and (made := fields.replaced(m, arguments, node)) is not None:
        return made
    if name in platform.field_makers:
        return fields.field_default(m, arguments, node)
    return call_outside(m, callee, receiver, arguments, node)


def _silent_command(name: str, text: Value | None) -> str:
    """Return the command of which a call gives the output, where macOS lacks it, so that it prints nothing; '' for any other call."""
    shell = platform_data("shell")
    if name not in shell["pipes"]:
        return str(shell["listed_by"].get(name, ""))
    written = str(text.value) if isinstance(text, Known) else ""
    command = re.split(r"[^\w-]", written, maxsplit=1)[0]
    return command if command in shell["printers"] and not re.search(shell["answers"], written) else ""


def _given_back(m: Walker, name: str, arguments: CallArguments, node: ast.Call) -> Value | None:
    """Return the value that a function gives back as it is given, a device's name as that of a device; None where it is given none."""
    is_device = name in m.platform.devices
    named = [one.value for key, one in arguments.keywords.items() if is_device and key in m.platform.device_arguments]
    value = next(iter((*arguments.given, *named)), None)
    if value is not None and is_device:
        record_call(m, (name,), "", None, arguments, node)
        name_device(m, node, value, is_used=False)
        if isinstance(value, Known):
            return Known(value.value, value.origin, value.weak, name, value.others)
    return value


def _path_of(parts: Sequence[Value], node: ast.Call) -> Value:
    """Return the path that texts and other paths make; what a library makes a path of stays what it is."""
    if len(parts) == 1 and isinstance(parts[0], OneOf):
        return join_all([_path_of([one], node) for one in parts[0].values])
    texts = [one for one in parts if isinstance(one, Known) and isinstance(one.value, str)]
    if len(texts) < len(parts):
        return parts[0] if len(parts) == 1 else UNKNOWN
    return Known(PathText(*(one.value for one in texts)), node, any(one.weak for one in texts))


def _copied(m: Walker, value: Value, is_deep: bool) -> Value:
    """Return a copy of a value, unless an object in it says itself how it is copied."""
    reach = extend(Reach(), m.store, [value] if not m.methods.isdisjoint(COPYING) else [])
    lost = {one.cls for one in m.store.lost.values() if isinstance(one, Instance) and one.cls is not None} if reach.is_open else ()
    own = [method for one in (*reach.classes, *lost) for name in COPYING if isinstance(method := one.lookup(name), Function)]
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
    if name == "collections.deque":
        return lists.deque(m, arguments, node)
    if name in ("random.sample", "random.choices") and isinstance(drawn := arguments.first(), Items):
        return lists.some_of(m, "list", drawn, node)
    if name.startswith("os."):
        return environment.call_os(m, name, arguments, node)
    if name.startswith("builtins."):
        implicit.of_function(m, name.removeprefix("builtins."), arguments.all)
        if "key" in arguments.keywords or (name == "builtins.iter" and len(arguments.positional) > 1):
            follow_callbacks(m, arguments)
        return builtin.call_builtin(m, name.removeprefix("builtins."), arguments, node)
    return None


def instantiate(m: Walker, cls: Class, arguments: CallArguments, node: ast.Call | None) -> Value:
    """Return a new object of a class of the program; its constructor is followed, its dataclass fields are filled."""
    if not (m.platform.enumerations | m.platform.closed_enumerations).isdisjoint(cls.outside_bases()):
        return _member_of(m, cls, arguments)
    if cls.lookup(BASES) is not None:
        effects.not_followed(m, [cls, *arguments.all])
        m.store.lose(cls)
        return UNKNOWN
    if (made := _made_otherwise(m, cls, arguments, node)) is not None and not (isinstance(made, Instance) and made.cls is cls):
        return made
    attributes = [cls.lookup(name) for own in cls.lineage() for name in own.slots]
    decorators = [getattr(one, "name", "") for own in attributes if isinstance(own, Function) for one in own.decorators]
    if not m.platform.abstract_methods.isdisjoint(decorators):
        may_raise(m)
    instance = made if isinstance(made, Instance) else m.made(Instance(cls.node.name, cls=cls))
    m.instances.setdefault(id(cls), instance)
    if is_module_class(cls):
        modules.become_module(m, instance, node)
    outside = cls.outside_bases()
    constructor = cls.lookup("__init__")
    is_filled = isinstance(constructor, Function) or stubs.holds_settings(m, instance)
    stubs.begin(m, instance, cls.makers(), node, None if isinstance(constructor, Function) else arguments)
    if not is_filled:
        fields.fill(m, instance, cls, arguments, node)
    if isinstance(constructor, Function):
        call_function(m, constructor, [instance, *arguments.given], arguments.named, arguments.is_open, node)
    if isinstance(last := cls.lookup("__del__"), Function):  # nobody knows when the object goes
        effects.not_followed(m, [last, instance, *arguments.all], is_lasting=True)
    if outside and node is not None:
        inherited = {
            name: Argument(value, origin_of(value))
            for name in cls.all_fields()
            if (value := cls.lookup(name)) is not None and name not in arguments.keywords
        }
        call = record_call(m, (*outside,), "", None, arguments, node, instance, inherited)
        instance.call = call
    elif node is not None:
        follow_callbacks(m, arguments)
    fields.hold(m, instance, cls)
    return instance


def _member_of(m: Walker, cls: Class, arguments: CallArguments) -> Value:
    """Return the object of an enumeration that has a value."""
    value = arguments.first() or UNKNOWN
    if isinstance(value, Known) and (values := listed.members(m, cls)) is not None and value.value not in values:
        if not value.weak or value.value in m.instead.values():
            raise Raised("ValueError")
        may_raise(m)
    members = [one for one in cls.slots.values() if isinstance(one, Instance) and one.cls is cls]
    return next((one for one in members if isinstance(value, Known) and same(one.slots["value"], value)), UNKNOWN)


def _made_otherwise(m: Walker, cls: Class, arguments: CallArguments, node: ast.Call | None) -> Value | None:
    """Return what the program's own `__new__` makes, or what its metaclass does where that is called; None where neither is there."""
    given = [cls, *arguments.given]
    for one in cls.lineage():
        for maker in one.decorators:
            if isinstance(maker, Class) and isinstance(own := maker.lookup("__call__"), Function):
                effects.not_followed(m, [own, *given, *arguments.named.values()])
                return UNKNOWN
    new = cls.lookup("__new__")
    if not isinstance(new, Function):
        return None
    made = call_function(m, new, given, arguments.named, arguments.is_open, node)
    if isinstance(made, (Unknown, OneOf)) and isinstance(constructor := cls.lookup("__init__"), Function):
        effects.not_followed(m, [constructor, made, *given, *arguments.named.values()])
    return None if isinstance(made, Unknown) and cls.outside_bases() else made
