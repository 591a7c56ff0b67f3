"""A Python check: `mpslint/checks/NAME.py`, which holds a function `find` and says in its GATE when that may find something."""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from mpslint.core.finding import RuleError
from mpslint.core.record import record
from mpslint.source.document import Document
from mpslint.target.target import Target

Options = Mapping[str, Any]
"""What a rule says to its check, beside the check's name."""
Way = tuple[Iterable[str], ...]
"""Groups of words; one of each group stands in the file, by itself unless it is quoted or a method that is called (`source.words`)."""


@record(frozen=True, eq=False)
class Gate:
    """When a check may find something. Files and functions of which it says no are not parsed for it: one `no` too many loses findings."""

    words: tuple[str, ...] = ()
    """One of these stands in every function in which it finds something, maybe in a longer word."""
    names: Callable[[Options], Iterable[str]] | None = None
    """In place of words, for a check that reads a table: the qualified names and variables that it is about."""
    file_words: tuple[str, ...] = ()
    """One of these stands in every file in which it finds something, maybe in a longer word."""
    roles: tuple[str, ...] = ()
    """A call in one of these roles is made in every such file."""
    groups: Way = ()
    """One word of each of these stands in every such file."""
    ways: Callable[[Options], Iterable[Way]] | None = None
    """In place of groups: those of each kind of thing that it finds."""
    may_find: Callable[[Document, Options, Target], bool] | None = None
    """Whether it may find something in a file that has all of these."""

    def ways_for(self, options: Options) -> Iterator[Way]:
        """Yield the groups of each kind of thing that the check finds; nothing where the words above say it all."""
        if self.ways is not None:
            yield from self.ways(options)
        elif self.groups:
            yield self.groups


@functools.lru_cache(maxsize=256)
def check_module(name: str) -> Any:
    """Return `mpslint/checks/NAME.py`. Raises RuleError when there is none."""
    try:
        return importlib.import_module(f"mpslint.checks.{name}")
    except ModuleNotFoundError:
        raise RuleError(f"there is no check {name!r} in mpslint/checks/") from None


def is_command(word: str) -> bool:
    """Return whether a word that a check names is a piece of a shell text (`apt-get`, `apt install`), which no identifier is."""
    return "-" in word or " " in word


def gate_of(name: str) -> Gate:
    """Return when a check may find something. Raises RuleError when it does not say."""
    gate = getattr(check_module(name), "GATE", None)
    if not isinstance(gate, Gate) or not (gate.words or gate.names):
        raise RuleError(f"mpslint/checks/{name}.py: needs `GATE = Gate(words=...)`: words of which one stands wherever it finds something")
    return gate
