"""Functions that the command line calls: what Fire, Typer, Click and the like give their parameters."""

from __future__ import annotations

import ast
from collections.abc import Container, Iterator, Sequence

from mpslint.facts.values import (
    COMMAND_LINE,
    Argument,
    Bound,
    Class,
    DictEntry,
    Function,
    Instance,
    Known,
    Mapping,
    Value,
    origin_of,
    weakened,
)
from mpslint.program.arguments import CallArguments
from mpslint.program.commandline import call_parsed, settled, switched_off, words_given
from mpslint.program.fields import has_fields
from mpslint.program.machine import Walker
from mpslint.program.started import Option, named, parse, unnamed

BY_NAME = 99
"""Where a call has an argument that is given by name alone."""


def start(m: Walker, arguments: CallArguments, node: ast.Call, is_choosing: bool) -> Value | None:
    """Return what a call gives that starts its first argument with the command line; None where that is no code of the program."""
    with m.told(words_given(m, arguments, BY_NAME)):
        return _start(m, arguments, node, is_choosing)


def _start(m: Walker, arguments: CallArguments, node: ast.Call, is_choosing: bool) -> Value | None:
    target = arguments.first() or next((one.value for one in arguments.keywords.values() if isinstance(one.value, (Class, Function))), None)
    words = m.words()
    if is_choosing and not isinstance(target, Function):
        return _choose(m, target, words, node)
    if isinstance(target, Class):
        return _made(m, target, words, node, arguments.keywords["default"].value if "default" in arguments.keywords else None)
    function = target.function if isinstance(target, Bound) else target
    if not isinstance(function, Function):
        return None
    return start_function(m, function, [target.receiver] if isinstance(target, Bound) else [], words)


def _made(m: Walker, cls: Class, words: Sequence[Argument] | None, node: ast.Call, default: Value | None = None) -> Value:
    """Return the object of a class that the command line makes: by its own constructor, else of its fields."""
    constructor = cls.lookup("__init__")
    if not isinstance(constructor, Function):
        return call_parsed(m, cls, node, base=default)
    signature = constructor.node.args
    every = {one.arg for one in (*signature.posonlyargs, *signature.args, *signature.kwonlyargs)}
    values = switched_off(dict(named(words))) if words is not None else {}
    given = {name: Argument(value, origin_of(value), unpacked=True) for name, value in values.items() if name in every}
    is_open = words is None or not m.is_told_all()
    return m.calls.instantiate(m, cls, CallArguments((), given, is_open), node)


def _choose(m: Walker, target: Value | None, words: Sequence[Argument] | None, node: ast.Call) -> Value | None:
    """Walk what the first word names of a class, an object, a dict or (without any) the module; each of them where no word is known."""
    made = _made(m, target, words, node) if isinstance(target, Class) else target
    cls = made.cls if isinstance(made, Instance) else None
    if cls is not None:
        slots = {name: value for one in reversed(cls.lineage()) for name, value in one.slots.items()}
    elif isinstance(target, Mapping):
        slots = {name: entry.value for name, entry in target.slots.items() if isinstance(entry, DictEntry)}
    elif target is None:
        slots = dict(m.module.slots)
    else:
        return None
    functions = {name: one for name, one in slots.items() if isinstance(name, str) and name[:1] != "_" and isinstance(one, Function)}
    first = next(unnamed(words), None) if words else None
    chosen = str(first.value.value).replace("-", "_") if first is not None and isinstance(first.value, Known) else ""
    if chosen in functions:
        functions, words = {chosen: functions[chosen]}, [word for word in words or () if word is not first]
    for function in functions.values():
        start_function(m, function, [made] if cls is not None and made is not None else [], words if len(functions) == 1 else None)
    return made


def start_function(m: Walker, function: Function, receiver: Sequence[Value], words: Sequence[Argument] | None) -> Value:
    """Walk a function with what some words give its parameters; None for words that are not known."""
    if words is None:
        return m.calls.call_function(m, function, receiver, _typed(m, function, ()), True, None)
    signature = function.node.args
    names = [one.arg for one in (*signature.posonlyargs, *signature.args)][len(receiver) :]
    every = [*names, *(one.arg for one in signature.kwonlyargs)]
    own = {name: Option((flag,)) for name, flag in _own_flags(function)}
    given: dict[str, Value] = dict(parse(words, own, {}))
    values = switched_off(dict(named(words)))
    given.update({name: value for name, value in values.items() if name in every or signature.kwarg is not None})
    free = [name for name in names if name not in given]
    given.update({name: word.value for name, word in zip(free, unnamed(words), strict=False)})
    is_open = not m.is_told_all()
    return m.calls.call_function(m, function, receiver, {**_typed(m, function, given), **given}, is_open, None)


def typed_parameter(m: Walker, function: Function) -> Value | None:
    """Return the object that the command line makes of the class of a function's first parameter; None for one of no such class."""
    signature = function.node.args
    first = next(iter((*signature.posonlyargs, *signature.args)), None)
    cls = _class_of(m, first) if first is not None else None
    return call_parsed(m, cls, None) if cls is not None else None


def _typed(m: Walker, function: Function, given: Container[str]) -> dict[str, Value]:
    """Return the objects that the command line makes for parameters whose classes have fields, and that nothing else gives."""
    signature = function.node.args
    named_ones = [*signature.posonlyargs, *signature.args]
    required = [*named_ones[: len(named_ones) - len(signature.defaults)], *signature.kwonlyargs]
    kinds = {one.arg: cls for one in required if one.arg not in given and (cls := _class_of(m, one)) is not None}
    return {name: call_parsed(m, cls, None, f"{name}.") for name, cls in kinds.items()}


def _class_of(m: Walker, parameter: ast.arg) -> Class | None:
    """Return the class of the program, with fields, that a parameter is annotated with."""
    annotation = parameter.annotation
    kind = m.lookup(annotation.id) if isinstance(annotation, ast.Name) else None
    return kind if isinstance(kind, Class) and has_fields(m, kind) else None


def _own_flags(function: Function) -> Iterator[tuple[str, str]]:
    """Yield the flags that the defaults of a function's parameters name (`typer.Option(4, "--bs", "-b")`), each with its parameter."""
    signature = function.node.args
    pairs = zip(reversed([*signature.posonlyargs, *signature.args]), reversed(signature.defaults), strict=False)
    for parameter, default in (*pairs, *zip(signature.kwonlyargs, signature.kw_defaults, strict=False)):
        for part in default.args if isinstance(default, ast.Call) else ():
            if isinstance(part, ast.Constant) and isinstance(part.value, str) and part.value.startswith("-"):
                for flag in part.value.split("/")[0].split():
                    yield parameter.arg, flag


def start_group(m: Walker, group: Instance) -> None:
    """Walk the functions that are commands of a group (`app = typer.Typer()`): the one that the first word names, else all of them."""
    commands = [function for function in list(m.functions.values()) if any(_belongs(m, one, group) for one in function.decorators)]
    words = m.words()
    first = next(unnamed(words), None) if words else None
    if words is not None and len(commands) > 1 and first is not None and isinstance(first.value, Known):
        commands = [one for one in commands if one.name.replace("_", "-") == str(first.value.value).replace("_", "-")]
        words = [word for word in words if word is not first]
    for function in commands:
        start_function(m, function, [], words if len(commands) == 1 else None)


def _belongs(m: Walker, decorator: Value, group: Instance) -> bool:
    return isinstance(decorator, Instance) and decorator.name in m.platform.commands and _owner(decorator) is group


def _owner(decorator: Instance) -> Value | None:
    call = decorator.call
    return call.receiver if call is not None and call.receiver is not None else decorator.owner


def option_values(m: Walker, function: Function) -> dict[str, Value]:
    """Return what option decorators (`@click.option("--bs", default=8)`) give a function's parameters: what is said, else defaults."""
    found: dict[str, Value] = {}
    options: dict[str, Option] = {}
    for decorator in function.decorators:
        call = decorator.call if isinstance(decorator, Instance) else None
        if call is None or not call.name.endswith(".option"):
            continue
        texts = [a.value.value for a in call.arguments if isinstance(a.value, Known) and isinstance(a.value.value, str)]
        flags = [part for text in texts if text.startswith("-") for part in text.split("/")]
        long = next((flag for flag in flags if flag.startswith("--")), None)
        plain = next((text for text in texts if not text.startswith("-")), None)
        name = plain or (long.lstrip("-").replace("-", "_") if long else None)
        if name is None:
            continue
        default, kind = call.keywords.get("default"), call.keywords.get("type")
        is_switch = "is_flag" in call.keywords or any("/" in text for text in texts)
        if default is not None:
            found[name] = default.value
        else:
            found[name] = Known(False, call.node) if is_switch else COMMAND_LINE
        off = [text.split("/")[1] for text in texts if "/" in text]
        on = tuple(flag for flag in flags if flag not in off)
        options[name] = Option(on, kind.value if kind is not None else None, "store_true" if is_switch else "store")
        if off:
            options[f"{name} "] = Option(tuple(off), None, "store_false")
    words = m.words() if found else None
    if words is None:
        return {name: weakened(value) for name, value in found.items()}
    base = {name: settled(value) if m.is_told_all() else weakened(value) for name, value in found.items()}
    return {**base, **{name.strip(): value for name, value in parse(words, options, found).items()}}
