"""Facts -> settings: what each call, attribute write and environment variable says in canonical terms."""

from __future__ import annotations

import ast
import fnmatch
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeVar

from mpslint.core.finding import Span
from mpslint.core.knowledge import platform_data
from mpslint.core.record import record
from mpslint.core.versions import Version
from mpslint.facts.entries import ConfigEntry
from mpslint.facts.facts import AttributeWrite, EnvironmentWrite
from mpslint.facts.joined import join_all
from mpslint.facts.values import (
    UNKNOWN,
    Argument,
    Call,
    Class,
    DictEntry,
    Function,
    Instance,
    Items,
    Known,
    OneOf,
    Symbol,
    Value,
    origin_of,
)
from mpslint.facts.values import Mapping as DictValue
from mpslint.program.walk import called_name
from mpslint.settings.dialect import ANYTHING, CallPattern, Spelling, Table
from mpslint.settings.dialects import load_dialects
from mpslint.settings.setting import ENVIRONMENT, Setting

Place = TypeVar("Place", Argument, ConfigEntry)
DEVICE_TYPES = frozenset(["cpu", "cuda", "mps", "xpu", "hpu", "npu", "mlu", "tpu", "xla", "meta", "ipu", "vulkan", "privateuseone"])
DTYPES = {
    **{name: name for name in ("float16", "float32", "float64", "bfloat16", "auto")},
    **{"half": "float16", "float": "float32", "double": "float64", "fp16": "float16", "bf16": "bfloat16", "fp32": "float32"},
    **dict.fromkeys(("float8_e4m3fn", "float8_e5m2"), "float8"),
}
GPU = re.compile(r"cuda(:\d+)?|(cuda:)?\d+(,(cuda:)?\d+)*")
"""One or several GPUs of CUDA, by name or by number."""


@record(frozen=True, eq=False)
class Translator:
    """What translation needs to know of the file and the Target."""

    versions: Mapping[str, Version]
    span_of: Callable[[ast.AST], Span]
    """The place of a node in the Document."""

    def pattern_of(self, call: Call) -> CallPattern | None:
        """Return the dialect pattern that a call fits, or None."""
        candidates = load_dialects().candidates(call.names, call.method)
        is_own = call.result is not None and call.result.cls is not None
        if is_own or call.method or not any(name for name in call.names if not name.startswith("?")):
            func = call.node.func
            if load_dialects().may_be_written(called_name(call.node) or "?"):
                candidates = (*candidates, *load_dialects().of_written(_written(func)))
        return next((pattern for pattern in candidates if _fits(pattern, call)), None)

    def settings_of(self, call: Call, pattern: CallPattern) -> list[Setting]:
        """Return everything that a call says, written or by default."""
        found = [self._said(call, pattern, name, value) for name, value in pattern.sets.items()]
        if pattern.named and call.name:
            found.append(self._said(call, pattern, pattern.named, call.name.rsplit(".", 1)[-1].lower()))
        overrides = call.result.written_slots() if call.result is not None else {}
        written = {name: Argument(value, origin_of(value)) for name, value in overrides.items()}
        arguments = _with_entries({**bound_arguments(call, pattern), **written}, pattern)
        known = {one.name for one in found}
        said = (self._setting(call, pattern, name, arguments) for name in pattern.table.settings if name not in known)
        return [*found, *(one for one in said if one is not None)]

    def _said(self, call: Call, pattern: CallPattern, name: str, value: Any) -> Setting:
        span = self.span_of(call.node)
        spelling = call.method or call.name.rsplit(".", 1)[-1]
        known = Known(value, call.node)
        return Setting(name, known, pattern.dialect, spelling, span, span, span, call, pattern, context=call.context, node=call.node)

    def _setting(self, call: Call, pattern: CallPattern, setting: str, arguments: Mapping[str, Argument]) -> Setting | None:
        """Return what a call says about one setting: the argument that decides it, else the default."""
        said = deciding(pattern.table, setting, arguments.get, lambda argument: argument.value)
        if said is not None and said[3] is not None:
            return self._written(call, pattern, *said[:3], said[3])
        default = pattern.table.default(setting, self.versions)
        if default is None:
            return None
        if said is not None:
            return self._written(call, pattern, *said[:3], Known(default.value))
        is_seldom = call.is_parsed and setting in pattern.table.seldom
        if not is_seldom and (call.is_open or (call.result is not None and call.result.fallback)):
            return Setting(setting, UNKNOWN, pattern.dialect, "", None, call=call, pattern=pattern, context=call.context)
        spelling_name = next((name for name, _ in pattern.table.spellings_of(setting)), "")
        return Setting(
            setting, Known(default.value, weak=is_seldom), pattern.dialect, spelling_name, None, None, None, call, pattern,
            context=call.context, default_versions=default.versions,
        )  # fmt: skip

    def _written(self, call: Call, pattern: CallPattern, parameter: str, spelling: Spelling, argument: Argument, value: Value) -> Setting:
        node = argument.keyword or argument.node
        span = self._place_of(node) or self.span_of(call.node)
        value_span = self._place_of(argument.node)
        origin = self._place_of(origin_of(argument.value)) or value_span
        return Setting(
            spelling.setting, value, pattern.dialect, parameter, span, value_span, origin, call, pattern, spelling, argument,
            call.context, node=node,
        )  # fmt: skip

    def _place_of(self, node: ast.AST | None) -> Span | None:
        return self.span_of(node) if node is not None and hasattr(node, "lineno") else None

    def of_attribute(self, write: AttributeWrite) -> Iterator[Setting]:
        """Yield what an attribute write says."""
        for dialect in load_dialects().all:
            for pattern in dialect.attributes:
                if write.name == pattern.name and fnmatch.fnmatchcase(write.path, pattern.path):
                    value = read_value(pattern.spelling, write.value)
                    if value is not None:
                        value_span = self.span_of(write.value_node)
                        origin = self._place_of(origin_of(write.value)) or value_span
                        yield Setting(
                            pattern.spelling.setting, value, dialect.name, f"{write.path}.{write.name}", self.span_of(write.node),
                            value_span, origin, entry=pattern.spelling, context=write.context, node=write.node,
                        )  # fmt: skip

    def of_environment(self, write: EnvironmentWrite) -> Setting | None:
        """Return what an environment variable says, or None when no dialect reads it."""
        spelling = load_dialects().environment.get(write.name)
        if spelling is None:
            return None
        value = read_value(spelling, write.value)
        span, value_span = Span(write.start, write.end), Span(write.value_start, write.value_end)
        return Setting(
            spelling.setting, value or UNKNOWN, ENVIRONMENT, write.name, span, value_span, value_span, entry=spelling,
            context=write.context, style=write.style if write.style in ("python", "dotenv", "config") else "shell",
        )  # fmt: skip


def _written(node: ast.expr) -> str:
    """Return a callee as it is written, as far as it is names and dots."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        return f"{_written(node.value)}.{node.attr}"
    return "?"


def _fits(pattern: CallPattern, call: Call) -> bool:
    arguments = bound_arguments(call, pattern)
    if pattern.has and not any(name in arguments for name in pattern.has):
        return False
    if any(name in arguments for name in pattern.lacks) or len(call.arguments) > pattern.positional_at_most:
        return False
    if pattern.under:
        names = (manager.name for manager in call.context.managers if isinstance(manager, (Instance, Symbol)))
        return any(fnmatch.fnmatchcase(name, pattern.under) for name in names)
    return True


def bound_arguments(call: Call, pattern: CallPattern) -> dict[str, Argument]:
    """Return a call's arguments by parameter name, positional ones by the table's order."""
    return {**call.inherited, **dict(zip(pattern.table.positional, call.arguments, strict=False)), **call.keywords}


def _with_entries(arguments: dict[str, Argument], pattern: CallPattern) -> dict[str, Argument]:
    """Return a call's arguments with the entries of those that are mappings of others, as `mapping.entry`."""
    for name in pattern.table.mappings:
        given = arguments[name].value if name in arguments else None
        if isinstance(given, DictValue):
            entries = {f"{name}.{key}": entry for key, entry in given.slots.items() if isinstance(entry, DictEntry)}
            arguments.update({key: Argument(entry.value, entry.node) for key, entry in entries.items()})
    return arguments


def deciding(
    table: Table, setting: str, given: Callable[[str], Place | None], value_of: Callable[[Place], Value]
) -> tuple[str, Spelling, Place, Value | None] | None:
    """Return which of the arguments, or keys, that can say a setting decides it, and what it says: the first that is known, else the
    first that isn't, else the first that says nothing (None)."""
    found: list[tuple[str, Spelling, Place, Value | None]] = []
    for name, spelling in table.spellings_of(setting):
        place = given(name)
        if place is None or (spelling.when and not is_on(given(spelling.when))):
            continue
        value = read_value(spelling, value_of(place))
        if isinstance(value, (Known, OneOf)):
            return name, spelling, place, value
        found.append((name, spelling, place, value if value is None else UNKNOWN))
    return next((one for one in found if one[3] is not None), found[0] if found else None)


def is_on(argument: Argument | ConfigEntry | None) -> bool:
    """Return whether an argument, or an entry of a configuration, is certainly true."""
    return argument is not None and isinstance(argument.value, Known) and bool(argument.value.value)


def read_value(spelling: Spelling, value: Value) -> Value | None:
    """Return an argument's value in canonical terms; None when it says nothing about the setting."""
    if isinstance(value, OneOf):
        read = [read_value(spelling, alternative) for alternative in value.values]
        said = [one for one in read if one is not None]
        return None if not said else UNKNOWN if len(said) < len(read) else join_all(said)
    if spelling.reads == "presence":
        return _presence(value)
    plain = _READERS[spelling.reads](value)
    if plain is _NOT_MINE:
        return None
    if not isinstance(plain, Known) or spelling.values is None:
        whatever = (spelling.values or {}).get(ANYTHING)
        if whatever is not None and (isinstance(value, (DictValue, Function, Class)) or (isinstance(value, Items) and value.slots)):
            return Known(whatever, origin_of(value))
        return plain if isinstance(plain, Known) else UNKNOWN
    return _translated(spelling.values, plain)


def _translated(values: Mapping[Any, Any], plain: Known) -> Value | None:
    """Return a value by the table of a spelling; a value that it does not list stands for itself."""
    same = (canonical for key, canonical in values.items() if key == plain.value and type(key) is type(plain.value))
    canonical = next(same, values.get(ANYTHING, _NOT_MINE))
    if canonical is _NOT_MINE:
        return plain
    return None if canonical is None else Known(canonical, plain.origin, plain.weak, plain.source)


_NOT_MINE: Any = object()
"""A reader's answer for a value of another kind (a dtype where a device is read), and a table's for one that it doesn't list."""


def _presence(value: Value) -> Value:
    if isinstance(value, Known):
        return Known(value.value is not None, value.origin, value.weak)
    if isinstance(value, (Function, Class, Symbol, DictValue)) or (isinstance(value, Instance) and value.name):
        return Known(True, origin_of(value))
    return UNKNOWN


def _plain(value: Value) -> Any:
    return value if isinstance(value, Known) else UNKNOWN


def _word(value: Value) -> Any:
    if isinstance(value, Known):
        return Known(value.value.lower(), value.origin, value.weak, value.source) if isinstance(value.value, str) else value
    if isinstance(value, Symbol):
        return Known(value.name.rsplit(".", 1)[-1].lower(), value.origin)
    if isinstance(value, DictValue):
        entries = {key: entry.value for key, entry in value.slots.items() if isinstance(entry, DictEntry)}
        whole = entries.get("")
        return whole if isinstance(whole, Known) else Known("dict", value.origin)
    return UNKNOWN


def _words(value: Value) -> Any:
    """Return the texts of a list as one text, with blanks between them."""
    parts = value.values() if isinstance(value, Items) and not value.open else [value]
    texts = [part.value for part in parts if isinstance(part, Known) and isinstance(part.value, str)]
    return Known(" ".join(texts), origin_of(value)) if texts else UNKNOWN


def _kind(value: Value) -> Any:
    if isinstance(value, Instance) and value.call is not None:
        name = value.name.rsplit(".", 1)[-1]
        return Known(name.lower(), origin_of(value)) if name[:1].isupper() else UNKNOWN
    return _word(value)


def _device(value: Value) -> Any:
    if isinstance(value, Known) and isinstance(value.value, str) and value.value.split(":")[0] in DEVICE_TYPES:
        return Known(value.value, value.origin, value.weak, value.source)
    return _NOT_MINE if isinstance(value, (Known, Symbol)) else UNKNOWN


def _devices(value: Value) -> Any:
    """Return how many devices there must be for a number of them, or for those of some numbers."""
    numbers: list[Any] = []
    if isinstance(value, Items) and not value.open:
        numbers = [item.value if isinstance(item, Known) else None for item in value.values()]
    elif isinstance(value, Known) and isinstance(value.value, str):
        listed = value.value.split(",")
        if len(listed) == 1 and value.value.isdigit():
            return Known(int(value.value), value.origin, value.weak)
        numbers = [int(number) if number.strip().isdigit() else None for number in listed]
    if numbers and all(type(number) is int for number in numbers):
        return Known(max(len(numbers), *(number + 1 for number in numbers)), origin_of(value), getattr(value, "weak", False))
    return _plain(value)


def _gpu(value: Value) -> Any:
    """Return `cuda:0` or `cuda:0,1` for what asks for GPUs of CUDA by name or by number (`0`, `"0,1"`, `[0, 1]`), else the word."""
    parts = value.values() if isinstance(value, Items) and not value.open else [value]
    if not parts or not all(isinstance(part, Known) for part in parts):
        return UNKNOWN
    words = [str(part.value).lower().replace(" ", "") for part in parts if isinstance(part, Known)]
    if all(GPU.fullmatch(word) for word in words):
        numbers = ",".join(words).replace("cuda:", "").replace("cuda", "0")
        return Known(f"cuda:{numbers}", origin_of(value), getattr(value, "weak", False))
    return _word(value)


def _dtype(value: Value) -> Any:
    if isinstance(value, Symbol):
        text = value.name.rsplit(".", 1)[-1]
    elif isinstance(value, Known) and isinstance(value.value, str):
        text = value.value.removeprefix("torch.")
    else:
        return _NOT_MINE if isinstance(value, Known) and value.value is None else UNKNOWN
    dtype = DTYPES.get(text)
    return Known(dtype, origin_of(value), getattr(value, "weak", False)) if dtype is not None else _NOT_MINE


def _number(value: Value) -> Any:
    if not (isinstance(value, Known) and isinstance(value.value, (str, int, float))):
        return UNKNOWN
    try:
        return Known(float(value.value), value.origin, value.weak)
    except ValueError:
        return Known(value.value, value.origin, value.weak)


def _switch(value: Value) -> Any:
    if isinstance(value, Known):
        return Known(str(value.value).lower() in ("1", "true", "yes", "y", "t", "on"), value.origin, value.weak)
    return UNKNOWN


def rows_of(value: Value | None) -> Any:
    """Return the number of rows of a data set, as `rules/platform/rows.yaml` says what picks them; UNKNOWN where nothing does."""
    table = platform_data("rows")
    while isinstance(value, Instance) and (value.call is None or value.call.method in table["keep"]) and (value.owner or value.call):
        value = value.owner if value.call is None else value.call.receiver
    call = value.call if isinstance(value, Instance) else None
    if call is None:
        return UNKNOWN
    if call.method in table["pick"]:
        given = call.keywords.get(table["pick"][call.method]) or next(iter(call.arguments), None)
        picked = given.value if given is not None else None
        rows = len(picked.values()) if isinstance(picked, Items) and not picked.open else None
    else:
        split = next((call.keywords.get(key) for name, key in table["load"].items() if name in call.names), None)
        sliced = re.fullmatch(table["slice"], str(split.value.value)) if split is not None and isinstance(split.value, Known) else None
        rows = int(sliced[1]) if sliced else None
    return UNKNOWN if rows is None else Known(rows, origin_of(call.result or UNKNOWN))


_READERS: dict[str, Callable[[Value], Any]] = {
    "plain": _plain,
    "word": _word,
    "words": _words,
    "kind": _kind,
    "device": _device,
    "devices": _devices,
    "gpu": _gpu,
    "dtype": _dtype,
    "number": _number,
    "switch": _switch,
    "rows": rows_of,
}
