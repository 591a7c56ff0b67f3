"""What an expression can be known to be on the Target, and where that was decided."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import field, replace
from typing import Any, TypeAlias

from mpslint.core.record import record

MOST_ALTERNATIVES = 4
"""A value that could be more things than these is Unknown."""
BEHIND = 1 << 20
"""From this key on a list has what stands in it somewhere, behind items that are not known: `[*others(), 1]`."""
MOST_CLASSES = 200
"""Classes above a class that are looked at: real programs have a few, and each look takes as long as there are."""

TRAIT, CHILD = "trait", "child"
"""What the keys of slots begin with that hold traits, and what moves with a module without being one of its attributes."""
LENGTHS = (TRAIT, "lengths")
"""The trait that says up to which lengths a value was cut or filled, or of what it is the longest."""

Slots: TypeAlias = dict[Any, "Value"]

PassKey: TypeAlias = tuple[ast.AST, tuple["ast.AST | None", ...]]
"""A pass through a module: its call, and the calls that led there."""


count_made: Callable[[], int] = itertools.count().__next__
"""Return how many lists, dicts, objects and functions were made before: what is made later has a higher number."""


class Names(dict[Any, "Value"]):
    """The slots of a frame. A name that only one path sets has that path's value wherever it can be read at all."""


@record(frozen=True, slots=True, eq=False)
class Known:
    """A constant: None, bool, int, float, complex, str, bytes or Ellipsis."""

    value: Any
    origin: ast.AST | None = None
    """The expression that decided it."""
    weak: bool = False
    """It is a default that the command line, or a caller elsewhere, may change."""
    source: str = ""
    """The platform question it answers, such as the qualified name of a function that was asked."""
    others: tuple[ast.AST, ...] = ()
    """The expressions that decided the same on other paths."""


@record(frozen=True, slots=True)
class AutogradGraph:
    """Whether a tensor carries a graph, and the passes through modules that it was computed in, with a graph or without."""

    is_there: bool
    passes: frozenset[PassKey] = frozenset()

    def __bool__(self) -> bool:
        return self.is_there


Lengths: TypeAlias = tuple["int | None", ...]


class AtMost(int):
    """The length of a dimension of a batch, which the last batch may not reach."""


@record(frozen=True, slots=True)
class Shape:
    """What the program says of a tensor's dimensions."""

    lengths: Lengths
    """The length of each, None where that isn't known."""
    memory: Lengths | None
    """The lengths of the tensor in whose memory it lies; None for one that repeats its numbers (`expand`)."""

    def copied(self) -> Shape:
        """Return the shape of a copy, which has a memory of its own; whether one that repeats numbers is copied isn't known."""
        return Shape(self.lengths, self.lengths if self.memory is not None else None)


@record(frozen=True, slots=True, eq=False)
class Unknown:
    """Anything; `reason` says why, for people (`command line`, `another file`, `loop`)."""

    reason: str = ""
    answer: bool | None = None
    """Whether it counts as true, where at least that is known."""
    source: str = ""
    """The platform question that decides that."""
    text: ast.JoinedStr | None = None
    """The f-string that writes it, of which a part is known."""


@record(frozen=True, slots=True, eq=False)
class OneOf:
    """One of a few values, by a path that is not known."""

    values: tuple[Value, ...]


@record(frozen=True, slots=True, eq=False)
class Symbol:
    """A name of an outside module, by its full dotted name."""

    name: str
    origin: ast.AST | None = None


@record(frozen=True, slots=True, eq=False)
class DictEntry:
    """A value in a dict or list, and the expression that wrote it there."""

    value: Value
    node: ast.AST | None = None
    is_sure: bool = True
    """False where it may not be there."""


@record(eq=False, slots=True)
class Items:
    """A list, tuple or set display: its values, or an unknown number of unknown ones when `open` is set."""

    kind: str
    slots: Slots
    origin: ast.AST | None = None
    open: bool = False
    each: Value | None = None
    """What the others have in common, where it is open."""
    sources: tuple[tuple[Value, Slots], ...] = ()
    """What an iterator goes through, each with the content that it had."""
    source: str = ""
    """The platform question whose answer it is made of."""
    born: int = field(default_factory=count_made)
    """When it was made, by a count of all."""

    def values(self) -> list[Value]:
        """The values, in order."""
        return [self.slots[index] for index in sorted(self.slots)]


@record(eq=False, slots=True)
class Mapping:
    """A dict: what is known of its entries; `open` when it may hold others, or other values for unknown keys."""

    slots: dict[Any, Any]
    """Key -> Entry."""
    origin: ast.AST | None = None
    is_open: bool = False
    owner: Instance | None = None
    """The object whose `__dict__` it is: its entries are the object's attributes."""
    each: Value | None = None
    """What the other values have in common, where it is open."""
    born: int = field(default_factory=count_made)
    """When it was made, by a count of all."""


@record(eq=False, slots=True)
class Instance:
    """An object: what a call returned, or an attribute of such an object. `name` is the qualified name of what was called."""

    name: str
    call: Call | None = None
    slots: Slots = field(default_factory=dict)
    cls: Class | None = None
    owner: Instance | None = None
    """The object that it is an attribute of."""
    fallback: str = ""
    """Why an attribute that is not in `slots` is Unknown (`command line`)."""
    kind: str = ""
    """The class of a value with traits (`torch.Tensor`), which `slots` hold beside its attributes; '' for one without, or not known."""
    proxied: Instance | None = None
    """The object that `super()` stands for."""
    born: int = field(default_factory=count_made)
    """When it was made, by a count of all."""

    def written_slots(self) -> Slots:
        """Return the slots that the program wrote: no traits, and none that only remember an attribute that was read."""
        return {key: value for key, value in self.slots.items() if not (is_trait(key) or self.only_read(key))}

    def only_read(self, key: Any) -> bool:
        """Return whether a slot holds the object that reading an attribute of an outside object made."""
        value = self.slots[key]
        return isinstance(value, Instance) and value.owner is self and value.call is None and value.name == f"{self.name}.{key}"


def is_trait(key: Any) -> bool:
    """Return whether a slot holds a trait of an object, and none of its attributes."""
    return isinstance(key, tuple) and key[0] in (TRAIT, CHILD)


@record(eq=False, slots=True)
class Module:
    """A module of the program: its names, and the outside modules of which it imports everything."""

    name: str
    """As `__name__` says: `__main__` for the file that is started."""
    path: str
    """The absolute path of its file; '' for a folder without `__init__.py`."""
    slots: Names
    folder: str = ""
    """The folder that its submodules lie in, for a package."""
    stars: list[str] = field(default_factory=list)


@record(eq=False, slots=True)
class Frame:
    """The names of a module, class body or function call."""

    slots: Names
    parent: Frame | None = None
    declared_global: set[str] = field(default_factory=set)
    declared_nonlocal: set[str] = field(default_factory=set)
    home: Module | None = None
    """For the frame of a module: the module, unless it is the file that is started."""
    is_comprehension: bool = False
    is_class: bool = False
    """Whether it holds the names of a class body, which nothing inside sees."""
    own_names: frozenset[str] = frozenset()
    """The names that a function assigns somewhere."""

    def having(self, name: str) -> Frame | None:
        """Return the frame in which a name has a value, itself or one around it; None where none has."""
        frame: Frame | None = self
        while frame is not None and name not in frame.slots:
            frame = frame.parent
        return frame

    @property
    def outermost(self) -> Frame:
        """The frame of the module that it is in."""
        return self if self.parent is None else self.parent.outermost


@record(eq=False, slots=True)
class Function:
    """A function or lambda of the program."""

    node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
    frame: Frame
    decorators: tuple[Value, ...] = ()
    defaults: tuple[Value, ...] = ()
    keyword_defaults: tuple[Value | None, ...] = ()
    cls: Class | None = None
    setter: Function | None = None
    """What writes the property that it reads."""
    deleter: Function | None = None
    """What deletes it."""
    born: int = field(default_factory=count_made)
    """When it was made, by a count of all."""

    def with_accessors(self, setter: Function | None, deleter: Function | None) -> Function:
        """Return the property, written and deleted by other functions."""
        return Function(self.node, self.frame, self.decorators, self.defaults, self.keyword_defaults, self.cls, setter, deleter)

    @property
    def name(self) -> str:
        """The name it was defined by."""
        return "<lambda>" if isinstance(self.node, ast.Lambda) else self.node.name

    def is_a(self, kind: str) -> bool:
        """Return whether Python's own decorator of a name made it: `property`, `classmethod`, `staticmethod`."""
        return any(isinstance(one, Symbol) and one.name == f"builtins.{kind}" for one in self.decorators)


@record(eq=False, slots=True)
class Class:
    """A class of the program."""

    node: ast.ClassDef
    slots: Slots
    bases: tuple[Value, ...] = ()
    decorators: tuple[Value, ...] = ()
    fields: tuple[str, ...] = ()
    """The annotated names of its body, in order: the fields if it is a dataclass."""
    kinds: dict[str, str] = field(default_factory=dict)
    """Which of them are given by keyword only, and which are passed on to what runs after the others are filled, and not kept."""
    frame: Frame | None = None
    """Where the names in its annotations mean something."""
    _above: tuple[Value, ...] | None = None
    _lineage: tuple[Class, ...] = ()
    _outside: tuple[str, ...] | None = None
    born: int = field(default_factory=count_made)
    """When it was made, by a count of all."""

    def bases_above(self) -> tuple[Value, ...]:
        """Return the classes above, in the order in which Python looks through them: each once, behind all that derive from it."""
        waiting = [self] if self._above is None else []
        while waiting:
            one = waiting[-1]
            if missing := [base for base in one.bases if isinstance(base, Class) and base._above is None]:
                waiting += missing
                continue
            above = [inner for base in one.bases for inner in ((base, *base.bases_above()) if isinstance(base, Class) else (base,))]
            one._above = tuple(dict.fromkeys(reversed(above)))[::-1][:MOST_CLASSES]
            waiting.pop()
        return self._above or ()

    def lineage(self) -> tuple[Class, ...]:
        """The class and those of the file that it derives from, nearest first."""
        self._lineage = self._lineage or (self, *(one for one in self.bases_above() if isinstance(one, Class)))
        return self._lineage

    def outside_bases(self) -> tuple[str, ...]:
        """The qualified names of the classes of other modules that it derives from, nearest first."""
        if self._outside is None:
            self._outside = tuple(base.name for base in self.bases_above() if isinstance(base, Symbol))
        return self._outside

    def all_fields(self) -> tuple[str, ...]:
        """The fields if it is a dataclass, those of its bases in the file first."""
        return tuple(dict.fromkeys(name for cls in reversed(self.lineage()) for name in cls.fields))

    def makers(self) -> tuple[str, ...]:
        """The qualified names of what may say that its annotated names are fields: of the classes outside, and of its decorators."""
        return (*self.outside_bases(), *(one.name for one in self.decorators if isinstance(one, (Instance, Symbol))))

    def above(self, name: str) -> Value | None:
        """Return an attribute of the bases in the file, or None; unknown where other bases may have taken their place."""
        if BASES in self.slots:
            return MAYBE
        return _looked_up(self.lineage()[1:], name)

    def lookup(self, name: str) -> Value | None:
        """Return an attribute of the class or of its bases in the file, or None; unknown where other bases may have taken their place."""
        return _looked_up(self.lineage() if self.bases else (self,), name)


def method_of(value: Value | None, name: str) -> Function | None:
    """Return the method that the class of an object of the program has under a name, or None."""
    found = value.cls.lookup(name) if isinstance(value, Instance) and value.cls is not None else None
    return found if isinstance(found, Function) else None


def _looked_up(lineage: Sequence[Class], name: str) -> Value | None:
    for cls in lineage:
        if name in cls.slots:
            return cls.slots[name]
        if BASES in cls.slots:
            return MAYBE
    return None


@record(frozen=True, slots=True, eq=False)
class Bound:
    """A method of the program with its object, or a named method of an outside object."""

    receiver: Value
    name: str
    function: Function | None = None
    born: int = field(default_factory=count_made)
    """When it was made, by a count of all."""


Value: TypeAlias = Known | Unknown | OneOf | Symbol | Items | Mapping | Instance | Function | Class | Bound | Module

Part: TypeAlias = Items | Mapping | Instance | Function | Class | Bound
"""What can be changed, or can change something, by whoever gets hold of it."""

UNKNOWN = Unknown()
LATER: Slots = {}
"""The content of what an iterator goes through, where each of its items is worked out only when it is asked for."""
LOOP = Unknown("loop")
IN_EACH_ROUND = 0
"""When a list or dict was made that no one has yet: a loader, or a generator, makes another one for each round of a loop."""
BASES = "__bases__"
"""The attribute of a class that nothing has asked about unless the program writes it."""
MAYBE = Unknown("another path")
"""What an attribute is that only some paths set."""
RAISED = Unknown("raised")
"""What an operation gives that certainly raises: nothing, so that of it and another value the other one is left."""
COMMAND_LINE = Unknown("command line")


def settled(value: Value) -> Value:
    """Return a value as it is kept under a name: of an iterator nothing is known once something else may happen before it is used."""
    return Items("iterator", {}, value.origin, True) if isinstance(value, Items) and value.kind == "iterator" else value


def origin_of(value: Value) -> ast.AST | None:
    """Return the expression that decided a value, where there is one."""
    return getattr(value, "origin", None)


def alternatives_of(value: Value) -> tuple[Value, ...]:
    """Return the values that a value can be: itself, unless it is a OneOf."""
    return value.values if isinstance(value, OneOf) else (value,)


def made_from(value: Value, depth: int = 6) -> Iterator[Value]:
    """Yield what a value can be, and what that is a part of or was made from: of `enumerate(tqdm(loader))`, the loader too."""
    for one in alternatives_of(value):
        yield one
        if isinstance(one, Instance) and depth:
            given = one.call.arguments if one.call is not None else ()
            for part in (*([one.owner] if one.owner is not None else ()), *(argument.value for argument in given)):
                yield from made_from(part, depth - 1)


def is_weak(value: Value) -> bool:
    """Return whether a value rests on a default that may be changed from outside."""
    return (isinstance(value, Known) and value.weak) or (isinstance(value, OneOf) and any(is_weak(v) for v in value.values))


def weakened(value: Value) -> Value:
    """Return the value, marked as a default that may be changed from outside."""
    if isinstance(value, Known) and not value.weak:
        return Known(value.value, value.origin, True, value.source, value.others)
    if isinstance(value, OneOf):
        return OneOf(tuple(weakened(alternative) for alternative in value.values))
    return value


FunctionNode: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda


Loop: TypeAlias = ast.For | ast.AsyncFor | ast.While | ast.comprehension


@record(frozen=True, slots=True, eq=False)
class Guard:
    """A test that surrounds a statement and that the Target does not decide.

    `default` is the answer when it rests on a default (a flag's, say), else None; `taken` the one here. `is_check`: the other ends it all.
    """

    test: ast.expr
    taken: bool
    default: bool | None = None
    is_check: bool = False
    answers: dict[object, bool] = field(default_factory=dict)
    """What `any_guard` found out about this test and those before it."""

    @property
    def text(self) -> str:
        """The test as Python."""
        known = vars(self.test)  # an `elif` stands under all tests before it: each is written out once, and not once for each of them
        if "written_out" not in known:
            known["written_out"] = ast.unparse(self.test)
        return str(known["written_out"])


def any_guard(guards: Sequence[Guard], question: object, holds: Callable[[Guard], bool]) -> bool:
    """Return whether something holds for one of the tests around a place. Each is asked once, as the same tests always come before it."""
    known = len(guards)
    while known and question not in guards[known - 1].answers:
        known -= 1
    answer = known > 0 and guards[known - 1].answers[question]
    for guard in guards[known:]:
        answer = guard.answers[question] = answer or holds(guard)
    return answer


@record(frozen=True, slots=True, eq=False)
class Context:
    """What surrounds a statement on the path by which it was reached."""

    functions: tuple[FunctionNode, ...] = ()
    """The functions it is in, outermost first, by the calls that led there."""
    loops: tuple[Loop, ...] = ()
    """The loops of the innermost function, outermost first."""
    outer_loops: tuple[tuple[Loop, ...], ...] = ()
    """The loops around each of the calls that led there, outermost call first."""
    managers: tuple[Value, ...] = ()
    """The values of `with` and of decorators in force, outermost first."""
    guards: tuple[Guard, ...] = ()
    handlers: tuple[tuple[str, ...], ...] = ()
    """The exceptions (qualified names; '' for all) that each surrounding `try` catches."""
    in_handler: bool = False
    under_main: bool = False
    """Inside `if __name__ == "__main__"`, or in a function called from there."""
    called: bool = True
    """False for the body of a function that nothing in the file calls: its parameters are not known."""
    calls: tuple[ast.AST | None, ...] = ()
    """The call by which each of the functions was entered; None for one that something outside calls."""

    @property
    def all_loops(self) -> tuple[Loop, ...]:
        """The loops around a place, those around the calls that led there first."""
        return (*(loop for loops in self.outer_loops for loop in loops), *self.loops)

    def entered(self, function: FunctionNode, decorators: tuple[Value, ...], is_called: bool, call: ast.AST | None = None) -> Context:
        """Return the context of the body of a function that is called from here."""
        return replace(
            self,
            functions=(*self.functions, function),
            loops=(),
            outer_loops=(*self.outer_loops, self.loops),
            managers=(*self.managers, *decorators),
            called=self.called and is_called,
            calls=(*self.calls, call),
        )


@record(frozen=True, slots=True, eq=False)
class Argument:
    """One argument of a call: its value, and the expression that wrote it for this call."""

    value: Value
    node: ast.AST | None
    """The expression of the argument, or of the entry in the dict that was unpacked."""
    keyword: ast.keyword | None = None
    unpacked: bool = False
    """It came by `**mapping`."""


@record(frozen=True, slots=True, eq=False)
class Call:
    """A call of something outside the program, or of a class of the program that derives from something outside."""

    node: ast.Call
    names: tuple[str, ...]
    """The qualified names it goes by: its own, then those of the outside classes it derives from. Empty when not known."""
    method: str
    """The attribute that was called (`to` in `model.to("mps")`), or ''."""
    receiver: Value | None
    arguments: tuple[Argument, ...]
    keywords: dict[str, Argument]
    is_open: bool
    """Other arguments may come from `*args` or `**kwargs` that are not known."""
    context: Context
    result: Instance | None = None
    inherited: dict[str, Argument] = field(default_factory=dict)
    """Defaults that a class of the program sets for fields of the outside class that it derives from."""
    unpacked: tuple[Value, ...] = ()
    """Objects given by `**` whose entries are not known."""
    is_parsed: bool = False
    """A parser of the command line makes it: `node` is the parser's call, which takes none of these arguments."""

    @property
    def name(self) -> str:
        """The first of `names`, or ''."""
        return self.names[0] if self.names else ""

    @property
    def given(self) -> list[Value]:
        """What it is given, by position and by name."""
        return [argument.value for argument in (*self.arguments, *self.keywords.values())]

    @property
    def operands(self) -> list[Value]:
        """What it is a method of, and what it is given."""
        return self.given if self.receiver is None else [self.receiver, *self.given]
