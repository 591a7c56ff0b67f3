"""The first gate: does a file hold any word that some rule or dialect could be about? Most files of a repository do not."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Iterator

from mpslint.rule import Condition, Rule
from mpslint.settings.dialect import load_dialects

COMMON_METHODS = frozenset({"to", "backward"})
"""Methods that any file may call. What a rule could say of them needs a device or a package by name, and those are words."""
DEVICES = ("cuda", "mps")


@functools.lru_cache(maxsize=16)
def gate(rules: tuple[Rule, ...]) -> re.Pattern[bytes]:
    """Return a pattern that is found in the bytes of every file in which one of the rules can find something."""
    words = {word for word in _words(rules) if word}
    shortest = sorted(word for word in words if not any(other != word and other in word for other in words))
    return re.compile("|".join(map(re.escape, shortest)).encode())


def may_matter(data: bytes, rules: tuple[Rule, ...]) -> bool:
    """Return whether one of the rules can find anything in a file."""
    return gate(rules).search(data) is not None


def looks_broken(data: bytes, is_notebook: bool) -> bool:
    """Return whether a file is not what its name says: then it is read after all, so that this is said."""
    if is_notebook:
        return data.lstrip()[:1] != b"{" or data.rstrip()[-1:] != b"}"
    return b"\0" in data[:8192]


def _words(rules: Iterable[Rule]) -> Iterator[str]:
    yield from DEVICES
    for dialect in load_dialects().all:
        yield from dialect.roots
        yield from (name.split("_")[0] + "_" for name in dialect.environment)
        for pattern in dialect.calls:
            yield from (f".{method}" for method in pattern.methods if method not in COMMON_METHODS)
            yield from (_root(name) for name in pattern.names)
        for command in dialect.commands:
            yield from command.has
        for config in dialect.configs:
            yield from config.words
    for rule in rules:
        for condition in rule.when[:1]:
            yield from _words_of(condition)


def _words_of(condition: Condition) -> Iterator[str]:
    if condition.subject == "method":
        yield from (f".{name}" for name in condition.names if name not in COMMON_METHODS)
    elif condition.subject in ("call", "handler", "import"):
        yield from (_root(name) for name in condition.names)
    elif condition.subject == "environment":
        yield from (name.split("_")[0] + "_" for name in condition.names)


def _root(name: str) -> str:
    """Return the package of a qualified name; '' for a pattern that any package fits."""
    return name.split(".")[0].split("*")[0]
