"""What Python itself calls of the program's objects, where no call shows it: `__len__` for a test, `__iter__` for a loop."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Set

from mpslint.facts.values import UNKNOWN, Class, Function, Instance, Items, Known, Mapping, OneOf, Symbol, Unknown, Value
from mpslint.program.effects import handed_on, not_followed
from mpslint.program.machine import Walker
from mpslint.program.operators import WORDS
from mpslint.program.places import inside

TRUTH = frozenset({"__bool__", "__len__"})
GOING_THROUGH = frozenset({"__iter__", "__next__", "__len__", "__getitem__", "__reversed__", "keys"})
AS_TEXT = frozenset({"__format__", "__str__", "__repr__"})
COMPARING = frozenset({"__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__", "__hash__"})
ANY = TRUTH | GOING_THROUGH | AS_TEXT | COMPARING
INNER = AS_TEXT | COMPARING | {"__add__", "__radd__"}
"""What is called of the items of a list as well."""

OPERATORS = frozenset(f"__{kind}{word}__" for kind in ("", "r") for word in WORDS.values()) | {"__getattr__", "__contains__"}
"""What may be called as well of an object that is not known: of one that is known they are followed."""

BY_SYNTAX: dict[type[ast.expr], frozenset[str]] = {
    ast.BinOp: AS_TEXT | COMPARING | {"__index__"},
    ast.UnaryOp: TRUTH | {"__neg__", "__pos__", "__invert__"},
    ast.BoolOp: TRUTH,
    ast.IfExp: TRUTH,
    ast.Compare: TRUTH | COMPARING | GOING_THROUGH | {"__contains__"},
    ast.Subscript: COMPARING | {"__getitem__", "__missing__", "__index__"},
    ast.FormattedValue: AS_TEXT,
    ast.JoinedStr: AS_TEXT,
    ast.Attribute: frozenset(),
    ast.Set: COMPARING,
    ast.Dict: COMPARING,
    ast.ListComp: GOING_THROUGH | TRUTH,
    ast.SetComp: GOING_THROUGH | TRUTH | COMPARING,
    ast.DictComp: GOING_THROUGH | TRUTH | COMPARING,
    ast.GeneratorExp: GOING_THROUGH | TRUTH,
}
"""What an expression may call of its parts."""
BY_NAME = {
    "bool": TRUTH,
    "format": AS_TEXT,
    "len": frozenset({"__len__"}),
    "print": AS_TEXT,
    "repr": AS_TEXT,
    "str": AS_TEXT,
    **dict.fromkeys(("all", "any", "enumerate", "filter", "iter", "list", "map", "next", "tuple", "zip"), GOING_THROUGH | TRUTH),
    **dict.fromkeys(("dict", "frozenset", "max", "min", "set", "sorted", "sum"), GOING_THROUGH | COMPARING | {"__add__", "__radd__"}),
}
"""What a function of Python's own may call of its arguments, where that is more than the method of its name."""


def of_function(m: Walker, name: str, values: Iterable[Value]) -> None:
    """A function of Python's own is called with some values; another that it is given (`key=len`) it may call with what is in them."""
    if not m.methods:
        return
    given = list(values)
    read = given[1] if name in ("getattr", "hasattr") and len(given) > 1 else Known("")
    called(m, given, _names_of(name), frozenset({str(read.value)}) if isinstance(read, Known) else frozenset(m.methods))
    for one in given:
        if name in ("all", "any"):
            called(m, inside(one), TRUTH)
        if isinstance(one, Symbol) and one.name.startswith("builtins."):
            called(m, [inner for value in given for inner in inside(value)], _names_of(one.name.removeprefix("builtins.")))


def _names_of(name: str) -> frozenset[str]:
    return BY_NAME.get(name) or frozenset({f"__{name}__", "__index__"})


def called(m: Walker, values: Iterable[Value], names: frozenset[str], read: frozenset[str] = frozenset()) -> None:
    """Python calls some methods of values, or of what is in them, where they have them: what these write is not known any more.

    Attributes that are `read` may be properties of a value that isn't known.
    """
    question = names, read, len(m.methods)
    if question not in m.asked:  # methods come to be known, and stay so
        m.asked[question] = (names | OPERATORS | read) & (m.methods | read), OPERATORS | read
    known, of_unknown = m.asked[question]
    if not known:
        return
    waiting, seen, found, of_lost = [(one, names) for one in values], set[int](), list[Value](), set[str]()
    outside: list[Instance] = []
    methods: dict[tuple[Class, frozenset[str]], list[Value]] = {}
    while waiting:
        one, asked = waiting.pop()
        if id(one) in seen:
            pass
        elif isinstance(one, (Items, Mapping)):
            waiting += [(inner, asked & INNER) for inner in inside(one)]
        elif isinstance(one, OneOf):
            waiting += [(inner, asked) for inner in one.values]
        elif isinstance(one, Unknown):  # it may be any object that something unknown may be
            of_lost |= asked | of_unknown
        elif isinstance(one, Instance) and one.cls is not None:
            if (one.cls, asked) not in methods:
                methods[one.cls, asked] = _methods_of(one.cls, asked & known, read)
            found += [*methods[one.cls, asked], one] if methods[one.cls, asked] else []
        elif isinstance(one, Instance):
            outside.append(one)
        seen.add(id(one))
        if not waiting and outside:  # they may be what they were given
            kept, is_open = handed_on(m, outside)
            waiting += [(inner, names | of_unknown) for inner in kept if isinstance(inner, Instance) and inner.cls is not None]
            of_lost |= names | of_unknown if is_open else set()
            outside = []
    of_lost &= known
    for cls, objects in m.store.lost_objects.items() if of_lost else ():
        own = _methods_of(cls, of_lost, read)
        if own:  # something unknown in what is lost may be any of these objects again
            found += [*own, UNKNOWN] if m.reach.is_open else [*own, *objects.values()]
    if found:
        not_followed(m, found)


def _methods_of(cls: Class, names: Set[str], read: Set[str]) -> list[Value]:
    """Return the methods of some names of a class; of a name that is only `read`, what that runs: a property or a descriptor."""
    holding = [one for one in cls.lineage() if not one.slots.keys().isdisjoint(names)]
    if not holding:
        return []
    held = [(name, cls.lookup(name)) for name in {name for one in holding for name in names & one.slots.keys()}]
    return [
        one
        for name, one in held
        if (isinstance(one, Function) and (name not in read or one.decorators)) or (name in read and isinstance(one, Instance))
    ]
