"""What a rule needs: groups of words, one of each of which stands in every file in which the rule can find something.

A rule about `fp16=True` under a Trainer needs the name of a call that takes `fp16`, and `fp16` itself; where the call's default would be
enough, the name of the call. The groups come from the rule's conditions and the dialects, so a rule says nothing about them. A file in
which no rule has all that it needs is not even parsed, and in the others only the rules that have it are asked.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Any

from mpslint.core.knowledge import platform_data
from mpslint.core.record import record
from mpslint.gate.gate import Word, as_words, derived_frameworks, derived_words, shipped
from mpslint.rule.check import gate_of
from mpslint.rule.rule import Condition, Rule, matching_outcomes
from mpslint.source.document import Document, Kind
from mpslint.source.words import OPEN, Words, from_parts, identifier_in, is_exact, parts_of
from mpslint.target.target import Target


@record(frozen=True, eq=False)
class Needs:
    """The groups of several rules, each group once, as one bit of a number."""

    names: Mapping[str, int]
    """The bits of the groups that a name is in which must stand by itself."""
    pieces: tuple[tuple[str, bool, bool, int], ...]
    """Identifiers, or the beginnings or ends of such, and the bits of the groups they are in: text, begins, ends, bits."""
    marks: tuple[tuple[str, int], ...]
    """The same for what holds no letter or digit."""
    of_rules: tuple[tuple[int, ...], ...]
    """For each rule, the bits of its groups: one number for each way in which it can come about."""
    anywhere: int
    """The bits of the groups that may be met by a comment too."""
    cells: int
    """The bits of the groups that every notebook meets, and every script with the lines of one."""
    groups: int
    """How many groups there are. The bits above theirs say for each whether one of its `exact` pieces may be found."""
    exact: tuple[tuple[int, tuple[str, ...]], ...]
    """The groups that quoted words and methods that are called are in, by their bits, with these."""
    open: int
    """The bits of those of them that no identifier has to stand for."""
    words: Words
    """The names and pieces of all groups, to be looked for at once."""
    answers: dict[str, int] = field(default_factory=dict)

    @functools.cached_property
    def _ways(self) -> tuple[tuple[int, int], ...]:
        """The bits of each way in which a rule can come about, with the rule's number."""
        return tuple((bits, number) for number, ways in enumerate(self.of_rules) for bits in ways)

    def met_by(self, document: Document, written: frozenset[str] = frozenset()) -> list[int]:
        """Return the numbers of the rules that have all that they need in a Document in which some more identifiers were `written`."""
        found = cells = self.cells if document.cells or document.snippets else 0
        marked = self._marked(document.text)
        if written:
            more = self._bits(written)
            marked |= more | more >> self.groups
        found |= self._bits_in(document, of_code=False) | marked | self.open << self.groups
        if not self._able(found | found >> self.groups):
            return []  # what Python runs need not be set apart
        found = self._bits_in(document, of_code=True) | (found & self.anywhere) | cells | marked
        may_be = (found >> self.groups | self.open) & ~found
        ways = [bits for bits, _ in self._ways if bits & may_be and bits & (found | may_be) == bits]
        for bit, pieces in self.exact:
            if not bit & may_be or not any(bits & bit for bits in ways):
                continue
            if any(map(document.code_holds, pieces)):
                found |= bit
            else:
                ways = [bits for bits in ways if not bits & bit]  # nothing else of them need be looked for
        return self._able(found)

    def _marked(self, text: str) -> int:
        """Return the bits of the groups of which one mark (`+=`) stands in a text."""
        found = 0
        for mark, bits in self.marks:
            if mark in text:
                found |= bits
        return found

    def _able(self, found: int) -> list[int]:
        """Return the numbers of the rules that need no other groups than those found."""
        return list(dict.fromkeys([number for bits, number in self._ways if bits & found == bits]))

    def _bits_in(self, document: Document, of_code: bool) -> int:
        """Return the bits of the groups of which one word is an identifier of a Document, or of what Python runs of it.

        A file is asked once, however many runs read it.
        """
        if document.parts:
            return functools.reduce(operator.or_, (self._bits_in(part.document, of_code) for part in document.parts), 0)
        key = self, of_code
        if key not in document.memo:
            document.memo[key] = self._bits(document.code_identifiers if of_code else document.identifiers)
        return int(document.memo[key])

    def _bits(self, identifiers: frozenset[str]) -> int:
        """Return the bits of the groups of which one word is among some identifiers."""
        answers, found = self.answers, 0
        for word in self.words.among(identifiers):
            bits = answers.get(word)
            if bits is None:
                bits = answers[word] = self._bits_of(word)
            found |= bits
        return found

    def _bits_of(self, word: str) -> int:
        found = self.names.get(word, 0)
        for text, begins, ends, bits in self.pieces:
            if text in word and (not begins or word.startswith(text)) and (not ends or word.endswith(text)):
                found |= bits
        return found


def possible(rules: Sequence[Rule], document: Document, written: frozenset[str] = frozenset()) -> list[Rule]:
    """Return the rules that have all the words that they need in a Document in which some more identifiers were `written`."""
    rules = tuple(rules)
    is_code = document.kind in (Kind.PYTHON, Kind.NOTEBOOK) and not document.snippets
    return [rules[number] for number in _needs(rules, is_code).met_by(document, written)]


def needed(rules: Sequence[Rule], document: Document, target: Target) -> tuple[Rule, ...]:
    """Return the rules that can find something in a Document under a Target."""
    return tuple(
        rule
        for rule in possible(rules, document)
        if matching_outcomes(rule, target.versions) and all(_may_hold(condition, document, target) for condition in rule.when)
    )


def _may_hold(condition: Condition, document: Document, target: Target) -> bool:
    """Return whether what a condition says of the text holds, and a check that can tell does not rule itself out."""
    if condition.subject == "mentions":
        return any(map(document.mentions, condition.names))
    if condition.subject != "check":
        return True
    gates = map(gate_of, condition.names)
    return any(gate.may_find is None or gate.may_find(document, condition.options, target) for gate in gates)


@functools.lru_cache(maxsize=16)
def _needs(rules: tuple[Rule, ...], is_code: bool) -> Needs:
    """Return the needs of rules in a Document of Python alone, or in one that holds commands or is configuration."""
    shipped_needs: Mapping[bool, Any] | None = shipped("needs", rules)
    if shipped_needs is not None:
        known = shipped_needs[is_code]
        of_rules = tuple(known["rules"][rule.id] for rule in rules)
        return Needs(
            known["names"],
            known["pieces"],
            known["marks"],
            of_rules,
            known["anywhere"],
            known["cells"],
            known["groups"],
            known["exact"],
            known["open"],
            from_parts(*known["words"]),
        )
    return derive(rules, is_code)


def derive(rules: tuple[Rule, ...], is_code: bool) -> Needs:
    """Return the needs of rules, from the rules themselves."""
    from mpslint.gate.ways import ANYWHERE, CELLS, Group, ways_of

    numbers: dict[Group, int] = {}
    found = []
    for rule in rules:
        ways = [tuple(numbers.setdefault(group, len(numbers)) for group in way) for way in ways_of(rule, rules, is_code)]
        found.append(tuple(sum(1 << number for number in set(way)) for way in ways))
    anywhere = sum(1 << number for group, number in numbers.items() if ANYWHERE in group)
    cells = sum(1 << number for group, number in numbers.items() if CELLS in group)
    bits_of: dict[Word, int] = {}
    exact: dict[int, list[str]] = {}
    open_bits = 0
    for group, number in numbers.items():
        for word in sorted(group - {ANYWHERE, CELLS}):
            text, is_name = word
            may_be = not is_name and is_exact(text)
            if may_be:
                exact.setdefault(1 << number, []).append(text)
            if text[:1] == OPEN:
                open_bits |= 1 << number
                continue
            bits_of[word] = bits_of.get(word, 0) | 1 << (number + len(numbers) if may_be else number)
    names = {text: bits for (text, is_name), bits in bits_of.items() if is_name}
    pieces = [(identifier_in(text), text, bits) for (text, is_name), bits in bits_of.items() if not is_name]
    return Needs(
        names,
        tuple((*word, bits) for word, _, bits in pieces if word is not None),
        tuple((text, bits) for word, text, bits in pieces if word is None),
        tuple(found),
        anywhere,
        cells,
        len(numbers),
        tuple((bit, tuple(pieces)) for bit, pieces in exact.items()),
        open_bits,
        as_words(bits_of),
    )


def compiled_words(rules: tuple[Rule, ...]) -> dict[str, Any]:
    """Return as plain data what is derived from rules here and in `gate`, and the words of each check that names them: for a wheel."""
    named = {name for rule in rules for condition in rule.when if condition.subject == "check" for name in condition.names}
    gates = {name: gate_of(name) for name in sorted(named)}
    return {
        "frameworks": derived_frameworks(rules),
        "elsewhere": tuple(
            word.encode() for suite in platform_data("elsewhere")["suites"] if "says" in suite for word in suite.get("words", ())
        ),
        "file": parts_of(as_words(derived_words(rules, of_files=True))),
        "function": parts_of(as_words(derived_words(rules))),
        "checks": {name: gate.words for name, gate in gates.items() if gate.names is None},
        "needs": {is_code: _as_data(derive(rules, is_code), rules) for is_code in (True, False)},
    }


def _as_data(needs: Needs, rules: tuple[Rule, ...]) -> dict[str, Any]:
    return {
        "names": dict(needs.names),
        "pieces": needs.pieces,
        "marks": needs.marks,
        "rules": {rule.id: bits for rule, bits in zip(rules, needs.of_rules, strict=True)},
        "anywhere": needs.anywhere,
        "cells": needs.cells,
        "groups": needs.groups,
        "exact": needs.exact,
        "open": needs.open,
        "words": parts_of(needs.words),
    }
