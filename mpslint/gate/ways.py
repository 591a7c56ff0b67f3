"""The ways in which a rule can come about: for each, groups of words, one of each of which stands in the file.

They come from the rule's conditions and the dialects, so a rule says nothing about them. A Python check names its own in its GATE.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from mpslint.core.knowledge import platform_data
from mpslint.core.record import record
from mpslint.gate.gate import SUPPRESSION, Word, literal, pieces_of, word_of, words_of_check, words_of_events
from mpslint.program.platform import load_platform
from mpslint.rule.check import gate_of
from mpslint.rule.comparisons import compare_all, default_holds
from mpslint.rule.rule import Condition, Rule
from mpslint.settings.batches import OWN_ROLES, OWN_SETTINGS, makes_batches
from mpslint.settings.derived import DERIVED_FROM, DERIVED_FROM_ROLES
from mpslint.settings.dialect import CallPattern, Dialect
from mpslint.settings.dialects import load_dialects
from mpslint.settings.roles import load_roles
from mpslint.settings.translate import DEVICE_TYPES
from mpslint.source.words import IN_CELLS, RoleWords, found_by, is_exact, parameter, quoted

Group = frozenset[Word]
"""Words of which one has to be there."""
ANYWHERE: Word = ("", True)
"""Marks a group that may also be met by what Python does not run."""
CELLS: Word = (IN_CELLS, True)
"""Is met by every notebook, and by a script with the lines of one."""
_PIECES = re.compile(r"\w+(\|\w+)*")
"""A pattern that is nothing but pieces of names."""
LOST = ("lost",)
"""How a variable is set that only a shell line of a notebook sets."""


def ways_of(rule: Rule, rules: Sequence[Rule] = (), is_code: bool = False) -> Iterator[tuple[Group, ...]]:
    """Yield the groups that a rule needs, for each way in which it can come about; with none, it has to be asked about every file.

    `rules` are all that are asked; `is_code` says that the text is Python alone, without commands.
    """
    asked = {name for condition in rule.when for name in condition.names if condition.subject in ("setting", "product", "ratio")}
    for role in ("", *OWN_ROLES) if asked.intersection(OWN_SETTINGS) else ("",):
        yield from _ways_of(rule, _ConditionReader(tuple(rules), is_code, role))


def _ways_of(rule: Rule, reader: _ConditionReader) -> Iterator[tuple[Group, ...]]:
    first, *rest = rule.when
    groups = [*reader.of_condition(first), *(reader.of_own_batches() if reader.own else ())]
    runs = load_roles().runs
    if first.plan and {*runs.values(), "loop"}.issuperset(first.plan):
        roles = [role for role, kind in runs.items() if kind in first.plan]
        groups.append(frozenset([*reader.of_roles(roles), *([("backward", True)] if "loop" in first.plan else ())]))
    for condition in rest:
        if not condition.missing:
            groups += reader.of_condition(condition)
    ways = list(reader.ways_of_check(first)) if first.subject == "check" else []
    yield from ((*groups, *way) for way in ways or [()])


@record(frozen=True)
class _ConditionReader:
    """Reads conditions for the words that have to stand where they hold."""

    rules: tuple[Rule, ...]
    is_code: bool
    own: str = ""
    """The role of the calls by which a program makes its batches itself; '' for all other programs."""

    def of_own_batches(self) -> Iterator[Group]:
        """Yield what a program needs that makes its batches itself: what cuts them, and a model that they are for."""
        yield frozenset(self.of_roles([self.own]))
        methods = "|".join(method for pattern in _patterns() if pattern.role == self.own for method in pattern.methods)
        yield frozenset([(found_by(rf"\.(?:{methods})\s*{OWN_ROLES[self.own]}" if methods else OWN_ROLES[self.own]), False)])
        yield frozenset([(found_by(makes_batches()), False)])

    def of_condition(self, condition: Condition) -> Iterator[Group]:
        """Yield the groups that one condition needs."""
        subject, names = condition.subject, condition.names
        if subject == "setting":
            yield from self._of_setting(condition)
        elif subject in ("product", "ratio"):
            for name in names:
                spellings = list(self._spellings(name, None))
                yield frozenset(word for called, _ in spellings for word in called)
                yield frozenset(word for _, written in spellings for word in written)
        elif subject in ("call", "handler"):
            yield frozenset(map(word_of, names))
            yield from _of_arguments(condition)
        elif subject == "method":
            yield frozenset((name, True) for name in names)
            yield from _of_arguments(condition)
        elif subject == "import":
            yield frozenset((name.rsplit(".", 1)[-1], True) for name in names)
        elif subject == "program" and names[0].lower() == "true":
            yield frozenset([*self.of_roles(load_roles().trains), ("backward", True), ("__main__", True), CELLS])
        elif subject == "environment":
            yield frozenset(pieces_of(map(literal, names)))
            if condition.styles == LOST:
                yield frozenset([CELLS])
        elif subject == "trains" and names[0].lower() == "true":
            yield frozenset([*self.of_roles(load_roles().trains), ("backward", True)])
        elif subject == "chooses_device" and names[0].lower() == "true":
            yield frozenset(self.of_roles(load_roles().choose_device))
        elif subject == "role":
            yield frozenset(self.of_roles(names))
        elif subject == "runs_on" and self.is_code:
            yield frozenset([*self._of_devices(names, lambda value: value in names), *self.of_roles(load_roles().choose_device)])
        elif subject == "event" and (words := words_of_events(names)):
            yield frozenset(pieces_of(words))
        elif subject == "event":
            gpu = platform_data("tensors")["gpu"]
            yield frozenset([*self._of_devices([gpu], lambda value: value == gpu), *self.of_roles(load_roles().choose_device)])
        elif subject == "mentions" and all(map(_PIECES.fullmatch, names)):
            yield frozenset([*pieces_of(piece for name in names for piece in name.split("|")), ANYWHERE])
        elif subject == "suppression":
            yield frozenset([*pieces_of([*SUPPRESSION, *(one.id[:-2] for one in self.rules)]), ANYWHERE])
        elif subject == "check":
            yield from self._of_check(condition)

    def _of_setting(self, condition: Condition) -> Iterator[Group]:
        """Yield the words of what can say one of some settings as asked, and those of its argument; and a device that has to be named."""
        spellings = [one for name in condition.names for one in self._spellings(name, condition)]
        yield frozenset(word for called, _ in spellings for word in called)
        methods = ((name, True) for name in condition.or_calls)
        yield frozenset([*methods, *(word for _, written in spellings for word in written)])
        yield from self._of_packages(condition)
        kinds = [kind for op, value in condition.comparisons if op in ("is", "matches", "may_be") for kind in _devices_in(value)]
        if kinds and all(map(_reads_devices, condition.names)):
            yield frozenset(self._of_devices(kinds, lambda value: compare_all((value,), condition.comparisons), condition.names))

    def _of_packages(self, condition: Condition) -> Iterator[Group]:
        """Yield the packages of which one can say some settings, where only patterns do that would fit any call (`package.*.train`)."""
        found: set[Word] = set()
        for name in condition.names:
            if name in DERIVED_FROM or name in DERIVED_FROM_ROLES:
                return
            for dialect in load_dialects().all:
                for pattern in dialect.calls:
                    if _says(pattern, name) and (not condition.roles or pattern.role in condition.roles):
                        packages = _packages_of(pattern)
                        if not packages:
                            return
                        found |= packages
                if any(one.spelling.setting == name for one in dialect.attributes) or any(
                    one.setting == name for one in dialect.environment.values()
                ):
                    return
                for pattern, words in self._elsewhere(dialect):
                    found |= words if _says(pattern, name) else frozenset()
        if found:
            yield frozenset(found)

    def _of_devices(self, kinds: Iterable[str], holds: Callable[[Any], bool], settings: Sequence[str] = ("device.name",)) -> Iterator[Word]:
        """Yield the words of what names a device: a string of a program, a command, a call that is for one device, an answer."""
        kinds = tuple(kinds)
        yield from pieces_of(map(quoted, kinds) if self.is_code else kinds)
        premises = load_platform().premises
        yield from pieces_of(parameter(name) for name, value in premises["names"].items() if value in kinds)
        yield from pieces_of(
            found_by(rf":\s*(?:\w+\.)?{name.rpartition('.')[2]}\b") for name, value in premises["types"].items() if value in kinds
        )
        for pattern in _patterns():
            if any(name in pattern.sets and holds(pattern.sets[name]) for name in settings):
                yield from pieces_of(f".{method}(" for method in pattern.methods)
                yield from (part_of_device(name) or word_of(name) for name in pattern.names)
                yield from pieces_of(map(literal, pattern.written))
        yield from _answers(holds)

    def _of_check(self, condition: Condition) -> Iterator[Group]:
        """Yield the words that Python checks name: one of a function, of a file, and of the calls in a role, where all have them."""
        gates = [gate_of(name) for name in condition.names]
        yield frozenset(word for gate in gates for word in words_of_check(gate, condition))
        if all(gate.file_words for gate in gates):
            yield frozenset(pieces_of(word for gate in gates for word in gate.file_words))
        if all(gate.roles for gate in gates):
            yield frozenset(self.of_roles([role for gate in gates for role in gate.roles]))

    def ways_of_check(self, condition: Condition) -> Iterator[tuple[Group, ...]]:
        """Yield for each kind of thing that a Python check finds the calls that it finds it in, and the words that they hold."""
        for gate in map(gate_of, condition.names):
            for way in gate.ways_for(condition.options):
                yield tuple(frozenset(self._of_words(group)) for group in way)

    def _of_words(self, words: Iterable[str]) -> Iterator[Word]:
        """Yield words by which a name is known, and for a role those of the calls in it."""
        for word in words:
            if isinstance(word, RoleWords):
                yield from self.of_roles([word])
            elif is_exact(word):
                yield word, False
            else:
                yield word_of(word)

    def of_roles(self, roles: Iterable[str]) -> Iterator[Word]:
        """Yield the words of everything that plays one of some roles."""
        wanted = frozenset(roles)
        for dialect in load_dialects().all:
            for pattern in dialect.calls:
                if pattern.role in wanted:
                    yield from _words_of(pattern)
            for pattern, words in self._elsewhere(dialect):
                if pattern.role in wanted:
                    yield from words

    def _elsewhere(self, dialect: Dialect) -> Iterator[tuple[CallPattern, Group]]:
        """Yield as what call each command and configuration file is read, and the words by which it is known."""
        if not self.is_code:
            for command in dialect.commands:
                yield command.call, frozenset(pieces_of(command.known_by or map(literal, command.programs.globs)))
            for config in dialect.configs:
                yield config.call, frozenset(pieces_of(config.words))

    def _spellings(self, name: str, condition: Condition | None) -> Iterator[tuple[Group, Group]]:
        """Yield for everything that can say a setting as asked (None: in any way) the words of what says it, and of its argument."""
        for base in DERIVED_FROM.get(name, ()):
            yield from self._spellings(base, None)
        for role in DERIVED_FROM_ROLES.get(name, ()):
            if role in OWN_ROLES and role != self.own:
                continue
            words = frozenset(self.of_roles([role]))
            yield words, words
        roles = condition.roles if condition is not None else ()
        for dialect in load_dialects().all:
            for pattern in dialect.calls:
                if not roles or pattern.role in roles:
                    yield from _of_pattern(name, pattern, condition)
            for attribute in dialect.attributes:
                if attribute.spelling.setting == name and (not roles or "attribute" in roles):
                    yield frozenset([(attribute.name, True)]), frozenset([(attribute.name, True)])
            for variable, spelling in dialect.environment.items():
                if spelling.setting == name and (not roles or "environment" in roles):
                    yield frozenset([(variable, False)]), frozenset([(variable, False)])
            for pattern, words in self._elsewhere(dialect):
                if _says(pattern, name):
                    yield words, words


def _of_arguments(condition: Condition) -> Iterator[Group]:
    """Yield the arguments that a call has to be given by name."""
    for name in condition.named_arguments:
        yield frozenset([(name, True)])


@functools.lru_cache(maxsize=4096)
def _words_of(pattern: CallPattern) -> Group:
    """Return words of which one stands in every call that a pattern fits."""
    return frozenset([*map(word_of, pattern.names), *((name, True) for name in pattern.methods), *pieces_of(map(literal, pattern.written))])


def _packages_of(pattern: CallPattern) -> Group:
    """Return the packages with which the name of every call of a pattern begins, where what follows is open; none where it says more."""
    heads = [name.partition(".") for name in pattern.names]
    known = {alias.partition(".")[0] for alias in load_platform().aliases.values()}
    if pattern.methods or pattern.written or any("*" in head or "*" not in rest or head in known for head, _, rest in heads):
        return frozenset()
    return frozenset((head, True) for head, _, _ in heads)


def _says(pattern: CallPattern, name: str) -> bool:
    return name in pattern.sets or pattern.named == name or bool(pattern.table.spellings_of(name)) or name in pattern.table.defaults


def _of_pattern(name: str, pattern: CallPattern, condition: Condition | None) -> Iterator[tuple[Group, Group]]:
    """Yield the words of a pattern that can say a setting as a condition asks, and those of its argument, where one has to be written."""
    if not _says(pattern, name):
        return
    words = _words_of(pattern)
    spellings = pattern.table.spellings_of(name)
    by_default = any(condition is None or default_holds(default.value, condition) for default in pattern.table.defaults.get(name, ()))
    is_positional = any(parameter in pattern.table.positional for parameter, _ in spellings)
    is_set = name in pattern.sets and (condition is None or compare_all((pattern.sets[name],), condition.comparisons))
    if is_set or pattern.named == name or by_default or is_positional:
        yield words, words
    elif spellings:
        yield words, frozenset((parameter.rpartition(".")[2], True) for parameter, _ in spellings)


def _patterns() -> Iterator[CallPattern]:
    return (pattern for dialect in load_dialects().all for pattern in dialect.calls)


def _reads_devices(name: str) -> bool:
    """Return whether a setting is the name of a device wherever an argument says it."""
    readers = {spelling.reads for pattern in _patterns() for _, spelling in pattern.table.spellings_of(name)}
    return readers == {"device"} and not any(name in pattern.table.defaults for pattern in _patterns())


def part_of_device(name: str) -> Word | None:
    """Return the part of a qualified name that names a device, if one does: `cuda` of `torch.cuda.amp.autocast`, rarer than its end."""
    return next(((part, True) for part in name.split(".") if part in DEVICE_TYPES), None)


def _devices_in(value: Any) -> list[str]:
    """Return the kinds of device that a comparison names (`mps` of `^mps:[1-9]`)."""
    texts = value if isinstance(value, tuple) else (value,)
    return [kind for kind in DEVICE_TYPES for text in texts if re.search(rf"\b{kind}\b", str(text))]


def _answers(holds: Callable[[Any], bool]) -> Iterator[Word]:
    """Yield the words of what answers a question about the Mac with such a value (`torch.accelerator.current_accelerator`)."""
    platform = load_platform()
    for name, value in (*platform.values.items(), *platform.results.items()):
        if holds(value):
            yield name.rsplit(".", 1)[-1], True
    for name, value in platform.attributes.items():
        if holds(value):
            yield name.split(".")[-2], True
