"""What a stub may ask of the program that is walked, and do in it: the functions of `stubs.host`.

To a stub a value of the program is an Argument: what it is, and where it stands.
"""

from __future__ import annotations

import ast
import contextlib
import operator
import shlex
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from mpslint.core.record import record
from mpslint.facts.joined import join_all
from mpslint.facts.values import (
    COMMAND_LINE,
    Argument,
    Bound,
    Class,
    DictEntry,
    Function,
    Instance,
    Items,
    Known,
    Mapping,
    Symbol,
    Unknown,
    origin_of,
    weakened,
)
from mpslint.program.exits import Raised
from mpslint.program.fields import entries_of
from mpslint.program.machine import Walker
from mpslint.program.stubs.language import UNKNOWN, StubObject
from mpslint.program.texts import as_kind, as_written
from mpslint.tensors.arguments import CallArguments

STATE = ("stub", "")
"""The slot of an object of the program that holds what a stub keeps of it."""
unknown = Argument(COMMAND_LINE, None)


@record(frozen=True)
class Host:
    """The program, and the call in it that a stub stands for."""

    m: Walker
    call: ast.Call | None
    """The call; None for what a decorator, or the end of the file, makes a library do."""
    arguments: CallArguments = CallArguments((), {}, False)
    name: str = ""
    """The qualified name of what is called."""


@record(frozen=True)
class HostFunction:
    """A function of `stubs.host`."""

    function: Callable[..., Any]


@record(frozen=True)
class ValueTable:
    """A dict of the program's values, by name: what a path writes that isn't taken is undone."""

    m: Walker
    mapping: Mapping
    STUB_METHODS = ("get", "items")

    def __setitem__(self, name: str, value: Argument) -> None:
        self.m.store.write(self.mapping.slots, name, DictEntry(value.value, value.node))

    def __contains__(self, name: str) -> bool:
        return name in self.mapping.slots

    def get(self, name: str) -> Argument | None:
        """Return the value under a name."""
        return _argument(self.mapping.slots[name]) if name in self.mapping.slots else None

    def items(self) -> Iterator[tuple[str, Argument]]:
        """Yield the names and the values."""
        yield from [(name, _argument(entry)) for name, entry in self.mapping.slots.items()]


def _argument(entry: DictEntry | Unknown) -> Argument:
    """Return an entry of a table as it was given; after a path that may not be taken nothing may be known of it."""
    return Argument(entry.value, entry.node) if isinstance(entry, DictEntry) else Argument(entry, None)


def plain(host: Host, given: Any, otherwise: Any = UNKNOWN) -> Any:
    """Return a constant of the program as Python has it; for what isn't one `otherwise`, by default something that decides nothing."""
    if not isinstance(given, Argument):
        return given
    return given.value.value if isinstance(given.value, Known) else otherwise


def text(host: Host, word: Any) -> str | None:
    """Return the text that a word is, None where that isn't known."""
    said = plain(host, word)
    return said if isinstance(said, str) else None


def is_flag(host: Host, word: Any) -> bool:
    """Return whether a word is a flag: `--x`, `-x`, but no negative number."""
    said = text(host, word) or ""
    return len(said) > 1 and said[0] == "-" and " " not in said.partition("=")[0] and not said[1].isdigit() and said[1] != "."


def table(host: Host) -> ValueTable:
    """Return an empty table of values."""
    return ValueTable(host.m, Mapping({}, host.call))


def at(host: Host, said: Any, place: Argument | None = None) -> Argument:
    """Return a constant as a value that stands at a place, by default at the call; as sure as what stands there is."""
    said = plain(host, said)
    if said is UNKNOWN:
        return unknown
    node = host.call if place is None else place.node
    is_weak = place is not None and isinstance(place.value, Known) and place.value.weak
    return Argument(Known(said, node, is_weak), node)


def spanning(host: Host, first: Argument, last: Argument) -> Argument:
    """Return a place from the beginning of one value to the end of another; the first one where the other stands before it."""
    return Argument(last.value, spanned(first.node, last.node))


def spanned(first: ast.AST | None, last: ast.AST | None) -> ast.AST | None:
    """Return a node from the beginning of one to the end of another; the first one where the other stands before it."""
    start, end = _place(first), _place(last)
    if start is None or end is None or first is last or end[:2] < start[:2]:
        return first
    node = ast.Constant(None)
    node.lineno, node.col_offset, node.end_lineno, node.end_col_offset = *start[:2], *end[2:]
    return node


def _place(node: ast.AST | None) -> tuple[int, int, int, int] | None:
    if node is None or not hasattr(node, "lineno"):
        return None
    return node.lineno, node.col_offset, node.end_lineno, node.end_col_offset  # type: ignore[attr-defined]


def listed(host: Host, values: Sequence[Argument], place: Argument) -> Argument:
    """Return a list of the program with these values."""
    return Argument(Items("list", {index: one.value for index, one in enumerate(values)}, place.node), place.node)


def items(host: Host, given: Any) -> list[Argument]:
    """Return what is in a list or tuple of the program, as far as that is known."""
    found = given.value if isinstance(given, Argument) else None
    return [Argument(one, origin_of(one)) for one in found.values()] if isinstance(found, Items) else []


def others(host: Host) -> Argument:
    """Return a list of which nothing is known."""
    return Argument(Items("list", {}, host.call, open=True), host.call)


def slots(host: Host, given: Any) -> dict[str, Argument]:
    """Return the attributes that an object has, or the entries of a dict, by name."""
    value = given.instance if isinstance(given, StubObject) else given.value if isinstance(given, Argument) else None
    return {name: Argument(one, origin_of(one)) for name, one in entries_of(value)} if value is not None else {}


def one_of(host: Host, values: Sequence[Argument]) -> Argument:
    """Return what is one of several values."""
    return Argument(join_all([one.value for one in values]), host.call) if values else unknown


def as_outside(host: Host) -> Argument:
    """Return the object that the call makes as a call of any library, and have it noted as one."""
    assert host.call is not None
    return Argument(host.m.calls.call_outside(host.m, Symbol(host.name), None, host.arguments, host.call), host.call)


def name_of(host: Host, given: Any) -> str:
    """Return the qualified name of a function or class of outside the program, '' for anything else."""
    if isinstance(given, str):
        return given
    return given.value.name if isinstance(given, Argument) and isinstance(given.value, Symbol) else ""


def kind_of(host: Host, given: Any) -> str:
    """Return the name of the class that an object is of, '' for what is no object."""
    value = given.instance if isinstance(given, StubObject) else given.value if isinstance(given, Argument) else None
    return value.name if isinstance(value, Instance) else ""


def is_dict(host: Host, given: Any) -> bool:
    """Return whether a value is a dict."""
    return isinstance(given, Argument) and isinstance(given.value, Mapping)


def is_callable(host: Host, given: Any) -> bool:
    """Return whether a value is a function or a class."""
    return isinstance(given, Argument) and isinstance(given.value, (Symbol, Function, Class, Bound))


def is_known(host: Host, given: Any) -> bool:
    """Return whether a value is a constant."""
    return isinstance(given, Argument) and isinstance(given.value, Known)


def literal(host: Host, text: str, place: Argument) -> Argument:
    """Return what a text says, at a place: a number, true or false, nothing, else the text."""
    is_weak = isinstance(place.value, Known) and place.value.weak
    return Argument(as_written(text, place.node, is_weak), place.node)


def python_literal(host: Host, text: str, place: Argument) -> Argument:
    """Return what a text says as Python reads it: a constant, else the text."""
    try:
        value = ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        value = text
    return at(host, value if value is None or isinstance(value, (bool, int, float, str)) else UNKNOWN, place)


def number(host: Host, text: str, kind: type) -> Any:
    """Return the number that a text says, None where it says none."""
    return as_kind(text, kind)


def overridable(host: Host, given: Argument) -> Argument:
    """Return a value as a default, which the command line may change; one that a fix gives is the one to be judged."""
    is_judged = id(origin_of(given.value)) in host.m.instead
    return given if is_judged else Argument(weakened(given.value), given.node)


def settled(host: Host, given: Argument) -> Argument:
    """Return a default that nothing changes any more."""
    value = given.value
    return Argument(Known(value.value, value.origin, False, value.source) if isinstance(value, Known) else value, given.node)


def call(host: Host, function: Argument, *given: Argument) -> Argument:
    """Return what a function of the program gives, called for its value only."""
    m = host.m
    exits, m.exits = m.exits, []
    try:
        with m.silently(), m.store.path(), contextlib.suppress(Raised):
            node = host.call or ast.Call(ast.Constant(None), [], [])
            value = m.calls.call_with(m, function.value, [one.value for one in given], node)
            return unknown if m.is_dead or isinstance(value, Unknown) else Argument(value, origin_of(value))
    finally:
        m.exits, m.is_dead = exits, False
    return unknown


def words_in(host: Host, given: Any) -> tuple[list[Argument] | None, bool]:
    """Return the words that a parser reads, None where nothing says which, and whether these are all: those that it is given, else those
    of the command line."""
    m = host.m
    value = given.value if isinstance(given, Argument) else None
    if isinstance(value, Known) and isinstance(value.value, str):
        with contextlib.suppress(ValueError):
            return [Argument(Known(word), None) for word in shlex.split(value.value)], True
    words = m.words()
    if isinstance(value, Items) and not (
        words and len(words) == len(value.slots) and all(map(operator.is_, [word.value for word in words], value.values()))
    ):
        return [Argument(word, origin_of(word)) for word in value.values()], not value.open
    if value is None or isinstance(value, Items) or (isinstance(value, Known) and value.value is None):
        return list(words) if words is not None else None, words is not None and m.is_told_all()
    return None, False


def state_of(host: Host, given: Any) -> StubObject | None:
    """Return what a stub keeps of an object of the program, None for another value."""
    kept: Any = given.value.slots.get(STATE) if isinstance(given, Argument) and isinstance(given.value, Instance) else None
    return kept if isinstance(kept, StubObject) else None


def another(host: Host, state: StubObject, name: str) -> Argument:
    """Return a further object of the program behind which the same is kept."""
    tables = {("stub", key): one.mapping for key, one in state.slots.items() if isinstance(one, ValueTable)}
    return Argument(Instance(name, slots={**tables, STATE: state}), host.call)  # type: ignore[dict-item]


def functions_of(module: str) -> dict[str, HostFunction]:
    """Return the functions of a module that a stub can import: those that take the Host."""
    found = {name: one for name, one in vars(sys.modules[module]).items() if getattr(one, "__module__", "") == module}
    return {name: HostFunction(one) for name, one in found.items() if "host" in getattr(one, "__annotations__", ()) and name[0] != "_"}


FUNCTIONS = functions_of(__name__)
"""What a stub can import of these; `unknown` is a value."""
