"""Does a file name anything that the rules are about: a framework, a device, or a variable, command or key of theirs?

A file without any has nothing to do with PyTorch: it is not parsed, and nothing is said about it. The names come from the dialects and
the rules.
"""

from __future__ import annotations

import functools
import re
import sys
from collections.abc import Iterator

from mpslint.core.knowledge import platform_data, shipped_words
from mpslint.rule.loading import load_rules
from mpslint.rule.rule import Condition, Rule
from mpslint.rule.selection import asked_by_default
from mpslint.settings.dialects import load_dialects
from mpslint.target.requirement import PYTHON
from mpslint.target.target import MACOS

DEVICES = ("cuda", "mps")
SUPPRESSION = "mpslint"
"""What a comment that silences findings is known by, beside the beginning of their ids."""
OF_ANY_FILE = frozenset({"to", "backward", "map", "filter"})
"""Methods that any file may call; what a rule could say of them needs another of the words."""


@functools.lru_cache(maxsize=16)
def frameworks(rules: tuple[Rule, ...]) -> tuple[bytes, ...]:
    """Return words of which one stands in every file that rules have anything to say about."""
    known = shipped_words().get("frameworks")  # of all rules, which saves deriving them
    return known if known and rules in (load_rules(), asked_by_default(load_rules())) else derived_frameworks(rules)


def derived_frameworks(rules: tuple[Rule, ...]) -> tuple[bytes, ...]:
    """Return the same from the rules themselves, whatever a wheel holds."""
    found = [*DEVICES, SUPPRESSION]
    found += (name.replace("-", "_") for name in platform_data("versions")["newest"] if name not in (MACOS, PYTHON))
    found += [*platform_data("shell")["starters"], *platform_data("shell")["ends"]]
    for dialect in load_dialects().all:
        found += dialect.roots
        found += map(_variable, dialect.environment)
        for command in dialect.commands:
            found += command.known_by or map(_program, command.programs.globs)
        for config in dialect.configs:
            found += config.words
    for rule in rules:
        found += _named_by(rule.when[0])
        if rule.when[0].subject == "suppression":
            found += (one.id.rstrip("0123456789") for one in rules)
    words = set(filter(None, found))
    shortest = {word for word in words if not any(other != word and other in word for other in words)}
    return tuple(word.encode() for word in sorted(shortest, key=lambda word: (word not in ("torch", *DEVICES), word)))


def compiled_words(rules: tuple[Rule, ...]) -> dict[str, tuple[bytes, ...]]:
    """Return what a wheel holds, so that a file without any of these words loads no rules: `frameworks`, and those of `suites`."""
    suites = [word for suite in platform_data("elsewhere")["suites"] if "says" in suite for word in suite.get("words", ())]
    return {"frameworks": derived_frameworks(rules), "suites": tuple(word.encode() for word in suites)}


def names_framework(data: bytes, rules: tuple[Rule, ...]) -> bool:
    """Return whether a file names anything that the rules are about; the quickest test, on bytes as they are."""
    return any(word in data for word in frameworks(rules))


def _named_by(condition: Condition) -> Iterator[str]:
    """Yield what names the package, method or variable that a rule's first condition is about."""
    if condition.subject == "environment":
        yield from map(_variable, condition.names)
    elif condition.subject == "method":
        yield from (name for name in condition.names if name not in OF_ANY_FILE)
    elif condition.subject in ("import", "call", "handler"):
        yield from set(map(_root, condition.names)) - sys.stdlib_module_names
        yield from _in_standard_calls(condition)
    elif "." in condition.options.get("table", ""):
        file, _, key = condition.options["table"].partition(".")
        calls = [row.get("call", ()) for row in platform_data(file)[key]]
        yield from (_root(name) for names in calls for name in ([names] if isinstance(names, str) else names))


def _in_standard_calls(condition: Condition) -> Iterator[str]:
    """Yield what tells a call of the standard library from any other: a word of what it is given, else the function's own name."""
    standard = [name for name in condition.names if _root(name) in sys.stdlib_module_names]
    patterns = [str(value) for comparisons in condition.arguments.values() for op, value in comparisons if op == "matches"]
    if not patterns:
        yield from (name.rsplit(".", 1)[-1] for name in standard)
    elif standard:
        yield from (word for pattern in patterns for word in re.findall(r"[\w-]{5,}", pattern))


def _root(glob: str) -> str:
    """Return the package of a qualified name; of a pattern of any package the last name in it."""
    head, *rest = glob.split(".")
    return next((part for part in reversed(rest) if "*" not in part), max(head.split("*"), key=len)) if "*" in head else head


def _program(glob: str) -> str:
    """Return the first word of the longest piece of a command's pattern (`*python* -m accelerate.commands.launch*`)."""
    words: list[str] = re.findall(r"\w{3,}", max(glob.split("*"), key=len))
    return words[0]


def _variable(name: str) -> str:
    """Return the piece of an environment variable's name by which it is known (`PYTORCH_`)."""
    return name.split("_")[0] + "_"
