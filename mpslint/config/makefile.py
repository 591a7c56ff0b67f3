"""Makefiles -> the environment variables that they export and the commands of their recipes, each with its place.

A recipe is read as shell text of the very same length, in which `$(NAME)` is `${NAME}`: what make puts in there are the variables of the
Makefile. What only make can work out (`$(shell ...)`, `$@`, variables that a target sets) is not known.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

from mpslint.config.shell import ShellFacts, follow, of_one_line, of_system
from mpslint.config.shell_branches import all_of, any_of, opposite
from mpslint.config.shell_comments import shell_comments
from mpslint.config.shell_words import UNSET, Shell, Variable
from mpslint.core.finding import Span
from mpslint.core.record import record
from mpslint.facts.facts import EnvironmentWrite
from mpslint.facts.values import UNKNOWN, Known, Value

_NAME = r"[A-Za-z_]\w*"
_REFERENCE = re.compile(rf"\$\$\(|\$\$|\$\(({_NAME})\)|\$[A-Za-z_]")
_QUOTED = re.compile(r"'[^'\"\n]*'")
_ASSIGNMENT = re.compile(rf"[ ]*(export[ \t]+)?(?:override[ \t]+)?({_NAME})[ \t]*(::?|\?|\+|!)?=[ \t]*([^#]*)(?:#.*)?", re.DOTALL)
_OF_TARGET = re.compile(rf"[^\s:#=][^:#=]*:[ \t]*(?:export[ \t]+)?({_NAME})[ \t]*[:?+]?=")
_EXPORT = re.compile(rf"[ ]*export[ \t]+({_NAME}(?:[ \t]+{_NAME})*)[ \t]*\r?\n?")
_DEFINED = re.compile(rf"[ ]*define[ \t]+({_NAME})")
_MARKS = re.compile(r"\t[ \t]*[-@+]*")
"""The beginning of a line of a recipe, with what make itself takes of it."""
_OPENS, _ELSE, _CLOSES = ("ifeq", "ifneq", "ifdef", "ifndef"), "else", "endif"
_COMPARED = re.compile(r"\((.*),([^,]*)\)|([\"'])(.*?)\3[ \t]+([\"'])(.*?)\5", re.DOTALL)
_NAMES = re.compile(r"[A-Za-z_]\w*")
_LOGICAL_LINE = re.compile(r"(?:[^\n]*\\\r*\n)*[^\n]*\n?")
MOST_ANEW = 30
"""How often a text is read again because a variable that it speaks of has changed, on an average; later it counts as not known."""


@record(frozen=True, slots=True)
class _Condition:
    """A part of an `ifeq`, up to the next `else`."""

    holds: bool | None
    was_read: bool | None = False
    """Whether a part before is read."""
    around: bool | None = True
    """Whether what stands around all parts is read."""

    @property
    def is_read(self) -> bool | None:
        """Whether what stands in this part is read."""
        return all_of((self.around, self.holds))


def read_makefile(text: str, offset: int = 0) -> ShellFacts:
    """Return what a Makefile exports and runs; `offset` is where it begins in the Document. Never fails on any text."""
    exported, lines = recipes_in(text, offset)
    facts = ShellFacts(exported)
    for found in lines:
        facts.commands += found.commands
        facts.environment += found.environment
    return facts


def recipes_in(text: str, offset: int = 0) -> tuple[list[EnvironmentWrite], list[ShellFacts]]:
    """Return what a Makefile exports, and what each line of its recipes does, for which make starts a shell."""
    converted = _as_shell(text)
    shell = Shell(converted, offset)
    shell.uses = Counter(re.findall(rf"\$\{{({_NAME})\}}", converted))
    recipes, assigned, named, variables = _parts(converted, shell)
    exported = []
    for one in assigned:
        if one.is_exported or one.name in named:
            known = variables.named_in(one.name)[one.name].text
            value: Value = UNKNOWN if known is None else Known(known, weak=one.sign == "?")
            start, end = offset + one.start, offset + one.start + len(one.raw)
            exported.append(EnvironmentWrite(one.name, value, start, end, start, end, style="dotenv"))
    lines = [replace(shell, text=converted[start:end], offset=offset + start) for start, end in recipes]
    for line in lines:
        line.variables = variables.named_in(line.text)
    return exported, [of_one_line(follow(line)) for line in lines]


def makefile_comments(text: str) -> Iterator[Span]:
    """Yield the place of every comment: those that the shell of a recipe would take for one, too, but none of a `define`."""
    is_definition, is_one_shell = False, ".ONESHELL" in text
    for start, end in _logical_lines(text):
        line = text[start:end]
        if is_definition or _DEFINED.match(line) is not None:
            is_definition = line.split()[:1] != ["endef"]
        elif not (is_one_shell and _MARKS.match(line)):  # there a line may go on in a string of the line before
            yield from (Span(start + span.start, start + span.end) for span in shell_comments(line))


def _as_shell(text: str) -> str:
    """Return a Makefile with its references written as the shell writes them, at the same length."""

    def written(match: re.Match[str]) -> str:
        if match[1]:
            return f"${{{match[1]}}}"
        return "\x00$(" if match[0] == "$$(" else "$?"  # what the shell puts in there is not known

    return _QUOTED.sub(lambda match: match[0].replace("'", '"') if "${" in match[0] else match[0], _REFERENCE.sub(written, text))


def _parts(text: str, shell: Shell) -> tuple[list[tuple[int, int]], list[Assigned], set[str], MakeVariables]:
    """Return the lines of recipes, without the marks before them, what is assigned, what is exported by its name, and the variables.

    What a Mac doesn't read for a condition (`ifeq ($(shell uname),Linux)`) is left out.
    """
    recipes: list[tuple[int, int]] = []
    assigned: list[Assigned] = []
    exported: set[str] = set()
    open_conditions: list[_Condition] = []
    variables = MakeVariables(shell)
    is_definition = False
    for start, end in _logical_lines(text):
        line = text[start:end]
        word = re.split(r"[\s(]", line.lstrip(" "), maxsplit=1)[0]
        is_read = open_conditions[-1].is_read if open_conditions else True
        known = len(assigned)
        if is_definition:
            is_definition = line.split()[:1] != ["endef"]
        elif (match := _DEFINED.match(line)) is not None:
            assigned += [Assigned(match[1], "$?", start, is_certain=is_read is True)] if is_read is not False else []
            is_definition = True
        elif word in _OPENS:
            open_conditions.append(_Condition(_holds(line, shell, variables), around=is_read))
        elif word == _ELSE and open_conditions:
            last = open_conditions.pop()
            was_read = any_of((last.was_read, last.holds))
            rest = line.split(_ELSE, 1)[1].strip()
            holds = _holds(rest, shell, variables) if rest else True
            open_conditions.append(_Condition(all_of((opposite(was_read), holds)), was_read, last.around))
        elif word == _CLOSES:
            del open_conditions[-1:]
        elif is_read is False:
            continue
        elif (marks := _MARKS.match(line)) is not None:
            recipes.append((start + marks.end(), end))
        elif (match := _ASSIGNMENT.fullmatch(line)) is not None:
            raw = "$?" if match[3] == "!" else match[4].rstrip()
            assigned.append(Assigned(match[2], raw, start + match.start(4), match[3] or "", is_read is True, bool(match[1])))
        elif (match := _OF_TARGET.match(line)) is not None:
            assigned.append(Assigned(match[1], "$?", start))
        elif (match := _EXPORT.fullmatch(line)) is not None:
            exported.update(match[1].split())
        for one in assigned[known:]:
            variables.assign(one)
    return recipes, assigned, exported, variables


def _holds(condition: str, shell: Shell, variables: MakeVariables) -> bool | None:
    """Return whether a condition holds on a Mac; None where that isn't certain."""
    word, _, rest = condition.replace("(", " (", 1).strip().partition(" ")
    match = _COMPARED.match(rest.strip())
    if match is None or word not in ("ifeq", "ifneq"):
        return None
    sides = (match[1], match[2]) if match[1] is not None else (match[4], match[6])
    shell.variables = variables.named_in(rest)
    (left, left_weak), (right, right_weak) = (shell.value(side.strip()) for side in sides)
    return None if left is None or right is None or left_weak or right_weak else (left == right) is (word == "ifeq")


def _logical_lines(text: str) -> Iterator[tuple[int, int]]:
    """Yield the start and end of each line, with those that a backslash joins to it."""
    return (match.span() for match in _LOGICAL_LINE.finditer(text) if match[0])


@record(frozen=True, slots=True)
class Assigned:
    """A variable that a Makefile gives a value."""

    name: str
    raw: str
    start: int
    sign: str = ""
    is_certain: bool = True
    """No condition stands around it that isn't decided."""
    is_exported: bool = False
    value: Variable | None = None
    """Of one that make works out where it stands."""


class MakeVariables:
    """The variables of a Makefile while it is read; each is worked out once, unless one that it may speak of changes."""

    def __init__(self, shell: Shell) -> None:
        self._shell = shell
        self._assigned: dict[str, list[Assigned]] = {}
        self._known: dict[str, Variable] = {}
        self._left = 0

    def assign(self, one: Assigned) -> None:
        """Note the next value of a variable."""
        earlier = self._assigned.setdefault(one.name, [])
        self._left += MOST_ANEW * (len(one.raw) + 1)
        if one.sign[:1] == ":" or (one.sign == "+" and earlier and earlier[-1].value is not None):
            one = replace(one, value=self._value(one))
        earlier.append(one)
        if one.name in self._known:
            self._known.clear()

    def named_in(self, text: str) -> dict[str, Variable]:
        """Return the variables that a text may speak of, as they are for what has been read so far."""
        found = {name: self._of(name) for name in _NAMES.findall(text) if name in self._assigned}
        whole = {name: replace(one, words=()) if len(one.words) == 1 and one.text is not None else one for name, one in found.items()}
        return {**of_system(), **whole}

    def _of(self, name: str) -> Variable:
        waiting = [(name, False)]
        while waiting:
            one, is_ready = waiting.pop()
            if is_ready:
                self._known[one] = self._worked_out(one)
            elif one not in self._known:
                self._known[one] = UNSET  # what it is to itself
                waiting.append((one, True))
                waiting += [(other, False) for value in self._assigned.get(one, ()) for other in self._asked_by(value)]
        return self._known[name]

    def _asked_by(self, one: Assigned) -> list[str]:
        """Return the variables that must be known before a value is worked out; none where too much was worked out."""
        self._left -= len(one.raw) + 1
        return [] if one.value is not None or self._left < 0 else _NAMES.findall(one.raw)

    def _worked_out(self, name: str) -> Variable:
        found: Variable | None = None
        for one in self._assigned.get(name, ()):
            if self._left < 0:
                return UNSET
            value = one.value or self._value(one)
            if one.sign == "+" and found is not None:
                text = f"{found.text} {value.text}" if found.text is not None and value.text is not None else None
                value = Variable(text, (*found.words, *value.words), found.weak or value.weak)
            elif one.sign == "?" and found is not None:
                continue
            found = value.bounded() if one.is_certain or found is None else UNSET
        return found or UNSET

    def _value(self, one: Assigned) -> Variable:
        self._shell.variables = {**of_system(), **{name: self._of(name) for name in _NAMES.findall(one.raw) if name in self._assigned}}
        return self._shell.unquoted(one.raw, one.start, is_weak=one.sign == "?" or not one.is_certain)
