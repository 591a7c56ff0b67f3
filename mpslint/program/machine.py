"""The state of the evaluator, and the small verbs that every part of it uses."""

from __future__ import annotations

import ast
import builtins
import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from pathlib import Path
from typing import Any, Protocol

from mpslint.core.record import record
from mpslint.core.versions import Version
from mpslint.facts.facts import EnvironmentWrite, Facts, Preparation
from mpslint.facts.joined import join_all, truth
from mpslint.facts.values import (
    UNKNOWN,
    Argument,
    Class,
    Context,
    DictEntry,
    Frame,
    Function,
    Guard,
    Instance,
    Items,
    Known,
    Module,
    Names,
    Symbol,
    Unknown,
    Value,
    settled,
)
from mpslint.facts.values import Mapping as DictValue
from mpslint.program.exits import RAISING, Exit, Raised, is_certain, may_raise, raises
from mpslint.program.places import HOLDING, Writes, entries_of
from mpslint.program.platform import Platform
from mpslint.program.reach import Reach
from mpslint.program.rounds import Round
from mpslint.program.store import Store
from mpslint.source.document import Document
from mpslint.tensors.arguments import CallArguments

COMMAND_WORDS = "sys.argv"
"""Where the words of the command line lie, and the slot of a module that holds those that the program sets itself."""
PATCHED = "patched"
"""Where a module holds what the program gave names of other modules, by these names."""


class Loader(Protocol):
    """What gives the modules of the project that a run imports."""

    def load(self, m: Walker, name: str, level: int) -> Module | None:
        """Return the module that an import means, walked; None for one outside the project."""

    def submodule(self, m: Walker, module: Module, name: str) -> Module | None:
        """Return a module in a package, walked; None where there is none."""

    def load_config(self, m: Walker, path: str, is_weak: bool, is_resolved: bool = False) -> Value | None:
        """Return what a configuration file of the run holds, its references followed or not; None for any other."""

    def load_variables(self, m: Walker, path: str) -> Sequence[EnvironmentWrite]:
        """Return the variables that a file of the run sets (`.env`); none of any other file."""

    @property
    def configs_read(self) -> int:
        """How many times a configuration file of the run was read."""

    def words(self) -> Sequence[Argument] | None:
        """Return the words with which the script is started, behind its name; None where nothing says which."""

    def is_told_all(self) -> bool:
        """Return whether these are all words, so that what they leave open has its default."""

    def body(self, m: Walker, path: str) -> Sequence[ast.stmt] | None:
        """Return the statements of a Python file of the run that a path means; None for a file outside the run."""

    def module_at(self, m: Walker, path: str) -> Module | None:
        """Return the module that a Python file of the run is, walked; None for a path that means none of its files."""

    def compose_config(self, m: Walker, folder: str, name: str, written: Sequence[Argument] | None) -> Value | None:
        """Return the configuration that Hydra composes of a folder beside the code that is walked; None where a file is missing."""


MOST_STEPS = 300_000
"""Expressions evaluated in one file before the evaluator stops following calls."""
LOOKS_OF_A_STEP = 5
"""Looks that take as long as a step."""
DEEPEST_CALL = 12
BUILTINS = frozenset(dir(builtins))
NOTHING_READ = frozenset[str]()


@record(frozen=True, slots=True)
class Calls:
    """What follows calls, for the parts of the evaluator that it rests on itself."""

    call_function: Callable[[Walker, Function, Sequence[Value], dict[str, Value], bool, ast.AST | None], Value]
    """Walk a function with positional and keyword arguments, which may be open; what it returns."""
    call_value: Callable[[Walker, Value, Value | None, CallArguments, ast.Call], Value]
    """Call whatever a value is, with its receiver; what that gives."""
    call_with: Callable[[Walker, Value, Sequence[Value], ast.Call], Value]
    """Call whatever a value is with positional arguments; what that gives."""
    call_outside: Callable[[Walker, Value, Value | None, CallArguments, ast.Call], Value]
    """Call something outside the program; what that gives."""
    instantiate: Callable[[Walker, Class, CallArguments, ast.Call | None], Value]
    """Make an object of a class of the program."""
    by_python: Callable[[Walker, Sequence[Value], frozenset[str], frozenset[str]], None]
    """Note that Python itself may call methods of some names that values have."""
    by_syntax: Mapping[type[ast.expr], frozenset[str]]
    """The methods that an expression may call of its parts."""


@record()
class Walker:
    """Everything the evaluator knows while it walks a program."""

    platform: Platform
    versions: Mapping[str, Version]
    how_known: Callable[[str], int]
    """How well rules know a qualified name (0 for not at all): what `from module import *` may have brought."""
    offset: Callable[[int, int], int]
    """The offset in the Document for a line and a UTF-8 column of `ast`."""
    handlers: Mapping[type[ast.expr], Callable[[Walker, Any], Value]]
    """What evaluates each kind of expression."""
    execute_block: Callable[[Walker, Sequence[ast.stmt]], bool]
    """Walk statements; true when the path leaves them early."""
    read_attribute: Callable[[Walker, Value, str, ast.expr | None], Value]
    calls: Calls
    known_roots: frozenset[str]
    """The outside packages that dialects and rules know something of."""
    document: Document
    store: Store = field(default_factory=Store)
    reach: Reach = field(default_factory=lambda: Reach(lasts=True))
    """What a call of something that is not known can get hold of."""
    facts: Facts = field(default_factory=Facts)
    module: Frame = field(default_factory=lambda: Frame(Names()))
    context: Context = field(default_factory=Context)
    frame: Frame = field(default_factory=lambda: Frame(Names()))
    exits: list[Exit] = field(default_factory=list)
    """What a path that leaves early leaves for, innermost last."""
    running: list[tuple[ast.AST, Sequence[Value]]] = field(default_factory=list)
    """The functions that are walked, innermost last, with what each was given."""
    yields: list[tuple[Value, Value]] = field(default_factory=list)
    """What the generator that is walked has given so far, and what is known of that."""
    begun: int = 0
    """When it was begun, by a count of all that is made."""
    is_dead: bool = False
    """The expression that is evaluated certainly raised in a `try` block: what is left of its statement does not happen."""
    functions: dict[int, Function] = field(default_factory=dict)
    """Every function that was defined, by the id of its node, in order."""
    factories: dict[int, Value] = field(default_factory=dict)
    """What makes the values of fields, by the id of the call that says so (`field(default_factory=...)`)."""
    methods: set[str] = field(default_factory=set)
    """The names of those that are methods."""
    asked: dict[tuple[frozenset[str], frozenset[str], int], tuple[frozenset[str], frozenset[str]]] = field(default_factory=dict)
    """Those of some names that Python may call of a value, and the names of what it may call of an unknown one, by how many are known."""
    holding: set[str] = field(default_factory=set)
    """The names of attributes that may hold something which can be called."""
    analysed: set[int] = field(default_factory=set)
    """The ids of function nodes whose body was walked at least once."""
    written: dict[ast.AST, frozenset[str]] = field(default_factory=dict)
    """The attributes that methods write to their objects, of those that were asked."""
    handed: dict[tuple[int, ...], tuple[Value, ...]] = field(default_factory=dict)
    """The functions and methods that something outside was given, by the ids of the function and of the object."""
    kept: dict[Any, Value] = field(default_factory=dict)
    """What functions gave that are called once for the same arguments, by when they were made and the arguments."""
    instances: dict[int, Instance] = field(default_factory=dict)
    """The first object made of each class of the program, by the id of the class."""
    star_modules: list[str] = field(default_factory=list)
    """The modules of which `from module import *` was seen."""
    project: Loader | None = None
    """What loads the modules of the project; None where a file is read by itself."""
    has_premises: bool = False
    """Whether parameters that nothing gives a value are taken for what they are on a Mac."""
    own_device: Value | None = None
    """The device that the program chooses for itself: what such a parameter is given, where it is one."""
    instead: Mapping[int, object] = field(default_factory=dict)
    """What constants are taken for, by the id of their node: the values that a fix would write in their place."""
    preparation: Preparation | None = None
    """What a function is walked for once more that samples are handed to."""
    dropped: ast.AST | None = None
    """The call that is a statement of its own: nothing takes its result."""
    operands: list[Value] = field(default_factory=list)
    """The values of the parts of the expressions that are evaluated, where something can be in them."""
    stubs: tuple[Path, ...] = ()
    """Folders of stubs of the user's own."""
    stub_steps: int = 0
    """Steps that were taken in stubs."""
    steps: int = 0
    """How many expressions were walked."""
    looks: int = 0
    """How many values and names were looked through for what code that isn't followed may write."""
    silent_steps: int = 0
    """How many of them were spent on the rounds of loops."""
    repeated_steps: int = 0
    """How many others were spent on walks of loops that were walked anew."""
    round: Round | None = None
    """The walk of the body of a loop, the innermost; None outside loops that are walked as any of their rounds."""
    is_silent: bool = False
    """Facts are not recorded: the path is walked for its values only."""
    is_in_comprehension: bool = False
    """The rounds of a comprehension are walked, one by one."""
    is_told: bool = False
    """What happens to tensors is recorded on a silent path, too: the rounds of a loop, which are known, are walked one by one."""

    @property
    def is_mute(self) -> bool:
        """Whether what happens to tensors isn't recorded."""
        return self.is_silent and not self.is_told

    @property
    def is_exhausted(self) -> bool:
        """Whether the step budget is spent."""
        return self.steps + self.looks // LOOKS_OF_A_STEP > MOST_STEPS

    def value(self, node: ast.expr) -> Value:
        """Return what an expression is known to be, and record what it does on the way."""
        self.steps += 1
        handler = self.handlers.get(node.__class__)
        if handler is None:
            return UNKNOWN
        start = len(self.operands)
        try:
            value = handler(self, node)
        except Raised as error:
            raises(self, error, node)
            return UNKNOWN
        if len(self.operands) > start:
            self.store.lose_operands(node, value, self.operands[start:])
            if self.methods and node.__class__ in self.calls.by_syntax:
                is_read = isinstance(node, ast.Attribute) and (node.attr in self.methods or node.attr in self.holding)
                read = frozenset((node.attr,)) if is_read else NOTHING_READ  # type: ignore[attr-defined]
                self.calls.by_python(self, self.operands[start:], self.calls.by_syntax[node.__class__], read)
            del self.operands[start:]
        if value.__class__ in HOLDING or value.__class__ is Unknown:
            self.operands.append(value)
            if value.__class__ is DictValue and value.owner is not None:
                value.slots = entries_of(value.owner)
        if self.exits and isinstance(node, RAISING) and not is_certain(value):
            may_raise(self)
        return value

    def branch(self, node: ast.expr, within: contextlib.AbstractContextManager[None] | None = None) -> tuple[Value, Writes | None]:
        """Return what an expression is that may not be evaluated at all, and what it then writes; None where it certainly raises.

        `within` is what holds while it is evaluated.
        """
        with self.store.path() as writes, within or contextlib.nullcontext():
            value = self.value(node)
        is_dead, self.is_dead = self.is_dead, False
        return value, None if is_dead else writes

    def truth(self, value: Value) -> bool | None:
        """Return whether a value counts as true, None when that is not known; a question that is not called (`is_available`) does."""
        answer = truth(value)
        return True if answer is None and isinstance(value, Symbol) and value.name in self.platform.results else answer

    def one_of(self, ways: Sequence[Callable[[], Value]]) -> Value:
        """Return what one of several ways gives, of which one is taken: one that raises isn't it. Raises Raised where all do."""
        results: list[Value] = []
        paths: list[Writes] = []
        for way in ways:
            with self.store.path() as written, contextlib.suppress(Raised):
                result = way()
                results += [] if self.is_dead else [result]
            paths += [written] if len(results) > len(paths) else []
            self.is_dead = False
        if len(paths) < len(ways):
            may_raise(self)
        if not paths:
            raise Raised("")
        self.store.merge(*paths)
        result = join_all(results)
        if isinstance(result, Unknown):
            self.store.lose_inside(results, is_whole=True)
        return result

    @contextlib.contextmanager
    def perhaps(self, is_sure: bool = False) -> Iterator[None]:
        """Carry out what may not happen, unless it `is_sure`: each place that it writes may have kept what it had, and it may raise."""
        if is_sure:
            yield
            return
        try:
            with self.store.path() as written:
                yield
        except Raised:
            self.is_dead = True
        self.store.merge(written, {})
        if self.is_dead:
            self.is_dead = False
            may_raise(self)

    def attribute(self, base: Value, name: str, node: ast.expr | None) -> Value:
        """Return the attribute of a value."""
        return self.read_attribute(self, base, name, node)

    def is_known_module(self, value: Value | None) -> bool:
        """Return whether a value is a name inside a package that rules know, so that calling its attribute is no method call."""
        return isinstance(value, Module) or (isinstance(value, Symbol) and value.name.split(".")[0] in self.known_roots)

    def lookup(self, name: str) -> Value:
        """Return what a name stands for in the current frame."""
        frame: Frame | None = self.frame
        while frame is not None:
            value = frame.slots.get(name)
            if value is not None:
                is_shadowing = frame.is_class or (name in BUILTINS and value.__class__ is not Instance)
                return self._or_outer(frame, name, value) if is_shadowing else value
            if name in frame.own_names:
                return UNKNOWN
            frame = frame.parent
        home = self.home
        if name == "__name__":
            return Known(home.name if home is not None else "__main__")
        if name in BUILTINS:
            return self.patched(f"builtins.{name}") or Symbol(f"builtins.{name}")
        stars = self.stars
        candidates = [self.platform.imported(module, name) for module in stars]
        best = max(candidates, key=self.how_known, default="")
        if not (best and self.how_known(best)):
            best = self.platform.brought.get(name, "") if stars else ""
        return Symbol(best) if best else UNKNOWN

    def _or_outer(self, frame: Frame, name: str, value: Value) -> Value:
        """Return what a name is that a frame has: where only some paths gave it its value, others find that of the frames around it."""
        if (id(frame.slots), name) not in self.store.unsure or name in frame.own_names:
            return value
        outer = frame.parent.having(name) if frame.parent is not None else None
        if outer is None and name not in BUILTINS:
            return value
        self.store.lose_inside([value, *([outer.slots[name]] if outer is not None else [])], is_whole=True)
        return UNKNOWN

    def patched(self, name: str) -> Value | None:
        """Return what the program gave a name of another module (`json.loads = mine`), None where it did not."""
        value = self.module.slots.get((PATCHED, name))
        return UNKNOWN if (id(self.module.slots), (PATCHED, name)) in self.store.unsure else value

    def is_bound(self, name: str) -> bool:
        """Return whether a statement gave a name a value that holds in the current frame."""
        return self.frame.having(name) is not None

    def owner_of(self, name: str) -> Frame:
        """Return the frame that Python looks in for a name without a value: that of the function which assigns it, or of the module."""
        frame = self.frame
        while name not in frame.own_names and frame.parent is not None:
            frame = frame.parent
        return frame

    def is_surely_bound(self, name: str, value: Value) -> bool:
        """Return whether a name that was read as a value has one on every path, as far as that is known."""
        if name in self.frame.slots and name in self.frame.own_names:
            return (id(self.frame.slots), name) not in self.store.unsure
        frame, owner = self.frame.having(name), self.owner_of(name)
        if owner.parent is not None and name not in owner.slots:
            return False
        return not isinstance(value, Unknown) if frame is None else (id(frame.slots), name) not in self.store.unsure

    def bind(self, name: str, value: Value) -> None:
        """Give a name a value in the current frame, or where it was declared to be (`global`, `nonlocal`)."""
        if isinstance(value, Items) and value.kind == "iterator":
            self.store.lose((value.slots, True))
        self.store.write(self.home_of(name).slots, name, settled(value))

    def bind_outside(self, name: str, value: Value) -> None:
        """Give a name a value in the frame around the comprehensions that are walked (`:=`)."""
        before = self.frame
        while self.frame.is_comprehension and self.frame.parent is not None:
            self.frame = self.frame.parent
        self.bind(name, value)
        self.frame = before

    def looked_at(self, node: ast.expr) -> Value:
        """Return what an expression is, once more: what it does was noted before."""
        exits, self.exits = self.exits, []
        try:
            with self.silently(), self.store.path():
                return self.value(node)
        finally:
            self.exits = exits

    @contextlib.contextmanager
    def silently(self, is_so: bool = True) -> Iterator[None]:
        """Walk something for its values only, where that `is_so`."""
        before = self.is_silent, self.is_told
        self.is_silent, self.is_told = self.is_silent or is_so, self.is_told and not is_so
        try:
            yield
        finally:
            self.is_silent, self.is_told = before

    @contextlib.contextmanager
    def leaving(self, *kinds: str, stops: bool = True, passes: bool = False) -> Iterator[tuple[Exit, Writes]]:
        """Walk a path by itself that may be left in some ways; give what notes these, and what it wrote."""
        target = Exit(kinds, len(self.store.journals), stops=stops, passes=passes)
        self.exits.append(target)
        try:
            with self.store.path() as written:
                yield target, written
        finally:
            self.exits.pop()

    def home_of(self, name: str) -> Frame:
        """Return the frame that a name which is bound here belongs to."""
        if name in self.frame.declared_global:
            return self.root
        frame = self.frame
        while name in frame.declared_nonlocal and frame.parent is not None:
            frame = frame.parent
            while (
                name not in frame.slots
                and name not in frame.declared_nonlocal
                and frame.parent is not None
                and frame.parent.parent is not None
            ):
                frame = frame.parent
        return frame

    def write_entry(self, mapping: DictValue, key: Any, entry: DictEntry) -> None:
        """Write an entry of a dict."""
        self.store.change(mapping, {**mapping.slots, key: entry}, mapping.is_open)

    @property
    def is_in_try(self) -> bool:
        """Whether an exception may be caught."""
        return any("raise" in target.kinds and target.stops for target in self.exits)

    @property
    def root(self) -> Frame:
        """The frame of the module whose code is walked."""
        return self.frame.outermost

    @property
    def home(self) -> Module | None:
        """The module whose code is walked; None for the file that is started."""
        return self.root.home

    @property
    def stars(self) -> list[str]:
        """The outside modules of which the module whose code is walked imports everything."""
        home = self.home
        return self.star_modules if home is None else home.stars

    def new_frame(self, parent: Frame, own_names: frozenset[str] = frozenset()) -> Frame:
        """Return an empty frame inside another; of its own names it never asks those around it."""
        while parent.is_class and parent.parent is not None:
            parent = parent.parent
        frame = Frame(Names(), parent, own_names=own_names)
        self.facts.frames.append(frame)
        return frame

    def made(self, made: Instance) -> Instance:
        """Return a new object, noted among those that will be released."""
        self.facts.objects.append(made)
        return made

    def shared(self, name: str, reason: str = "command line") -> Instance:
        """Return the object of a library that a name stands for everywhere in the program; the `reason` is why more of it isn't known."""
        known = self.module.slots.get(("shared", name))
        if not isinstance(known, Instance):
            known = self.module.slots["shared", name] = self.made(Instance(name, fallback=reason))
        return known

    def words(self) -> Sequence[Argument] | None:
        """Return the words of the command line behind the name of the script, as the program itself set them, else as it is started.

        None where nothing says which.
        """
        if COMMAND_WORDS not in self.module.slots:
            return self.project.words() if self.project is not None else None
        own = self.module.slots[COMMAND_WORDS]
        if not isinstance(own, Items):
            return None
        # A fix writes where a value is used: a word in a list of words is no place for `x if torch.cuda.is_available() else y`.
        return [Argument(Known(value.value) if isinstance(value, Known) else value, None) for value in own.values()[1:]]

    def is_told_all(self) -> bool:
        """Return whether these are all words, so that what they leave open has its default."""
        own = self.module.slots.get(COMMAND_WORDS)
        if own is None:
            return self.project is not None and self.project.is_told_all()
        return isinstance(own, Items) and not own.open

    @contextlib.contextmanager
    def told(self, words: Items | None) -> Iterator[None]:
        """Walk something that reads these words in place of the command line; None where it reads the command line."""
        if words is None:
            yield
            return
        slots, before = self.module.slots, self.module.slots.get(COMMAND_WORDS)
        self.store.write(slots, COMMAND_WORDS, Items("list", dict(enumerate([UNKNOWN, *words.values()])), open=words.open))
        yield
        if before is None:
            self.store.delete(slots, COMMAND_WORDS)
        else:
            self.store.write(slots, COMMAND_WORDS, before)

    def span_of(self, node: ast.AST) -> tuple[int, int]:
        """Return the offsets of a node in the Document."""
        start = self.offset(node.lineno, node.col_offset)  # type: ignore[attr-defined]
        return start, self.offset(node.end_lineno, node.end_col_offset)  # type: ignore[attr-defined]

    def within(self, **changes: Any) -> Within:
        """Walk something in a context with some parts replaced."""
        return Within(self, replace(self.context, **changes))

    def guarded(self, test: ast.expr, taken: bool, default: bool | None = None) -> Within:
        """Walk something that only runs when an undecided test comes out as `taken`."""
        return Within(self, replace(self.context, guards=(*self.context.guards, Guard(test, taken, default))))


class Within:
    """A `with` block in which a machine has another context."""

    __slots__ = ("before", "context", "machine")

    def __init__(self, machine: Walker, context: Context) -> None:
        self.machine, self.context, self.before = machine, context, machine.context

    def __enter__(self) -> None:
        self.machine.context = self.context

    def __exit__(self, *_: object) -> None:
        self.machine.context = self.before
