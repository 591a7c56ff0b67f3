"""What a program does on the Target, as far as rules ask about it: calls, attribute writes, environment writes, and so on."""

from __future__ import annotations

import ast
from dataclasses import field
from typing import TYPE_CHECKING, TypeAlias

from mpslint.core.finding import Span
from mpslint.core.record import record
from mpslint.facts.values import Frame, Instance, Value

if TYPE_CHECKING:
    from mpslint.facts.entries import ConfigMapping

FunctionNode: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
Loop: TypeAlias = ast.For | ast.AsyncFor | ast.While | ast.comprehension


@record(frozen=True, slots=True, eq=False)
class Guard:
    """A test that surrounds a statement and that the Target does not decide.

    `default` is the answer when it rests on a default (a command-line flag's, say), else None; `taken` is the answer on this path.
    """

    test: ast.expr
    taken: bool
    default: bool | None = None

    @property
    def text(self) -> str:
        """The test as Python."""
        known = vars(self.test)  # an `elif` stands under all tests before it: each is written out once, and not once for each of them
        if "written_out" not in known:
            known["written_out"] = ast.unparse(self.test)
        return str(known["written_out"])


@record(frozen=True, slots=True, eq=False)
class Context:
    """What surrounds a statement on the path by which it was reached."""

    functions: tuple[FunctionNode, ...] = ()
    """The functions it is in, outermost first, by the calls that led there."""
    loops: tuple[Loop, ...] = ()
    """The loops of the innermost function, outermost first."""
    outer_loops: int = 0
    """How many loops surround the calls that led there."""
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

    def entered(self, function: FunctionNode, decorators: tuple[Value, ...], is_called: bool) -> Context:
        """Return the context of the body of a function that is called from here."""
        return Context(
            (*self.functions, function),
            (),
            self.outer_loops + len(self.loops),
            (*self.managers, *decorators),
            self.guards,
            self.handlers,
            self.in_handler,
            self.under_main,
            self.called and is_called,
        )

    def changed(
        self,
        *,
        loops: tuple[Loop, ...] | None = None,
        managers: tuple[Value, ...] | None = None,
        guards: tuple[Guard, ...] | None = None,
        handlers: tuple[tuple[str, ...], ...] | None = None,
        in_handler: bool | None = None,
        under_main: bool | None = None,
    ) -> Context:
        """Return the context with some parts replaced."""
        return Context(
            self.functions,
            self.loops if loops is None else loops,
            self.outer_loops,
            self.managers if managers is None else managers,
            self.guards if guards is None else guards,
            self.handlers if handlers is None else handlers,
            self.in_handler if in_handler is None else in_handler,
            self.under_main if under_main is None else under_main,
            self.called,
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
class Choice:
    """A conditional whose test the Target decides by the answer to a platform question."""

    node: ast.IfExp | ast.If | ast.Assert
    source: str
    """The question, by the qualified name of the function that was asked."""
    answer: bool
    """Whether the test came out true."""
    value: Value | None
    """What a conditional expression came out as."""
    context: Context


@record(frozen=True, slots=True, eq=False)
class Accumulation:
    """`total += value` or `values.append(value)`."""

    node: ast.AST
    target_node: ast.expr
    value: Value
    value_node: ast.expr
    context: Context

    @property
    def target(self) -> str:
        """What is added to, as it is written."""
        return ast.unparse(self.target_node)


@record(frozen=True, slots=True, eq=False)
class Window:
    """A slice as long wherever it begins: `tokens[i : i + length]`."""

    node: ast.Slice
    length: Value


@record(slots=True)
class Facts:
    """Everything that was seen, in the order in which it was reached."""

    calls: list[Call] = field(default_factory=list)
    attributes: list[AttributeWrite] = field(default_factory=list)
    environment: list[EnvironmentWrite] = field(default_factory=list)
    imports: list[Import] = field(default_factory=list)
    handlers: list[Handler] = field(default_factory=list)
    choices: list[Choice] = field(default_factory=list)
    accumulations: list[Accumulation] = field(default_factory=list)
    loops: list[tuple[Loop, Value, Context]] = field(default_factory=list)
    windows: list[Window] = field(default_factory=list)
    commands: list[Command] = field(default_factory=list)
    configs: list[ConfigMapping] = field(default_factory=list)
    body: list[ast.stmt] = field(default_factory=list)
    is_exhausted: bool = False
    """The step budget ran out: what is here is true, but not all."""
    steps: int = 0
    """How many expressions and statements were walked."""
    frames: list[Frame] = field(default_factory=list)
    objects: list[Instance] = field(default_factory=list)

    def release(self) -> None:
        """Untie what was walked, once nothing is asked any more: it refers to itself in circles, which are costly to find and give back."""
        for frame in self.frames:
            frame.slots.clear()
        for made in self.objects:
            made.slots.clear()
            made.call = None
