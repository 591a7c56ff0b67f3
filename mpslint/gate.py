"""The first gate: does a text hold any word that some rule could be about? Most files of a repository do not, nor most functions.

The words are derived from the dialects and the rules: the last name of every call they read, methods, variables, flags, devices. A
Python check names its own: one of its `WORDS` stands in every function in which it can find something, and one of its `FILE_WORDS` (where
it has them) in every such file; one that reads a table of calls has a function `words(options)`.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Iterator, Sequence

from mpslint.judge import check_module
from mpslint.knowledge import platform_data
from mpslint.rule import Condition, Rule
from mpslint.settings.dialect import CallPattern, load_dialects
from mpslint.source.document import Document, Kind

DEVICES = ("cuda", "mps")
"""What is said about a device matters only where one of these is named."""
DTYPES = ("float16", "float64")
"""What is said about a dtype by such a method matters only where one of these is named (bfloat16 is one of them)."""
COMMON_METHODS = frozenset({"to", "backward"})
"""Methods that any file may call; what a rule could say of them needs another of the words."""


@functools.lru_cache(maxsize=16)
def gate(rules: tuple[Rule, ...]) -> re.Pattern[bytes]:
    """Return a pattern that is found in the bytes of every file in which one of the rules can find something."""
    return re.compile(_any_of(_words(rules, "FILE_WORDS")).encode())


@functools.lru_cache(maxsize=16)
def function_gate(rules: tuple[Rule, ...]) -> re.Pattern[str]:
    """Return a pattern that is found in the text of every function in which one of the rules can find something."""
    return re.compile(_any_of(_words(rules, "WORDS")))


def _any_of(found: Iterable[str]) -> str:
    words = {word for word in found if word}
    shortest = sorted(word for word in words if not any(other != word and other in word for other in words))
    return "|".join(map(re.escape, shortest))


def may_matter(data: bytes, rules: tuple[Rule, ...]) -> bool:
    """Return whether one of the rules can find anything in a file."""
    return gate(rules).search(data) is not None


def is_suite(document: Document) -> bool:
    """Return whether a file is none that trains on a Mac, such as a test suite, by `suites` of `rules/platform/elsewhere.yaml`."""
    if document.kind not in (Kind.PYTHON, Kind.NOTEBOOK):
        return False
    path, text = document.path.replace("\\", "/"), document.text
    return any(
        (document.kind is Kind.PYTHON or suite.get("notebooks", False))
        and ("path" not in suite or re.search(suite["path"], path) is not None)
        and ("text" not in suite or re.search(suite["text"], text, re.MULTILINE) is not None)
        and ("uncalled" not in suite or _are_uncalled(re.findall(suite["uncalled"], text, re.MULTILINE), text))
        for suite in platform_data("elsewhere")["suites"]
    )


def _are_uncalled(functions: Sequence[str], text: str) -> bool:
    """Return whether there are functions of these names, and none of them is named where it is not defined."""
    return bool(functions) and not any(re.search(rf"(?<!def )\b{name}\b", text) for name in functions)


def looks_broken(data: bytes, is_notebook: bool) -> bool:
    """Return whether a file is not what its name says: then it is read after all, so that this is said."""
    if is_notebook:
        return data.lstrip()[:1] != b"{" or data.rstrip()[-1:] != b"}"
    return b"\0" in data[:8192]


def _words(rules: Iterable[Rule], of_checks: str) -> Iterator[str]:
    yield from DEVICES
    for dialect in load_dialects().all:
        yield from (_variable(name) for name in dialect.environment)
        yield from (f".{attribute.name}" for attribute in dialect.attributes)
        for pattern in dialect.calls:
            yield from words_of_pattern(pattern)
        for command in dialect.commands:
            yield from command.has or [literal(glob) for glob in command.globs]
        for config in dialect.configs:
            yield from config.words
    for rule in rules:
        for condition in rule.when[:1]:
            yield from words_of_condition(condition, of_checks)


def words_of_pattern(pattern: CallPattern) -> Iterator[str]:
    """Yield words of which one stands in every call that a dialect's pattern fits and a rule can care about."""
    readers = {spelling.reads for spellings in pattern.table.arguments.values() for spelling in spellings}
    if readers == {"device"} and not pattern.sets:
        yield from DEVICES
        return
    if pattern.has and not pattern.sets:
        yield from pattern.has
        return
    if "dtype" in readers and COMMON_METHODS.intersection(pattern.methods):
        yield from DTYPES
    yield from (f".{method}" for method in pattern.methods if method not in COMMON_METHODS)
    yield from (literal(name) for name in pattern.names)
    yield from (literal(text) for text in pattern.written)


def words_of_condition(condition: Condition, of_checks: str) -> Iterator[str]:
    """Yield words of which one stands wherever a rule's first condition holds; settings are the dialects' words.

    `of_checks` says which words of a Python check are meant: WORDS, or FILE_WORDS where it has them.
    """
    if condition.subject == "method":
        yield from (f".{name}" for name in condition.names if name not in COMMON_METHODS)
    elif condition.subject in ("call", "handler"):
        yield from (literal(name) for name in condition.names)
    elif condition.subject == "import":
        yield from condition.names
    elif condition.subject == "environment":
        yield from (_variable(name) for name in condition.names)
    elif condition.subject == "check":
        for name in condition.names:
            module = check_module(name)
            if hasattr(module, "words"):
                yield from map(literal, module.words(condition.options))
            else:
                yield from getattr(module, of_checks, module.WORDS)


def literal(glob: str) -> str:
    """Return the word by which a qualified name is sure to be written: its last part that is no pattern, else the longest piece of one."""
    parts = [part for part in glob.split(".") if not part.startswith("__")]
    for part in reversed(parts[1:]):
        if "*" not in part:
            return part
    return max(parts[-1].split("*"), key=len) or parts[0]


def _variable(name: str) -> str:
    return name.split("_")[0] + "_"
