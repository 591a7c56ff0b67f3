"""Command lines: what a parser gives when the program is started without options."""

from __future__ import annotations

import ast
from collections.abc import Callable
from collections.abc import Mapping as TypedMapping
from typing import TYPE_CHECKING

from mpslint.facts.facts import Argument
from mpslint.facts.values import (
    COMMAND_LINE,
    Class,
    Entry,
    Function,
    Instance,
    Items,
    Known,
    Mapping,
    Symbol,
    Unknown,
    Value,
    origin_of,
    weakened,
)
from mpslint.program.machine import Machine

if TYPE_CHECKING:
    from mpslint.program.calls import Arguments

PARSER = "argparse.ArgumentParser"
DATACLASS_PARSER = "dataclass parser"
OPTIONS = ("options of", "argparse")
"""The slot of a parser that holds the Mapping of its options."""
METHODS = frozenset(
    [
        "add_argument",
        "add_argument_group",
        "add_mutually_exclusive_group",
        "parse_args",
        "parse_known_args",
        "set_defaults",
        "add_subparsers",
        "add_parser",
        "parse_args_into_dataclasses",
        "parse_args_and_config",
        "parse_json_file",
        "parse_yaml_file",
        "parse_dict",
        "parse_known_intermixed_args",
    ]
)
CONVERTERS: dict[str, Callable[[str], object]] = {"builtins.int": int, "builtins.float": float, "builtins.str": str}
KIND = "type of"
"""With the name of an option, the key among a parser's options under which lies what its text is converted by."""
STORED = {"store_true": False, "store_false": True, "count": 0}


def call_argparse(m: Machine, name: str, arguments: Arguments, node: ast.Call) -> Value:
    """Return a parser for `argparse.ArgumentParser(...)`; other names of argparse are just objects."""
    if name == PARSER:
        parser = Instance(PARSER, slots={OPTIONS: Mapping({}, node)})
        parents = arguments.keywords.get("parents")
        if parents is not None and isinstance(parents.value, Items):
            for parent in parents.value.values():
                options = parent.slots.get(OPTIONS) if isinstance(parent, Instance) else None
                if isinstance(options, Mapping):
                    _options(parser).slots.update(options.slots)
        return parser
    return Instance(name)


def _options(parser: Instance) -> Mapping:
    options = parser.slots.get(OPTIONS)
    return options if isinstance(options, Mapping) else Mapping({})


def call_method(m: Machine, parser: Instance, method: str, arguments: Arguments, node: ast.Call) -> Value | None:
    """Return what a method of a parser returns; None when the object is no parser."""
    if parser.name == DATACLASS_PARSER:
        return _parse_dataclasses(m, parser, method, arguments, node)
    if OPTIONS not in parser.slots:
        return None
    if method == "add_argument":
        _add_argument(m, parser, arguments, node)
        return Instance("argparse.Action")
    if method in ("add_argument_group", "add_mutually_exclusive_group", "add_subparsers", "add_parser"):
        return Instance(PARSER, slots={OPTIONS: _options(parser)})
    if method == "set_defaults":
        for name, argument in arguments.keywords.items():
            m.store.write(_options(parser).slots, name, Entry(weakened(argument.value), argument.node))
        return Known(None, node)
    if method in ("parse_args", "parse_known_args", "parse_known_intermixed_args"):
        return _parse(m, parser, method, arguments, node)
    return None


def _add_argument(m: Machine, parser: Instance, arguments: Arguments, node: ast.Call) -> None:
    """Note an option: its destination, and the value it has when it is not given."""
    flags = [a.value.value for a in arguments.positional if isinstance(a.value, Known) and isinstance(a.value.value, str)]
    if not flags:
        return
    long = next((flag for flag in flags if flag.startswith("--")), flags[0])
    destination = arguments.keywords.get("dest")
    name = long.lstrip("-").replace("-", "_")
    if destination is not None and isinstance(destination.value, Known):
        name = str(destination.value.value)
    action = arguments.keywords.get("action")
    default = arguments.keywords.get("default")
    value: Value = COMMAND_LINE
    written: ast.AST | None = node
    if default is not None:
        value, written = _typed(default.value, arguments), default.node
    elif action is not None and isinstance(action.value, Known) and action.value.value in STORED:
        value = Known(STORED[action.value.value], node)
    m.store.write(_options(parser).slots, name, Entry(weakened(value), written))
    kind = arguments.keywords.get("type")
    several = arguments.keywords.get("nargs")
    if several is not None and not (isinstance(several.value, Known) and several.value.value == "?"):
        _options(parser).slots[KIND, name] = COMMAND_LINE
    elif kind is not None:
        _options(parser).slots[KIND, name] = kind.value


def _typed(value: Value, arguments: Arguments) -> Value:
    """Return a default as argparse gives it: a string default goes through `type`."""
    kind = arguments.keywords.get("type")
    if not (isinstance(value, Known) and isinstance(value.value, str) and kind is not None and isinstance(kind.value, Symbol)):
        return value
    converter = CONVERTERS.get(kind.value.name)
    if converter is None:
        return COMMAND_LINE
    try:
        return Known(converter(value.value), value.origin, value.weak)
    except ValueError:
        return COMMAND_LINE


def _parse(m: Machine, parser: Instance, method: str, arguments: Arguments, node: ast.Call) -> Value:
    """Return the namespace of a command line: options given in the program itself, else their defaults."""
    slots: dict[object, Value] = {name: entry.value for name, entry in _options(parser).slots.items() if isinstance(entry, Entry)}
    given = arguments.get(0, "args")
    started = m.project.given() if m.project is not None and given is None else None
    if isinstance(given, Items) and not given.open:
        slots.update(_given(given.values(), slots))
    elif started is not None and m.project is not None:
        if m.project.is_told_all():
            slots = {name: _settled(value) for name, value in slots.items()}
        slots.update(_started_with(started, parser, slots))
    namespace = Instance("argparse.Namespace", slots=slots, fallback="command line")
    if method == "parse_args":
        return namespace
    return Items("tuple", {0: namespace, 1: Items("list", {}, node, open=True)}, node)


def _settled(value: Value) -> Value:
    """Return a default that nothing changes any more."""
    return Known(value.value, value.origin, False, value.source) if isinstance(value, Known) else value


def _started_with(given: TypedMapping[str, Argument], parser: Instance, slots: dict[object, Value]) -> dict[object, Value]:
    """Return the options that the command line of the run sets, as values of the type that each option has."""
    found: dict[object, Value] = {}
    for name, argument in given.items():
        if name not in slots:
            continue
        default, value, kind = slots[name], argument.value, _options(parser).slots.get((KIND, name))
        if not isinstance(value, Known) or isinstance(kind, Unknown):
            found[name] = COMMAND_LINE
        elif value.value is True:  # a flag without a value
            is_off = isinstance(default, Known) and default.value is True
            found[name] = Known(not is_off, value.origin)
        elif isinstance(kind, Symbol) and kind.name in CONVERTERS:
            found[name] = _converted(value, CONVERTERS[kind.name])
        elif isinstance(kind, (Symbol, Function, Class)) or str(value.value).lower() in ("true", "false"):
            found[name] = _as_written(value)
        else:
            found[name] = Known(_like(default, str(value.value)), value.origin)
    return found


def _converted(value: Known, convert: Callable[[str], object]) -> Value:
    try:
        return Known(convert(str(value.value)), value.origin)
    except ValueError:
        return COMMAND_LINE


def _as_written(value: Known) -> Known:
    """Return what a text says: a number, true or false, else the text."""
    text = str(value.value)
    if text.lower() in ("true", "false"):
        return Known(text.lower() == "true", value.origin)
    for convert in (int, float):
        try:
            return Known(convert(text), value.origin)
        except ValueError:
            continue
    return Known(None if text == "None" else value.value, value.origin)


def _given(words: list[Value], slots: dict[object, Value]) -> dict[object, Value]:
    """Return the options that a list such as `["--batch-size", "8", "--fp16"]` sets."""
    found: dict[object, Value] = {}
    texts = [word.value if isinstance(word, Known) and isinstance(word.value, str) else None for word in words]
    for index, text in enumerate(texts):
        if text is None or not text.startswith("--"):
            continue
        flag, _, inline = text[2:].partition("=")
        name = flag.replace("-", "_")
        default = slots.get(name)
        following = inline or (texts[index + 1] if index + 1 < len(texts) else None)
        if isinstance(default, Known) and isinstance(default.value, bool) and not inline:
            found[name] = Known(not default.value, origin_of(words[index]))
        elif following is not None:
            word: Value = words[index] if inline else words[index + 1]
            found[name] = Known(_like(default, following), origin_of(word))
    return found


def _like(default: Value | None, text: str) -> object:
    """Return an option's text as the type that its default has."""
    for convert in (int, float):
        if isinstance(default, Known) and isinstance(default.value, convert) and not isinstance(default.value, bool):
            try:
                return convert(text)
            except ValueError:
                return text
    return text


def dataclass_parser(m: Machine, name: str, arguments: Arguments, node: ast.Call) -> Value:
    """Return a parser that makes instances of the classes it is given."""
    first = arguments.get(0, "dataclass_types")
    classes = first.values() if isinstance(first, Items) else [first] if first is not None else []
    return Instance(DATACLASS_PARSER, slots={OPTIONS: Items("tuple", dict(enumerate(classes)), node)})


def _parse_dataclasses(m: Machine, parser: Instance, method: str, arguments: Arguments, node: ast.Call) -> Value | None:
    if not method.startswith("parse"):
        return Instance(PARSER, slots={OPTIONS: Mapping({}, node)})
    found = parser.slots[OPTIONS]
    classes = found.values() if isinstance(found, Items) else []
    given = m.project.given() if m.project is not None and method == "parse_args_into_dataclasses" else None
    flags = {name: _read_as(argument) for name, argument in given.items()} if given is not None else None
    made = [_parsed(m, cls, classes, flags, node) for cls in classes]
    return Items("tuple", dict(enumerate(made)), node)


def _read_as(argument: Argument) -> Argument:
    value = argument.value
    return Argument(_as_written(value) if isinstance(value, Known) else COMMAND_LINE, argument.node, unpacked=True)


def _parsed(m: Machine, cls: Value, classes: list[Value], flags: dict[str, Argument] | None, node: ast.Call) -> Value:
    """Return the object that a command line makes of a class; flags that belong to no class of the program belong to one of outside."""
    from mpslint.program.calls import Arguments, record_call

    if isinstance(cls, Symbol) and flags is None:
        return Instance(cls.name, fallback="command line")
    if not isinstance(cls, (Symbol, Class)):
        return COMMAND_LINE
    own = cls.all_fields() if isinstance(cls, Class) else ()
    others = {name for one in classes if isinstance(one, Class) and one is not cls for name in one.all_fields()}
    outside = cls.outside_bases() if isinstance(cls, Class) else (cls.name,)
    slots: dict[object, Value] = {}
    if isinstance(cls, Class):
        is_settled = flags is not None and m.project is not None and m.project.is_told_all()
        defaults = {name: value for name in own if (value := cls.lookup(name)) is not None}
        slots = {name: value if is_settled else weakened(value) for name, value in defaults.items()}
    given = flags or {}
    slots.update({name: flag.value for name, flag in given.items() if name in own})
    name = cls.node.name if isinstance(cls, Class) else cls.name
    result = m.made(
        Instance(name, slots=slots, cls=cls if isinstance(cls, Class) else None, fallback="command line" if flags is None else "")
    )
    if outside:
        keywords = {name: flag for name, flag in given.items() if name not in others}
        kept = {str(name): value for name, value in slots.items() if name not in keywords}
        inherited = {name: Argument(value, origin_of(value)) for name, value in kept.items()}
        is_open = flags is None or m.project is None or not m.project.is_told_all()
        arguments = Arguments((), keywords, is_open)
        result.call = record_call(m, outside, "", None, arguments, node, result, inherited, is_parsed=True)
    return result


def option_defaults(function: Function) -> dict[str, Value]:
    """Return the defaults that option decorators (`@click.option("--batch-size", default=8)`) give a function's parameters."""
    found: dict[str, Value] = {}
    for decorator in function.decorators:
        call = decorator.call if isinstance(decorator, Instance) else None
        if call is None or not call.name.endswith(".option"):
            continue
        flags = [a.value.value for a in call.arguments if isinstance(a.value, Known) and isinstance(a.value.value, str)]
        long = next((flag for flag in flags if flag.startswith("--")), None)
        plain = next((flag for flag in flags if not flag.startswith("-")), None)
        name = plain or (long.lstrip("-").split("/")[0].replace("-", "_") if long else None)
        if name is None:
            continue
        if "default" in call.keywords:
            found[name] = call.keywords["default"].value
        elif "is_flag" in call.keywords:
            found[name] = Known(False, call.node)
        else:
            found[name] = COMMAND_LINE
    return found
