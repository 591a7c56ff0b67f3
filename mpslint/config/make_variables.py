"""What make puts in for the variables of a Makefile: at their use for `=`, where they stand for `:=`."""

from __future__ import annotations

import re
from dataclasses import replace

from mpslint.config.shell import of_system
from mpslint.config.shell_words import UNSET, Shell, Variable
from mpslint.core.record import record

_NAMES = re.compile(r"[A-Za-z_]\w*")
MOST_ANEW = 30
"""How often a text is read again because a variable that it speaks of has changed, on an average; later it counts as not known."""


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
