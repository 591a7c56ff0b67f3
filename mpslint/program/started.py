"""What the words that a program is started with say: options as parsers take them, and as programs without a parser do."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping, Sequence

from mpslint.core.record import record
from mpslint.facts.values import COMMAND_LINE, Argument, Class, Function, Items, Known, Symbol, Unknown, Value

CONVERTERS: dict[str, Callable[[str], object]] = {"builtins.int": int, "builtins.float": float, "builtins.str": str}
STORED = {"store_true": True, "store_false": False}
COLLECTING = ("append", "extend")
BOTH_WAYS = "argparse.BooleanOptionalAction"
"""The action of an option that has a `--no-` form too."""


@record(frozen=True, slots=True, eq=False)
class Option:
    """An option of a parser, or a value without a name."""

    flags: tuple[str, ...]
    """As they are written, with dashes; none for a value without a name."""
    kind: Value | None = None
    """What its text is converted by."""
    action: str = "store"
    count: str | int | None = None
    """How many words it takes (`nargs`); None for one."""
    constant: Value = COMMAND_LINE
    """What it is without a value."""


def parse(words: Sequence[Argument], options: Mapping[str, Option], defaults: Mapping[str, Value]) -> dict[str, Value]:
    """Return the values that some words give to the options of a parser, by their destination."""
    by_flag = {flag: name for name, option in options.items() for flag in option.flags}
    unnamed = [name for name, option in options.items() if not option.flags]
    found: dict[str, Value] = {}
    index, is_unread = 0, False
    while index < len(words):
        word, index = words[index], index + 1
        text = _text(word)
        if text is None or text == "--":
            continue
        if not _is_flag(text):
            if unnamed and not is_unread:
                option, name = options[unnamed[0]], unnamed.pop(0)
                taken = [word, *_values(words[index:], option.count)[1:]] if option.count is not None else [word]
                taken = [word, *_run(words[index:])] if option.count in ("*", "+") else taken
                index += len(taken) - 1
                found[name] = _taken(option, defaults.get(name), taken[0], taken)
            continue
        flag, equals, inline = text.partition("=")
        flag = _meant(flag, by_flag)
        if flag not in by_flag and not text.startswith("--") and text[:2] in by_flag:
            flag, equals, inline = text[:2], "=", text[2:].removeprefix("=")
        is_unread = flag not in by_flag
        if is_unread:
            is_unread = not equals
            continue
        option, name = options[by_flag[flag]], by_flag[flag]
        if option.action != "store":
            index += len(_values(words[index:], option.count)) if option.action in COLLECTING and not equals else 0
            found[name] = _switched(option, flag, word)
        elif equals:
            found[name] = _taken(option, defaults.get(name), word, [Argument(Known(inline), word.node)])
        else:
            taken = _values(words[index:], option.count)
            index += len(taken)
            found[name] = _taken(option, defaults.get(name), word, taken)
    return found


def _text(word: Argument) -> str | None:
    return str(word.value.value) if isinstance(word.value, Known) else None


def _is_flag(text: str) -> bool:
    return len(text) > 1 and text[0] == "-" and not text[1].isdigit() and text[1] != "."


def _meant(flag: str, known: Mapping[str, str]) -> str:
    """Return the flag that a beginning of one means, where only one begins so."""
    if flag in known or not flag.startswith("--"):
        return flag
    starting = [one for one in known if one.startswith(flag)]
    return starting[0] if len(starting) == 1 else flag


def _run(words: Sequence[Argument]) -> list[Argument]:
    """Return the words up to the next flag."""
    end = next((index for index, word in enumerate(words) if (text := _text(word)) is not None and _is_flag(text)), len(words))
    return list(words[:end])


def _values(words: Sequence[Argument], count: str | int | None) -> list[Argument]:
    run = _run(words)
    return run if count in ("*", "+") else run[: count if isinstance(count, int) else 1]


def _switched(option: Option, flag: str, word: Argument) -> Value:
    if option.action in STORED:
        return Known(STORED[option.action], word.node)
    if option.action == BOTH_WAYS:
        return Known(not flag.startswith("--no-"), word.node)
    constant = option.constant
    return Known(constant.value, word.node) if option.action == "store_const" and isinstance(constant, Known) else COMMAND_LINE


def _taken(option: Option, default: Value | None, word: Argument, values: Sequence[Argument]) -> Value:
    """Return what an option is with the words that it takes."""
    if option.count not in (None, "?"):
        return Items("list", {index: converted(one, option.kind, None, one.node) for index, one in enumerate(values)}, word.node)
    if not values:
        constant = option.constant
        if isinstance(constant, Known):
            return Known(constant.value, word.node)
        return Known(not (isinstance(default, Known) and default.value is True), word.node)
    return converted(values[0], option.kind, default, spanning(word.node, values[0].node))


def converted(word: Argument, kind: Value | None, default: Value | None, node: ast.AST | None) -> Value:
    """Return a word as a value of the type that an option has."""
    value = word.value
    if not isinstance(value, Known) or isinstance(kind, Unknown):
        return COMMAND_LINE
    text = str(value.value)
    if isinstance(kind, Symbol) and kind.name in CONVERTERS:
        try:
            return Known(CONVERTERS[kind.name](text), node, value.weak)
        except ValueError:
            return COMMAND_LINE
    if isinstance(kind, (Symbol, Function, Class)) or text.lower() in ("true", "false"):
        return as_written(text, node, value.weak)
    return Known(like(default, text), node, value.weak)


def as_written(text: str, node: ast.AST | None, is_weak: bool = False) -> Known:
    """Return what a text says: a number, true or false, else the text."""
    if text.lower() in ("true", "false"):
        return Known(text.lower() == "true", node, is_weak)
    for convert in (int, float):
        try:
            return Known(convert(text), node, is_weak)
        except ValueError:
            continue
    return Known(None if text in ("None", "null") else text, node, is_weak)


def like(default: Value | None, text: str) -> object:
    """Return an option's text as the type that its default has."""
    for convert in (int, float):
        if isinstance(default, Known) and isinstance(default.value, convert) and not isinstance(default.value, bool):
            try:
                return convert(text)
            except ValueError:
                return text
    return text


def spanning(first: ast.AST | None, last: ast.AST | None) -> ast.AST | None:
    """Return a node from the beginning of one to the end of another; the first one where the other stands before it."""
    start, end = _place(first), _place(last)
    if start is None or end is None or first is last or end[:2] < start[:2]:
        return first
    node = ast.Constant(None)
    node.lineno, node.col_offset, node.end_lineno, node.end_col_offset = *start[:2], *end[2:]
    return node


def _place(node: ast.AST | None) -> tuple[int, int, int, int] | None:
    if node is None or not hasattr(node, "lineno"):
        return None
    return node.lineno, node.col_offset, node.end_lineno, node.end_col_offset  # type: ignore[attr-defined]


def unnamed(words: Sequence[Argument]) -> Iterator[Argument]:
    """Yield the words before the first flag: values without a name."""
    yield from _run(words)


def named(words: Sequence[Argument]) -> Iterator[tuple[str, Value]]:
    """Yield the name and the value of each `--name value`, `--name=value` and `--name`, for what takes any name without saying which.

    Names have underscores in place of dashes; a value is what its text says; `--no_name` is given as it is.
    """
    index = 0
    while index < len(words):
        word, index = words[index], index + 1
        text = _text(word)
        if text is None or not text.startswith("-") or not _is_flag(text):
            continue
        flag, equals, inline = text.lstrip("-").partition("=")
        name = flag.replace("-", "_")
        if equals:
            value = word.value
            yield name, as_written(inline, word.node, isinstance(value, Known) and value.weak)
            continue
        values = _run(words[index:])
        index += len(values)
        while len(values) > 1 and not isinstance(values[-1].value, Known):  # `"$@"`: other options, if anything
            values.pop()
        if not values:
            yield name, Known(True, word.node)
        elif len(values) > 1:
            yield name, Items("list", dict(enumerate(_written(one, one.node) for one in values)), word.node)
        else:
            yield name, _written(values[0], spanning(word.node, values[0].node))


def _written(word: Argument, node: ast.AST | None) -> Value:
    value = word.value
    return as_written(str(value.value), node, value.weak) if isinstance(value, Known) else COMMAND_LINE
