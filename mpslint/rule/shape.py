"""What a user's rule file must look like before it is read: each key of its type, each pattern one that ends.

The shipped rules are held to the same by tests. A user's may come with a repository that somebody else wrote.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from mpslint.core.finding import RuleError

if sys.version_info >= (3, 11):
    from re import _parser as parser
else:
    import sre_parse as parser

TEXT = (str,)
NUMBER = (int, float)
NAMES = (str, list)
_TYPES: Mapping[str, tuple[type, ...]] = {
    **dict.fromkeys("id name title why at severity message safety summary advice reason rewrite holds".split(), TEXT),
    **dict.fromkeys("replace bad good ok file of before is_a leads_to check behaviour versions matches".split(), TEXT),
    **dict.fromkeys(
        "by_default any_machine worsens as_one terse tried on_request remove_argument remove_statement skip_statement".split(), (bool,)
    ),
    **dict.fromkeys("known_miss unsafe any written missing direct settled trains trained chooses_device program".split(), (bool,)),
    **dict.fromkeys("setting product ratio call method environment handler import role uses asks chip runs_on".split(), NAMES),
    **dict.fromkeys("unless_guarded plan roles styles does or_calls made_by reads".split(), NAMES),
    **dict.fromkeys(("at_least", "at_most", "above", "below"), NUMBER),
    **dict.fromkeys(("examples", "sources", "positional", "outside"), (list,)),
    **dict.fromkeys(("options", "target", "set", "argument", "statement", "arguments"), (dict,)),
    "since": (str, int, float),
    "once": (bool, str),
    "certain": (bool, str, list),
    "in_loop": (bool, str),
}
MOST_COPIES = 10
r"""How often a fixed repeat may copy a group that itself repeats (`(\d{1,3}\.){3}`)."""
_LISTS_OF_TEXT = frozenset([key for key, types in _TYPES.items() if types == NAMES] + ["sources", "positional"])
_MAPPINGS = ("when", "unless", "unless_in_run", "outcomes", "fix", "examples", "contains")
"""Keys that hold a mapping, or several, with keys of their own."""
_FUNCTIONS = {"check": "find", "rewrite": "rewrite"}
_PATTERNS = ("matches", "holds")
_WORDS = {str: "text", int: "a number", float: "a number", bool: "true or false", list: "a list", dict: "a mapping"}


def check_shape(path: Path, data: Mapping[Any, Any], where: str = "rule") -> None:
    """Raise RuleError, naming the file and the key, for a value of the wrong type, a function that does not exist, or a bad pattern."""
    for key, value in data.items():
        types = _TYPES.get(key)
        if types is not None and (not isinstance(value, types) or (isinstance(value, bool) and bool not in types)):
            words = " or ".join(dict.fromkeys(_WORDS[one] for one in types))
            raise RuleError(f"{path}: {where}: `{key}` must be {words}, not {value!r:.60}")
        if key in _LISTS_OF_TEXT and isinstance(value, list) and not all(isinstance(one, str) for one in value):
            raise RuleError(f"{path}: {where}: `{key}` must be a list of texts")
        if key in _FUNCTIONS:
            _check_function(path, where, key, value)
        if key in _PATTERNS:
            for pattern in value if isinstance(value, list) else [value]:
                if problem := pattern_problem(pattern):
                    raise RuleError(f"{path}: {where}: `{key}`: the pattern {pattern!r:.60} {problem}")
        if key in _MAPPINGS or key == "arguments":
            for name, part in _parts(path, where, key, value):
                check_shape(path, part, name)


def _parts(path: Path, where: str, key: str, value: Any) -> Iterator[tuple[str, Mapping[Any, Any]]]:
    """Yield the mappings under a key, each with a name for it."""
    rows = value.values() if key == "arguments" else value if isinstance(value, list) else [value]
    for row in rows:
        if not isinstance(row, dict):
            raise RuleError(f"{path}: {where}: `{key}` must hold mappings, not {row!r:.60}")
        yield key if where == "rule" else f"{where}: {key}", row


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
