"""The first gate: does a text hold any word that some rule could be about? Most files of a repository do not, nor most functions.

It asks twice. First for the name of a framework, a device, or a variable, command or key of theirs: a text without any has nothing to do
with PyTorch, and nothing is said about it. Then for the words of the rules themselves, derived from the dialects and the rules: the last
name of every call they read, methods, variables, flags. A Python check names its own in its GATE (`mpslint.rule.check`).
"""

from __future__ import annotations

import functools
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from mpslint.core.finding import Span
from mpslint.core.knowledge import platform_data, shipped_words
from mpslint.core.record import record
from mpslint.rule.check import Gate, gate_of, is_command
from mpslint.rule.loading import load_rules
from mpslint.rule.rule import Condition, Rule
from mpslint.rule.selection import asked_by_default
from mpslint.settings.dialect import CallPattern
from mpslint.settings.dialects import load_dialects
from mpslint.source.document import Document, Kind
from mpslint.source.words import Words, from_parts, words_of

DEVICES = ("cuda", "mps")
"""What is said about a device matters only where one of these is named."""
DTYPES = ("float16", "float64")
"""What is said about a dtype by such a method matters only where one of these is named (bfloat16 is one of them)."""
COMMON_METHODS = frozenset({"to", "backward"})
"""Methods that any file may call; what a rule could say of them needs another of the words."""
OF_DEVICES = frozenset({"type"})
"""Methods and functions that any file calls; a rule speaks of them only where one of the DEVICES is named too."""
SUPPRESSION = ("mpslint",)
"""What a comment that silences findings is known by, beside the beginning of their ids."""

Word = tuple[str, bool]
"""A word, and whether it is a name that stands by itself (`Trainer`) rather than a piece of a text (`cuda`)."""


@functools.lru_cache(maxsize=16)
def frameworks(rules: tuple[Rule, ...]) -> tuple[bytes, ...]:
    """Return words of which one stands in every file that rules have anything to say about."""
    known: tuple[bytes, ...] | None = shipped("frameworks", rules)
    return derived_frameworks(rules) if known is None else known


def shipped(name: str, rules: tuple[Rule, ...]) -> Any:
    """Return what the wheel holds for all of its own rules, which saves deriving it; None for other rules, and in a checkout."""
    known = shipped_words()
    return known[name] if known and rules in (load_rules(), asked_by_default(load_rules())) else None


def derived_frameworks(rules: tuple[Rule, ...]) -> tuple[bytes, ...]:
    """Return the same from the rules themselves, whatever a wheel holds."""
    found = [*DEVICES, *SUPPRESSION]
    for dialect in load_dialects().all:
        found += dialect.roots
        found += (variable_word(name) for name in dialect.environment)
        for command in dialect.commands:
            found += command.known_by or map(_program, command.programs.globs)
        for config in dialect.configs:
            found += config.words
    for rule in rules:
        found += _frameworks_of(rule.when[0])
        if rule.when[0].subject == "suppression":
            found += (one.id.rstrip("0123456789") for one in rules)
    shortest = {word for word in found if word and not any(other != word and other in word for other in found if other)}
    return tuple(word.encode() for word in sorted(shortest, key=lambda word: (word not in ("torch", *DEVICES), word)))


def _frameworks_of(condition: Condition) -> Iterator[str]:
    """Yield what names the package, method or variable that a rule's first condition is about."""
    if condition.subject == "environment":
        yield from map(variable_word, condition.names)
    elif condition.subject == "method":
        yield from (name for name in condition.names if name not in COMMON_METHODS)
    elif condition.subject in ("import", "call", "handler"):
        yield from set(map(_root, condition.names)) - sys.stdlib_module_names
        yield from _words_in_standard_calls(condition)
    elif condition.subject == "check":
        gates = map(gate_of, condition.names)
        for word in (word for gate in gates if gate.names is not None for word in gate.names(condition.options)):
            if word not in OF_DEVICES:
                yield _root(word) if "." in word else variable_word(word) if word.isupper() else word


def _words_in_standard_calls(condition: Condition) -> Iterator[str]:
    """Yield what tells a call of the standard library from any other: a word of what it is given, else the function's own name."""
    standard = [name for name in condition.names if _root(name) in sys.stdlib_module_names]
    patterns = [str(value) for comparisons in condition.arguments.values() for op, value in comparisons if op == "matches"]
    if not patterns:
        yield from (name.rsplit(".", 1)[-1] for name in standard)
    elif standard:
        yield from (word for pattern in patterns for word in re.findall(r"[\w-]{5,}", pattern))


def _root(glob: str) -> str:
    root = glob.split(".")[0]
    return literal(glob) if "*" in root else root


def _program(glob: str) -> str:
    """Return the first word of the longest piece of a command's pattern (`*python* -m accelerate.commands.launch*`)."""
    words: list[str] = re.findall(r"\w{3,}", max(glob.split("*"), key=len))
    return words[0]


@functools.lru_cache(maxsize=16)
def file_words(rules: tuple[Rule, ...]) -> Words:
    """Return words of which one stands in every file in which one of the rules can find something."""
    known = shipped("file", rules)
    return as_words(derived_words(rules, of_files=True)) if known is None else from_parts(*known)


@functools.lru_cache(maxsize=16)
def function_words(rules: tuple[Rule, ...]) -> Words:
    """Return words of which one stands in every function in which one of the rules can find something."""
    known = shipped("function", rules)
    return as_words(derived_words(rules)) if known is None else from_parts(*known)


def as_words(found: Iterable[Word]) -> Words:
    """Return words and pieces as what is looked for all at once."""
    words = set(found)
    return words_of((text for text, is_name in words if is_name), (text for text, is_name in words if not is_name))


def names_framework(data: bytes, rules: tuple[Rule, ...]) -> bool:
    """Return whether a file names anything that the rules are about; the quickest test, on bytes as they are."""
    return any(word in data for word in frameworks(rules))


def may_matter(text: str, rules: tuple[Rule, ...], identifiers: frozenset[str] | None = None) -> bool:
    """Return whether one of the rules can find anything in a text (of which `identifiers` are the identifiers)."""
    return names_framework(text.encode("utf-8", "surrogatepass"), rules) and file_words(rules).are_in(text, identifiers)


@record(frozen=True)
class Suite:
    """Why a file, or the job that it starts, doesn't train on a Mac, and the place that tells so."""

    span: Span
    says: str
    """What a report says of it; '' for nothing."""
    is_judged: bool
    """Whether rules are asked about the file all the same: only what it starts runs elsewhere."""


def is_suite(document: Document) -> bool:
    """Return whether a file is none that trains on a Mac, such as a test suite."""
    return (suite := suite_of(document)) is not None and not suite.is_judged


def suite_of(document: Document) -> Suite | None:
    """Return what tells that a file doesn't train on a Mac, by `suites` of `rules/platform/elsewhere.yaml`; None for nothing."""
    kind = {Kind.PYTHON: "", Kind.NOTEBOOK: "notebooks"}.get(document.kind, "configs")
    path, text = document.path.replace("\\", "/"), document.text
    for suite in platform_data("elsewhere")["suites"]:
        if kind and not suite.get(kind, False):
            continue
        if "words" in suite and not any(map(document.holds, suite["words"])):
            continue
        if "path" in suite and re.search(suite["path"], path) is None:
            continue
        found = re.search(suite.get("text", ""), text, re.MULTILINE)
        if found is None or ("uncalled" in suite and not _are_uncalled(re.findall(suite["uncalled"], text, re.MULTILINE), text)):
            continue
        return Suite(Span(*found.span()), suite.get("says", ""), suite.get("judged", False))
    return None


def _are_uncalled(functions: Sequence[str], text: str) -> bool:
    """Return whether there are functions of these names, and none of them is named where it is not defined."""
    return bool(functions) and not any(re.search(rf"(?<!def )\b{name}\b", text) for name in functions)


def derived_words(rules: Iterable[Rule], of_files: bool = False) -> Iterator[Word]:
    """Yield the words of rules and dialects; of a Python check those of its functions, or of its files where it has such."""
    yield from pieces_of(DEVICES)
    for dialect in load_dialects().all:
        yield from pieces_of(map(variable_word, dialect.environment))
        yield from ((attribute.name, True) for attribute in dialect.attributes)
        for pattern in dialect.calls:
            yield from words_of_pattern(pattern)
        for command in dialect.commands:
            yield from pieces_of(command.known_by or [literal(glob) for glob in command.programs.globs])
        for config in dialect.configs:
            yield from pieces_of(config.words)
    for rule in rules:
        for condition in rule.when[:1]:
            yield from (word for word in words_of_condition(condition, of_files) if word[0] not in OF_DEVICES)
            if condition.subject == "suppression":
                yield from pieces_of([*SUPPRESSION, *(one.id.rstrip("0123456789") for one in rules)])


def pieces_of(words: Iterable[str]) -> Iterator[Word]:
    """Yield words that may stand in longer ones."""
    return ((word, False) for word in words)


def words_of_pattern(pattern: CallPattern) -> Iterator[Word]:
    """Yield words of which one stands in every call that a dialect's pattern fits and a rule can care about."""
    readers = {spelling.reads for spellings in pattern.table.arguments.values() for spelling in spellings}
    if readers == {"device"} and not pattern.sets:
        yield from pieces_of(DEVICES)
        return
    if pattern.has and not pattern.sets:
        yield from ((name, True) for name in pattern.has)
        return
    if "dtype" in readers and COMMON_METHODS.intersection(pattern.methods):
        yield from pieces_of(DTYPES)
    yield from ((method, True) for method in pattern.methods if method not in COMMON_METHODS)
    yield from map(word_of, pattern.names)
    yield from pieces_of(map(literal, pattern.written))


def words_of_condition(condition: Condition, of_files: bool) -> Iterator[Word]:
    """Yield words of which one stands wherever a rule's first condition holds; settings are the dialects' words."""
    if condition.subject == "method":
        yield from ((name, True) for name in condition.names if name not in COMMON_METHODS)
    elif condition.subject in ("call", "handler"):
        yield from map(word_of, condition.names)
    elif condition.subject == "import":
        yield from pieces_of(condition.names)
    elif condition.subject == "environment":
        yield from pieces_of(map(variable_word, condition.names))
    elif condition.subject == "event":
        yield from pieces_of(words_of_events(condition.names) or DEVICES)
    elif condition.subject == "check":
        for gate in map(gate_of, condition.names):
            yield from words_of_check(gate, condition, of_files)


def words_of_events(names: Iterable[str]) -> tuple[str, ...]:
    """Return the words of which one stands wherever some events happen that don't need the name of the GPU; none for others."""
    return tuple(word for name in names for word in platform_data("events")[name].get("words", ()))


def words_of_check(gate: Gate, condition: Condition, of_files: bool = False) -> Iterator[Word]:
    """Yield the words that a Python check names for a condition: those of functions, or of files where it has such and they are meant."""
    if gate.names is None:
        yield from pieces_of((of_files and gate.file_words) or gate.words)
        return
    for word in gate.names(condition.options):
        if is_command(word):
            yield word, False
        else:
            yield word_of(word) if "." in word or not word.isupper() else (variable_word(word), False)


def word_of(glob: str) -> Word:
    """Return the word by which a qualified name is sure to be written."""
    word = literal(glob)
    return word, word in glob.split(".")


def literal(glob: str) -> str:
    """Return the text by which a qualified name is sure to be written: its last part that is no pattern, else the longest piece of one."""
    parts = [part for part in glob.split(".") if not part.startswith("__")]
    for part in reversed(parts[1:]):
        if "*" not in part:
            return part
    return max(parts[-1].split("*"), key=len) or parts[0]


def variable_word(name: str) -> str:
    """Return the piece of an environment variable's name by which it is known (`PYTORCH_`)."""
    return name.split("_")[0] + "_"
