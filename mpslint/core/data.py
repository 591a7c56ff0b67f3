"""Frozen dataclasses to and from JSON, strictly: an unknown or missing key is an error that names it."""

from __future__ import annotations

import dataclasses
import functools
import json
import types
import typing
from collections.abc import Mapping
from typing import Any, TypeVar

from mpslint.core.finding import UsageError

T = TypeVar("T")


def to_data(record: Any) -> Any:
    """Return dataclasses, tuples and mappings as what JSON can hold."""
    if dataclasses.is_dataclass(record) and not isinstance(record, type):
        return {field.name: to_data(getattr(record, field.name)) for field in dataclasses.fields(record)}
    if isinstance(record, Mapping):
        return {str(key): to_data(value) for key, value in record.items()}
    if isinstance(record, (list, tuple)):
        return [to_data(value) for value in record]
    return record


def to_json(record: Any) -> str:
    """Return a record as one line of JSON, keys sorted, so that equal records give equal text."""
    return json.dumps(to_data(record), sort_keys=True)


def from_data(kind: type[T], data: Any, where: str = "") -> T:
    """Return the `kind` that `data` describes. Raises UsageError naming the key that is unknown, missing or of a wrong type."""
    if not isinstance(data, Mapping):
        raise UsageError(f"{where or kind.__name__}: expected an object with keys, got {data!r:.60}")
    hints, fields = _declared(kind)  # type: ignore[arg-type]
    for key in data:
        if key not in fields:
            raise UsageError(f"{_join(where, key)}: unknown key; known keys are {', '.join(fields)}")
    values = {}
    for name, field in fields.items():
        if name in data:
            values[name] = _convert(hints[name], data[name], _join(where, name))
        elif field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING:
            raise UsageError(f"{_join(where, name)}: this key is required")
    return kind(**values)


@functools.lru_cache(maxsize=256)
def _declared(kind: Any) -> tuple[dict[str, Any], dict[str, dataclasses.Field[Any]]]:
    """Return the types of a dataclass's fields, and the fields, by name."""
    return typing.get_type_hints(kind), {field.name: field for field in dataclasses.fields(kind)}


def _convert(hint: Any, value: Any, where: str) -> Any:
    """Return `value` as the type that a field declares."""
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Union, types.UnionType):
        if value is None and type(None) in arguments:
            return None
        return _convert(next(argument for argument in arguments if argument is not type(None)), value, where)
    if origin is typing.Literal:
        if value not in arguments:
            raise UsageError(f"{where}: {value!r} is not one of {', '.join(map(str, arguments))}")
        return value
    if origin is tuple:
        if not isinstance(value, (list, tuple)):
            raise UsageError(f"{where}: expected a list, got {value!r:.60}")
        inner = arguments[0] if arguments[-1] is Ellipsis else None
        kinds = [inner] * len(value) if inner is not None else list(arguments)
        return tuple(_convert(kind, item, f"{where}[{number}]") for number, (kind, item) in enumerate(zip(kinds, value, strict=False)))
    if dataclasses.is_dataclass(hint) and isinstance(hint, type):
        return from_data(hint, value, where)
    if origin is Mapping and isinstance(value, Mapping):
        return {key: _convert(arguments[1], item, _join(where, key)) for key, item in value.items()}
    return _plain(hint, value, where)


def _plain(hint: Any, value: Any, where: str) -> Any:
    """Return a number, text, flag or mapping, checked against the declared type."""
    kind = typing.get_origin(hint) or hint
    if kind is Any:
        return value
    if kind is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    wanted = Mapping if kind in (Mapping, dict) else kind
    if not isinstance(value, wanted) or (kind is int and isinstance(value, bool)):
        raise UsageError(f"{where}: expected {getattr(kind, '__name__', kind)}, got {value!r:.60}")
    return value


def _join(where: str, key: object) -> str:
    return f"{where}.{key}" if where else str(key)
