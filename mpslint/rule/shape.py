"""What a user's rule file must look like before it is read: each key of its type, each pattern one that ends.

The shipped rules are held to the same by tests. A user's may come with a repository that somebody else wrote.
"""

from __future__ import annotations

import functools
import json
import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from mpslint.core.finding import RuleError
from mpslint.core.knowledge import schema_text

if sys.version_info >= (3, 11):
    from re import _parser as parser
else:
    import sre_parse as parser

_TYPES: Mapping[str, tuple[Any, str]] = {
    "string": (str, "text"), "number": ((int, float), "a number"), "boolean": (bool, "true or false"), "array": (list, "a list"),
    "object": (dict, "a mapping"), "null": (type(None), "nothing"),
}  # fmt: skip
MOST_COPIES = 10
r"""How often a fixed repeat may copy a group that itself repeats (`(\d{1,3}\.){3}`)."""
_FUNCTIONS = {"check": "find", "rewrite": "rewrite"}
_PATTERNS = ("matches", "holds")


@functools.lru_cache(maxsize=1)
def _schema() -> Mapping[str, Any]:
    """Return what editors hold rule files to."""
    return dict(json.loads(schema_text("rule")))


def check_shape(path: Path, data: Mapping[Any, Any], schema: Mapping[str, Any] | None = None, where: str = "rule") -> None:
    """Raise RuleError, naming the file and the key, for a value of the wrong type, a function that does not exist, or a bad pattern.

    The reader says which keys and words there are.
    """
    schema = schema if schema is not None else _schema()
    for key, value in data.items():
        _check_value(path, where, key, value, schema.get("properties", {}).get(key) or schema.get("additionalProperties") or {})
        if key in _FUNCTIONS:
            _check_function(path, where, key, value)
        if key in _PATTERNS:
            for pattern in value if isinstance(value, list) else [value]:
                if problem := pattern_problem(pattern):
                    raise RuleError(f"{path}: {where}: `{key}`: the pattern {pattern!r:.60} {problem}")


def _check_value(path: Path, where: str, key: Any, value: Any, schema: Mapping[str, Any]) -> None:
    forms = list(_forms(schema))
    form = next((one for name, one in forms if isinstance(value, _TYPES[name][0]) and isinstance(value, bool) is (name == "boolean")), {})
    if forms and not form:
        words = " or ".join(dict.fromkeys(_TYPES[name][1] for name, _ in forms))
        raise RuleError(f"{path}: {where}: `{key}` must be {words}, not {value!r:.60}")
    for one in value if isinstance(value, list) and "items" in form else ():
        _check_value(path, where, key, one, form["items"])
    if isinstance(value, dict) and form:
        check_shape(path, value, form, key if where == "rule" else f"{where}: {key}")


def _forms(schema: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield each type that a value may have, and what is asked of one of that type; nothing where it may be anything."""
    schema = _schema()["definitions"][schema["$ref"].rpartition("/")[2]] if "$ref" in schema else schema
    for one in schema.get("anyOf", ()) if "type" not in schema else ():
        yield from _forms(one)
    named = schema.get("type", ["boolean" if isinstance(word, bool) else "string" for word in schema.get("enum", ())])
    yield from ((name, schema) for name in ([named] if isinstance(named, str) else named))


def _check_function(path: Path, where: str, key: str, name: str) -> None:
    import importlib

    try:
        module = importlib.import_module(f"mpslint.checks.{name}") if re.fullmatch(r"[a-z]\w*", name) else None
    except ModuleNotFoundError:
        module = None
    if module is None or not callable(getattr(module, _FUNCTIONS[key], None)):
        raise RuleError(f"{path}: {where}: `{key}`: mpslint has no {key} {name!r}")


def pattern_problem(pattern: str) -> str:
    """Return what is wrong with a regular expression, '' for nothing.

    A repeat inside of a repeat, and alternatives inside of one, can take time that doubles with each character.
    """
    try:
        re.compile(pattern)
        parsed = parser.parse(pattern)
    except (re.error, OverflowError, RecursionError) as error:
        return f"is no regular expression: {error}"
    return "may take for ever: it repeats a group that itself repeats or has alternatives" if _explodes(parsed, False) else ""


def _explodes(items: Any, is_repeated: bool) -> bool:
    for operator, argument in items:
        name = str(operator)
        if name in ("MAX_REPEAT", "MIN_REPEAT"):
            low, high, body = argument
            if (is_repeated and low != high) or _explodes(body, is_repeated or high > (1 if low != high else MOST_COPIES)):
                return True
        elif name == "BRANCH":
            if is_repeated or any(_explodes(branch, False) for branch in argument[1]):
                return True
        elif name in ("SUBPATTERN", "ASSERT", "ASSERT_NOT", "ATOMIC_GROUP"):
            if _explodes(argument[-1] if name != "ATOMIC_GROUP" else argument, is_repeated):
                return True
        elif name == "POSSESSIVE_REPEAT" and _explodes(argument[2], False):
            return True
    return False
