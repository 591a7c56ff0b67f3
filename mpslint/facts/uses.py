"""Who reads what a program decides: noted while the program is walked, for values by what decided them.

A value that goes from name to name, into an argument and out of it again, is followed by the walk anyway; each expression by which it is
read is noted. What is never noted was read on no path that the walk took.
"""

from __future__ import annotations

import ast
from dataclasses import field

from mpslint.core.record import record
from mpslint.facts.values import Bound, Call, Class, Function, Instance, Known, OneOf, Unknown, Value

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
            if decided is not None:
                self.reads.setdefault(decided, {})[node] = None

    def of(self, *decided: ast.AST | Instance) -> list[ast.expr]:
        """Return the expressions by which values are read that some nodes decided, or objects that no call made."""
        return list({read: None for one in decided for read in self.reads.get(one, ())})

    def of_made(self, call: Call) -> list[ast.expr]:
        """Return the expressions by which what a call makes is read."""
        return self.of(call.node, *([call.result] if call.result is not None else []))
