"""Command lines: what a parser gives when the program is started without options."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

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
        return _parse(parser, method, arguments, node)
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


def _typed(value: Value, arguments: Arguments) -> Value:
    """Return a default as argparse gives it: a string default goes through `type`."""
    kind = arguments.keywords.get("type")
    if not (isinstance(value, Known) and isinstance(value.value, str) and kind is not None and isinstance(kind.value, Symbol)):
        return value
    converters = {"builtins.int": int, "builtins.float": float, "builtins.str": str}
    converter = converters.get(kind.value.name)
    if converter is None:
        return COMMAND_LINE
    try:
        return Known(converter(value.value), value.origin, value.weak)
    except ValueError:
        return COMMAND_LINE


def _parse(parser: Instance, method: str, arguments: Arguments, node: ast.Call) -> Value:
    """Return the namespace of a command line: options given in the program itself, else their defaults."""
    slots: dict[object, Value] = {name: entry.value for name, entry in _options(parser).slots.items() if isinstance(entry, Entry)}
    given = arguments.get(0, "args")
    if isinstance(given, Items) and not given.open:
        slots.update(_given(given.values(), slots))
    namespace = Instance("argparse.Namespace", slots=slots, fallback="command line")
    if method == "parse_args":
        return namespace
    return Items("tuple", {0: namespace, 1: Items("list", {}, node, open=True)}, node)


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
    classes = parser.slots[OPTIONS]
    made: list[Value] = []
    for cls in classes.values() if isinstance(classes, Items) else []:
        if isinstance(cls, Class):
            slots = {name: weakened(value) for name in cls.all_fields() if (value := cls.lookup(name)) is not None}
            made.append(Instance(cls.node.name, slots=slots, cls=cls, fallback="command line"))
        elif isinstance(cls, Symbol):
            made.append(Instance(cls.name, fallback="command line"))
        else:
            made.append(COMMAND_LINE)
    return Items("tuple", dict(enumerate(made)), node)


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
