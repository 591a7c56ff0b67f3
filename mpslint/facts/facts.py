"""What a program does on the Target, as far as rules ask about it: calls, attribute writes, environment writes, and so on; and who reads
what it decides.

Reads are noted for values by what decided them. A value that goes from name to name, into an argument and out of it again, is followed
by the walk anyway; each expression by which it is read is noted. What is never noted was read on no path that the walk took.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import TYPE_CHECKING

from mpslint.core.finding import Span
from mpslint.core.record import record
from mpslint.facts.events import Certainty, TensorEvent
from mpslint.facts.values import Bound, Call, Class, Context, Frame, Function, Instance, Known, Loop, OneOf, PassKey, Unknown, Value

if TYPE_CHECKING:
    from mpslint.facts.entries import ConfigMapping

BY_NAME = frozenset({*(f"builtins.{name}" for name in ("globals", "locals", "eval", "exec", "__import__")), "importlib.import_module"})
"""What may read any name without writing it out."""
_DECIDED = frozenset({Known, Function, Class, Bound, OneOf, Instance})
"""The kinds of values that may be known by what decided them."""


@record(slots=True)
class Uses:
    """What was read, and what the walk came to. What is walked anew adds to it, so that it may be too much, and never too little."""

    reads: dict[ast.AST | Instance, dict[ast.expr, None]] = field(default_factory=dict)
    """The expressions by which a value is read, by what decided it: an expression, a function, a class, the call that made an object, or
    the object itself where no call made it, such as an attribute of another one."""
    unknown: set[str | ast.expr | tuple[int, str]] = field(default_factory=set)
    """What was read without being known: attributes by their name, names with the id of the slots that they are in, and calls."""
    reached: set[ast.AST] = field(default_factory=set)
    """The statements and conditional expressions that the walk came to."""
    not_followed: set[ast.AST] = field(default_factory=set)
    """The functions of which some call wasn't followed: within themselves, or too deep."""
    is_vague: bool = False
    """Whether something may read any name."""

    def read(self, node: ast.expr, value: Value) -> None:
        """Note that an expression reads a value: a name, an attribute, or a call that may look something up."""
        kind = value.__class__
        if kind is Unknown:
            if node.__class__ is not ast.Name:
                self.unknown.add(node.attr if isinstance(node, ast.Attribute) else node)
        elif kind in _DECIDED:
            decided: ast.AST | Instance | None = None
            if isinstance(value, Known):
                decided = value.origin
                for one in value.others:
                    self.reads.setdefault(one, {})[node] = None
            elif isinstance(value, Instance) and node.__class__ is not ast.Call:  # which may hand on what it got
                decided = value.call.node if value.call is not None else value
            elif isinstance(value, (Function, Class)):
                decided = value.node
            elif isinstance(value, Bound):
                decided = value.function.node if value.function is not None else None
            elif isinstance(value, OneOf):
                for alternative in value.values:
                    self.read(node, alternative)
            if decided is None:
                return
            if (reading := self.reads.get(decided)) is not None:
                reading[node] = None
            else:
                self.reads[decided] = {node: None}

    def of(self, *decided: ast.AST | Instance) -> list[ast.expr]:
        """Return the expressions by which values are read that some nodes decided, or objects that no call made."""
        return list({read: None for one in decided for read in self.reads.get(one, ())})

    def of_made(self, call: Call) -> list[ast.expr]:
        """Return the expressions by which what a call makes is read."""
        return self.of(call.node, *([call.result] if call.result is not None else []))


@record(frozen=True, slots=True, eq=False)
class AttributeWrite:
    """`target.name = value` on an object that is not of the program."""

    node: ast.stmt
    target: ast.expr
    """What the attribute is of (`model.config`)."""
    name: str
    receiver: Value
    value: Value
    value_node: ast.expr
    context: Context

    @property
    def path(self) -> str:
        """The target as it is written."""
        return ast.unparse(self.target)


@record(frozen=True, slots=True, eq=False)
class EnvironmentWrite:
    """An environment variable set by Python, a magic or a shell line."""

    name: str
    value: Value
    start: int
    """Offsets of the whole setting in `Document.text`."""
    end: int
    value_start: int
    value_end: int
    context: Context | None = None
    style: str = "python"
    """How it is set, and so what it reaches: `python`, `child` (a copy for another process), `magic` (%env), `shell` (the rest of a
    script), `inline` (one command), `lost` (a notebook's `!export`, whose shell ends at once), `dotenv` (also a Dockerfile's) or
    `config` (a value of a YAML file)."""
    imports_before: int = -1
    """How many of the program's imports ran before it, in all files of the run; -1 where only its place in the text is known."""


@record(frozen=True, slots=True, eq=False)
class Flag:
    """An option of a command: its value (True for a bare flag), where it stands, and where its value does."""

    value: Value
    span: Span
    value_span: Span | None
    origin: Span | None = None
    """The text of the variable, or of the default, that the value is, where nothing else uses it."""
    before: int = 0
    """Where the word before it ends: from there on it can be taken away."""


@record(frozen=True, slots=True, eq=False)
class Given:
    """A word of a command: its text, as far as it is known, and where it stands."""

    value: Value
    span: Span


@record(frozen=True, slots=True, eq=False)
class Command:
    """A command of a shell text: its words that are no flags, and its flags by name, dashes as underscores."""

    words: tuple[str, ...]
    flags: dict[str, Flag]
    span: Span
    script: Command | None = None
    """What a launcher (`accelerate launch`, `torchrun`) starts."""
    assigned: dict[str, Flag] = field(default_factory=dict)
    """Its words of the form `name=value`, which some programs take in place of flags."""
    given: tuple[Given, ...] = ()
    """All of its words, in order."""
    variables: Mapping[str, Flag] = field(default_factory=dict)
    """The environment variables that the text gives it."""
    ends: bool = False
    """It fails on a Mac, and `set -e` ends the text there."""


@record(frozen=True, slots=True, eq=False)
class Import:
    """An outside module that is imported, by its full dotted name."""

    name: str
    node: ast.stmt
    context: Context


@record(frozen=True, slots=True, eq=False)
class Handler:
    """An `except` clause: the qualified names of the exceptions it catches."""

    node: ast.ExceptHandler
    names: tuple[str, ...]
    context: Context


@record(frozen=True, slots=True, eq=False)
class Move:
    """A move of something to a device."""

    call: ast.Call
    moved: Value
    place: Value
    """The device that is asked for."""


@record(frozen=True, slots=True, eq=False)
class Choice:
    """A conditional whose test the Target decides by the answer to a platform question."""

    node: ast.expr | ast.If | ast.Assert
    source: str
    """The question, by the qualified name of the function that was asked."""
    answer: bool
    """Whether the test came out true."""
    value: Value | None
    """What a conditional expression came out as."""
    context: Context
    passed_over: tuple[Move, ...] = ()
    """The moves in the branch that isn't taken."""
    frame: Frame | None = None
    """For a statement: the names of the module, class body or function call that it is in."""
    given: dict[str, Value] = field(default_factory=dict)
    """What it gives, by what it assigns as that is written: `return` for what its function returns, '' for an expression itself."""
    instead: dict[str, Value] = field(default_factory=dict)
    """The same where the question has the other answer, as far as that is known."""


@record(frozen=True, slots=True, eq=False)
class NameRead:
    """A name that is read where nothing has given it a value."""

    node: ast.Name
    context: Context
    home: Frame
    """Where Python looks for it: the names of the function call that it is local to, or of the module."""
    choices: int
    """How many choices the walk had come to."""


@record(frozen=True, slots=True, eq=False)
class Accumulation:
    """`total += value` or `values.append(value)`."""

    node: ast.AST
    target_node: ast.expr
    container: Value
    """What it is added to."""
    value: Value
    value_node: ast.expr
    context: Context

    @property
    def target(self) -> str:
        """What is added to, as it is written."""
        return ast.unparse(self.target_node)


@record(frozen=True, slots=True, eq=False)
class Pass:
    """A call of a module with weights."""

    key: PassKey
    at: ast.AST
    """The call by which the program outside of modules got there: of the model that the module is a part of."""
    calls: tuple[ast.AST | None, ...]
    """The calls that led to that."""
    loops: tuple[Loop, ...]
    """The loops around it, those within modules left out."""
    context: Context
    is_evaluated: bool
    """The module is in evaluation mode."""
    has_graph: bool
    """What it gives certainly carries a graph."""
    is_wanted: bool
    """Something that it is given requires grad by itself: the gradient of that is wanted."""


@record(frozen=True, slots=True, eq=False)
class Gradients:
    """Values that are differentiated, or handed to who may do it."""

    passes: frozenset[PassKey]
    is_blind: bool
    """Which passes they were computed in isn't known."""
    context: Context


@record(frozen=True, slots=True, eq=False)
class Window:
    """A slice as long wherever it begins: `tokens[i : i + length]`."""

    node: ast.Slice
    length: Value


@record(slots=True, eq=False)
class Preparation:
    """What a function does with samples that a library hands it: one that `map` applies to rows, or that collates those of a data set."""

    maker: Call
    """The `map`, loader or Trainer that is given it."""
    function: Value
    rows: list[tuple[Value, dict[object, Value]]] = field(default_factory=list)
    """A sample of the data set and what the function gives, each with its entries."""
    calls: list[Call] = field(default_factory=list)
    fills: list[tuple[ast.Call, Context]] = field(default_factory=list)
    """The calls that find the length up to which something is filled, by the longest sample of a batch."""
    longest: dict[ast.AST, Instance] = field(default_factory=dict)
    """What calls give that find the longest sample, or its length."""
    cuts: list[tuple[ast.Subscript, Value]] = field(default_factory=list)
    """What is cut from its beginning on, with the length that is left of it."""


SEEN = tuple(
    "calls operators attributes environment imports handlers choices unbound lacking accumulations passes gradients loops iterated windows "
    "events commands configs".split()
)
"""The parts of Facts that a walk adds to."""


@record(slots=True)
class Facts:
    """Everything that was seen, in the order in which it was reached."""

    calls: list[Call] = field(default_factory=list)
    operators: list[Call] = field(default_factory=list)
    """Operators with a tensor on the Mac's GPU, as calls of what they stand for (`a @ b`: torch.matmul)."""
    attributes: list[AttributeWrite] = field(default_factory=list)
    environment: list[EnvironmentWrite] = field(default_factory=list)
    imports: list[Import] = field(default_factory=list)
    handlers: list[Handler] = field(default_factory=list)
    choices: list[Choice] = field(default_factory=list)
    unbound: list[NameRead] = field(default_factory=list)
    """Only from the first choice on."""
    lacking: list[tuple[ast.Attribute, Context]] = field(default_factory=list)
    """The attributes that are read of objects which certainly lack them."""
    accumulations: list[Accumulation] = field(default_factory=list)
    passes: list[Pass] = field(default_factory=list)
    gradients: list[Gradients] = field(default_factory=list)
    loops: list[tuple[Loop, Value, Context]] = field(default_factory=list)
    iterated: list[tuple[Value, Context]] = field(default_factory=list)
    """What `yield from` or a builtin such as `iter` goes through, beside the loops."""
    windows: list[Window] = field(default_factory=list)
    preparations: list[Preparation] = field(default_factory=list)
    events: list[TensorEvent] = field(default_factory=list)
    uses: Uses = field(default_factory=Uses)
    uses_gpu: bool = False
    """Whether a model is seen to move to the Mac's GPU, or something to be computed there."""
    commands: list[Command] = field(default_factory=list)
    configs: list[ConfigMapping] = field(default_factory=list)
    read_as_configs: list[ast.stmt] = field(default_factory=list)
    """The first statement of each Python file that a library reads as a configuration, and imports nothing for."""
    body: list[ast.stmt] = field(default_factory=list)
    is_exhausted: bool = False
    """The step budget ran out: what is here is true, but not all."""
    steps: int = 0
    """How many expressions and statements were walked."""
    premised: dict[ast.AST, tuple[str, ...]] = field(default_factory=dict)
    """The functions that nothing calls, with those of their parameters that were taken for the Mac's GPU."""
    frames: list[Frame] = field(default_factory=list)
    objects: list[Instance] = field(default_factory=list)

    _methods: tuple[int, dict[int, set[str]]] = (0, {})

    def methods_called(self) -> dict[int, set[str]]:
        """Return the methods that are called on each object, by its id."""
        if self._methods[0] != len(self.calls):
            found: dict[int, set[str]] = {}
            for call in self.calls:
                found.setdefault(id(call.receiver), set()).add(call.method)
            self._methods = len(self.calls), found
        return self._methods[1]

    def marks(self) -> list[int]:
        """Return how much was seen so far, for `back_to`."""
        return [len(getattr(self, name)) for name in SEEN]

    def back_to(self, marks: list[int]) -> None:
        """Forget what was seen since: it is about to be walked anew, with less known."""
        for name, known in zip(SEEN, marks, strict=True):
            del getattr(self, name)[known:]

    def taken(self, noted: int) -> list[TensorEvent]:
        """Take away the events noted since there were so many, and return them: the rounds of a loop are walked again one by one."""
        events = self.events[noted:]
        del self.events[noted:]
        return events

    def told(self, of_any: Sequence[TensorEvent], noted: int, body: Sequence[ast.AST]) -> None:
        """Note what happens in a loop, seen in a walk as any of its rounds and, since so many events were noted, in each by itself.

        Of what happens at one place the most certain counts: each round has its turn. What only the first walk takes to be possible in
        its `body` isn't, as then nothing about the rounds is unknown; without one, only that walk counts.
        """
        order = [*Certainty]
        of_each: dict[tuple[str, int, str], TensorEvent] = {}
        for event in self.taken(noted) if body else ():
            key = event.kind, id(event.node), event.of
            known = of_each.get(key)
            if known is None or order.index(event.certainty) < order.index(known.certainty):
                of_each[key] = event
        inside = {id(one) for part in body for one in ast.walk(part)} if of_any else set()
        left = (one for one in of_any if (one.kind, id(one.node), one.of) not in of_each and id(one.node) not in inside)
        self.events[noted:] = [*left, *of_each.values()]

    def release(self) -> None:
        """Untie what was walked, once nothing is asked any more: it refers to itself in circles, which are costly to find and give back."""
        for frame in self.frames:
            frame.slots.clear()
        for made in self.objects:
            made.slots.clear()
            made.call = None
