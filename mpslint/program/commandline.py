"""Command lines: what a parser gives when the program is started without options."""

from __future__ import annotations

import ast
import contextlib
import operator
import shlex
from collections.abc import Mapping as TypedMapping
from collections.abc import Sequence

from mpslint.facts.values import (
    COMMAND_LINE,
    Argument,
    Class,
    DictEntry,
    Instance,
    Items,
    Known,
    Mapping,
    Symbol,
    Value,
    origin_of,
    weakened,
)
from mpslint.program.arguments import CallArguments
from mpslint.program.called import record_call
from mpslint.program.fields import finish
from mpslint.program.machine import Walker
from mpslint.program.started import BOTH_WAYS, CONVERTERS, STORED, Option, named, parse

PARSER = "argparse.ArgumentParser"
PAIR = "pair"
"""What parsing gives where it gives the words that are no options beside the object with the options."""
DATACLASS_PARSER = "dataclass parser"
OPTIONS = ("options of", "argparse")
"""The slot of a parser that holds the Mapping of its options."""
METHODS = frozenset(
    (
        "add_argument add_option add add_arg add_arguments add_class_arguments add_argument_group add_mutually_exclusive_group parse_args "
        "parse_known_args set_defaults add_subparsers add_parser parse_args_into_dataclasses parse_args_and_config parse_json_file "
        "parse_yaml_file parse_dict parse_known_intermixed_args parse_typed_args"
    ).split()
)
FILES = frozenset(["parse_json_file", "parse_yaml_file", "parse_dict"])
ADDING = frozenset(["add_argument", "add_option", "add", "add_arg"])
OF_CLASSES = frozenset(["add_arguments", "add_class_arguments"])
PARSING = frozenset(["parse_args", "parse_known_args", "parse_known_intermixed_args"])
ONE_OBJECT = frozenset(["parse_args", "parse_typed_args"])
"""Methods of a parser of classes that give one object with all fields."""
WORDS = "words of"
"""With the name of an option, the key among a parser's options under which lies how it is given."""


def made_parser(name: str, arguments: CallArguments, node: ast.Call) -> Instance:
    """Return a parser, with the options of those that it is given as `parents`."""
    parser = Instance(name, slots={OPTIONS: Mapping({}, node)})
    parents = arguments.keywords.get("parents")
    for parent in parents.value.values() if parents is not None and isinstance(parents.value, Items) else ():
        options = parent.slots.get(OPTIONS) if isinstance(parent, Instance) else None
        if isinstance(options, Mapping):
            _options(parser).slots.update(options.slots)
    return parser


def _options(parser: Instance) -> Mapping:
    options = parser.slots.get(OPTIONS)
    return options if isinstance(options, Mapping) else Mapping({})


def call_method(m: Walker, parser: Instance, method: str, arguments: CallArguments, node: ast.Call) -> Value | None:
    """Return what a method of a parser returns; None when the object is no parser."""
    if parser.name == DATACLASS_PARSER:
        return _parse_dataclasses(m, parser, method, arguments, node)
    if OPTIONS not in parser.slots:
        return None
    if method in ADDING:
        _add_argument(m, parser, method, arguments, node)
        return Instance("argparse.Action")
    if method in OF_CLASSES:
        _add_class(m, parser, arguments, node)
        return Known(None, node)
    if method in ("add_argument_group", "add_mutually_exclusive_group", "add_subparsers", "add_parser"):
        return Instance(PARSER, slots={OPTIONS: _options(parser)})
    if method == "set_defaults":
        for name, argument in arguments.keywords.items():
            m.store.write(_options(parser).slots, name, DictEntry(weakened(argument.value), argument.node))
        return Known(None, node)
    if method in PARSING:
        return _parse(m, parser, method, arguments, node)
    return None


def _add_argument(m: Walker, parser: Instance, method: str, arguments: CallArguments, node: ast.Call) -> None:
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
    way = action.value.value if action is not None and isinstance(action.value, Known) else "store"
    way = action.value.name if action is not None and isinstance(action.value, Symbol) else way
    value: Value = COMMAND_LINE
    written: ast.AST | None = node
    is_optional = not _always_given(method, flags, arguments)
    if is_optional and default is not None:
        value, written = _typed(default.value, arguments), default.node
    elif is_optional and way in STORED:
        value = Known(not STORED[way], node)
    elif is_optional and way == "count":
        value = Known(0, node)
    if not isinstance(before := _options(parser).slots.get((WORDS, name)), Option) or not set(flags).isdisjoint(before.flags):
        m.store.write(_options(parser).slots, name, DictEntry(weakened(value), written))
    kind, count, constant = (arguments.keywords.get(key) for key in ("type", "nargs", "const"))
    dashed = tuple(flag for flag in flags if flag.startswith("-"))
    off = tuple(f"--no-{flag[2:]}" for flag in dashed if flag.startswith("--")) if way == BOTH_WAYS else ()
    several: str | int | None = None
    if count is not None:
        several = count.value.value if isinstance(count.value, Known) else "*"
    _options(parser).slots[WORDS, name] = Option(
        (*dashed, *off),
        kind.value if kind is not None else None,
        str(way),
        several,
        constant.value if constant is not None else COMMAND_LINE,
    )


def _always_given(method: str, flags: Sequence[str], arguments: CallArguments) -> bool:
    """Return whether a command line can't leave an argument out, so that its default is never used."""
    required, count = arguments.keywords.get("required"), arguments.keywords.get("nargs")
    if any(flag.startswith("-") for flag in flags):
        return required is not None and not (isinstance(required.value, Known) and not required.value.value)
    # Of the arguments without a name, argparse takes the default of those with `?` and `*` only.
    return method == "add_argument" and not (count is not None and isinstance(count.value, Known) and count.value.value in ("?", "*"))


def _typed(value: Value, arguments: CallArguments) -> Value:
    """Return a default as argparse gives it: a string default goes through `type`."""
    kind = arguments.keywords.get("type")
    if not (isinstance(value, Known) and isinstance(value.value, str) and kind is not None):
        return value
    converter = CONVERTERS.get(kind.value.name) if isinstance(kind.value, Symbol) else None
    if converter is None:
        return COMMAND_LINE
    try:
        return Known(converter(value.value), value.origin, value.weak)
    except ValueError:
        return COMMAND_LINE


def _parse(m: Walker, parser: Instance, method: str, arguments: CallArguments, node: ast.Call) -> Value:
    """Return the namespace of a command line: options given in the program itself, else their defaults."""
    slots: dict[object, Value] = {name: entry.value for name, entry in _options(parser).slots.items() if isinstance(entry, DictEntry)}
    given, space = words_given(m, arguments), arguments.get(1, "namespace")
    if isinstance(space, Instance):  # what it has counts more than a default
        slots.update({name: value for name, value in space.written_slots().items() if isinstance(name, str)})
    if given is not None:
        if not given.open:
            slots = {name: settled(value) for name, value in slots.items()}
        slots.update(_read([Argument(word, origin_of(word)) for word in given.values()], parser, slots))
    elif _reads_command_line(arguments.get(0, "args")) and (words := m.words()) is not None:
        if m.is_told_all():
            slots = {name: settled(value) for name, value in slots.items()}
        slots.update(_read(words, parser, slots))
    namespace = Instance("argparse.Namespace", slots=slots, fallback="command line")
    if method == "parse_args" and m.platform.argument_parsers.get(parser.name) != PAIR:
        return namespace
    return Items("tuple", {0: namespace, 1: Items("list", {}, node, open=True)}, node)


def _reads_command_line(given: Value | None) -> bool:
    """Return whether a parser that is given this reads the command line: nothing, or the very words of it."""
    return given is None or isinstance(given, Items) or (isinstance(given, Known) and given.value is None)


def words_given(m: Walker, arguments: CallArguments, index: int = 0) -> Items | None:
    """Return the words that a call gives a parser in place of the command line; None where it reads that, or where they are not known."""
    found = next((arguments.keywords[name].value for name in ("args", "command") if name in arguments.keywords), None)
    if found is None and index < len(arguments.positional):
        found = arguments.positional[index].value
    if isinstance(found, Known) and isinstance(found.value, str):
        with contextlib.suppress(ValueError):
            return Items("list", {number: Known(word) for number, word in enumerate(shlex.split(found.value))})
    if not isinstance(found, Items):
        return None
    words = [word.value for word in m.words() or ()]
    is_same = bool(words) and len(words) == len(found.slots) and all(map(operator.is_, words, found.values()))
    return None if is_same else found


def of_namespace(m: Walker, name: str, arguments: CallArguments, node: ast.Call) -> Value:
    """Return the object that a class of outside makes of the options of a parser, those included that it added to the parser itself."""
    first = arguments.get(0, "args")
    words = m.words()
    slots = first.slots if isinstance(first, Instance) else {}
    values = {key: value for key, value in slots.items() if isinstance(key, str)}
    values = {**dict(named(words or ())), **values}
    result = m.made(Instance(name))
    inherited = {key: Argument(value, origin_of(value)) for key, value in values.items() if key not in arguments.keywords}
    keywords = {key: value for key, value in arguments.keywords.items() if key != "args"}
    result.call = record_call(m, (name,), "", None, CallArguments((), keywords, True), node, result, inherited)
    return result


def settled(value: Value) -> Value:
    """Return a default that nothing changes any more."""
    return Known(value.value, value.origin, False, value.source) if isinstance(value, Known) else value


def _read(words: Sequence[Argument], parser: Instance, defaults: TypedMapping[object, Value]) -> dict[object, Value]:
    options = {key[1]: way for key, way in _options(parser).slots.items() if isinstance(key, tuple) and key[0] == WORDS}
    found: dict[object, Value] = {}
    found.update(parse(words, options, {str(name): value for name, value in defaults.items()}))
    return found


def dataclass_parser(m: Walker, name: str, arguments: CallArguments, node: ast.Call) -> Value:
    """Return a parser that makes instances of the classes it is given."""
    first = arguments.get(0, "dataclass_types") or _class_given(arguments)
    classes = first.values() if isinstance(first, Items) else [first] if first is not None else []
    return Instance(DATACLASS_PARSER, slots={OPTIONS: Items("tuple", dict(enumerate(classes)), node)})


def _class_given(arguments: CallArguments) -> Value | None:
    """Return the class of the program that a call gets by some name."""
    return next((one.value for one in arguments.keywords.values() if isinstance(one.value, Class)), None)


def _parse_dataclasses(m: Walker, parser: Instance, method: str, arguments: CallArguments, node: ast.Call) -> Value | None:
    if not method.startswith("parse"):
        return Instance(PARSER, slots={OPTIONS: Mapping({}, node)})
    found = parser.slots[OPTIONS]
    classes = found.values() if isinstance(found, Items) else []
    with m.told(words_given(m, arguments) if method not in FILES else None):
        return _made_of_classes(m, classes, method, arguments, node)


def _made_of_classes(m: Walker, classes: list[Value], method: str, arguments: CallArguments, node: ast.Call) -> Value:
    """Return the objects that a parser of classes makes of the words it reads."""
    given = _given(m, method, arguments, node)
    flags = {name: Argument(value, origin_of(value), unpacked=True) for name, value in given.items()} if given is not None else None
    if flags is None and method in FILES:  # beside it the same script parses its command line, which is reported
        made: list[Value] = [
            Instance(one.name, fallback="command line") if isinstance(one, Symbol) else _parsed(m, one, classes, flags, node)
            for one in classes
        ]
    else:
        made = [_parsed(m, cls, classes, flags, node) for cls in classes]
    for one in made:
        finish(m, one, node)
    if method in ONE_OBJECT:
        slots = {key: value for one in made if isinstance(one, Instance) for key, value in one.slots.items()}
        return made[0] if len(made) == 1 else Instance("argparse.Namespace", slots=slots, fallback="command line")
    return Items("tuple", dict(enumerate(made)), node)


def _given(m: Walker, method: str, arguments: CallArguments, node: ast.Call) -> dict[str, Value] | None:
    """Return the values by name that a parser of classes gets: words, those of a file, or those of a dict; None where that is not known."""
    if method in FILES:
        first = arguments.positional[0].value if arguments.positional else next((a.value for a in arguments.keywords.values()), None)
        if not isinstance(first, Known):
            return None if not isinstance(first, Mapping) or first.is_open else _entries(first)
        return _in_file(m, str(first.value))
    words = m.words()
    if words is None:
        return None
    values = switched_off(dict(named(words)))
    file = values.get("config") if method == "parse_args_and_config" else None
    if file is not None:
        below = _in_file(m, str(file.value)) if isinstance(file, Known) else None
        return {**below, **values} if below is not None else None
    return values


def switched_off(values: dict[str, Value]) -> dict[str, Value]:
    """Return named values with `--no_x` as what it says of `x`."""
    bare = {name: value for name, value in values.items() if isinstance(value, Known) and value.value is True}
    off = {name[3:]: Known(False, value.origin) for name, value in bare.items() if name.startswith("no_")}
    return {**off, **values}


def _in_file(m: Walker, path: str) -> dict[str, Value] | None:
    found = m.project.load_config(m, path, False) if m.project is not None else None
    return _entries(found) if isinstance(found, Mapping) else None


def _entries(mapping: Mapping) -> dict[str, Value]:
    return {str(name): entry.value for name, entry in mapping.slots.items() if isinstance(entry, DictEntry)}


def _add_class(m: Walker, parser: Instance, arguments: CallArguments, node: ast.Call) -> None:
    """Note the options that the fields of a class are, and the destination of the object that they make."""
    cls, name = arguments.first(), arguments.get(1, "dest") or arguments.get(1, "nested_key")
    if isinstance(cls, Class) and isinstance(name, Known):
        made = call_parsed(m, cls, node, f"{name.value}.", arguments.get(2, "default"))
        m.store.write(_options(parser).slots, name.value, DictEntry(made, node))


def call_parsed(m: Walker, cls: Value, node: ast.Call | None, prefix: str = "", base: Value | None = None) -> Value:
    """Return the object of a class that the words of the command line make, those for the objects in it included.

    The names in the words may begin with a prefix; `base` is an object with other defaults than the class has.
    """
    words = m.words()
    values = {key.removeprefix(prefix): value for key, value in switched_off(dict(named(words))).items()} if words is not None else None
    flags = {name: Argument(value, origin_of(value), unpacked=True) for name, value in values.items()} if values is not None else None
    made = _parsed(m, cls, [cls], flags, node, base)
    for name, value in (values or {}).items():
        *above, last = name.split(".")
        inner: Value = made
        for key in above:
            inner = inner.slots.get(key, COMMAND_LINE) if isinstance(inner, Instance) else COMMAND_LINE
        if above and isinstance(inner, Instance):
            inner.slots[last] = value
    finish(m, made, node)
    return made


def _parsed(
    m: Walker, cls: Value, classes: list[Value], flags: dict[str, Argument] | None, node: ast.Call | None, base: Value | None = None
) -> Value:
    """Return the object that a command line makes of a class; flags that belong to no class of the program belong to one of outside."""
    if not isinstance(cls, (Symbol, Class)):
        return COMMAND_LINE
    own = cls.all_fields() if isinstance(cls, Class) else ()
    others = {name for one in classes if isinstance(one, Class) and one is not cls for name in one.all_fields()}
    outside = cls.outside_bases() if isinstance(cls, Class) else (cls.name,)
    slots: dict[object, Value] = {}
    if isinstance(cls, Class):
        is_settled = flags is not None and m.is_told_all()
        defaults = {name: value for name in own if (value := _default(cls, base, name)) is not None}
        slots = {name: value if is_settled else weakened(value) for name, value in defaults.items()}
    given = flags or {}
    slots.update({name: flag.value for name, flag in given.items() if name in own})
    name = cls.node.name if isinstance(cls, Class) else cls.name
    result = m.made(
        Instance(name, slots=slots, cls=cls if isinstance(cls, Class) else None, fallback="command line" if flags is None else "")
    )
    if outside and node is not None:
        keywords = {name: flag for name, flag in given.items() if name not in others}
        kept = {str(name): value for name, value in slots.items() if name not in keywords}
        inherited = {name: Argument(value, origin_of(value)) for name, value in kept.items()}
        is_open = flags is None or not m.is_told_all()
        if not is_open:
            unnamed = {key: Known(value, node) for key, value in _left_unnamed(m, outside).items()}
            result.slots.update({key: value for key, value in unnamed.items() if key not in given and key not in slots})
        arguments = CallArguments((), keywords, is_open)
        result.call = record_call(m, outside, "", None, arguments, node, result, inherited, is_parsed=True)
    return result


def _default(cls: Class, base: Value | None, name: str) -> Value | None:
    """Return what a field is by default: of an object that the program gives, else of its class."""
    if base is None or (isinstance(base, Known) and base.value is None):
        return cls.lookup(name)
    return base.slots.get(name, cls.lookup(name)) if isinstance(base, Instance) and base.cls is not None else COMMAND_LINE


def _left_unnamed(m: Walker, classes: Sequence[str]) -> dict[str, object]:
    """Return what fields of classes from outside are that a command line does not name."""
    return {key: value for name in classes for key, value in m.platform.parsed_fields.get(name, {}).items()}
