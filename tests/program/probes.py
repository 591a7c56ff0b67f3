"""What scripts give their calls of `probe`, as tests write it."""

from __future__ import annotations

import textwrap

from mpslint.facts.facts import Facts
from mpslint.facts.values import Instance, Items, Known, Mapping, OneOf, Symbol, Value
from mpslint.program.evaluator import evaluate_program
from mpslint.program.parse import parse_program
from mpslint.source.reader import read
from mpslint.target.target import default_target

ROOTS = frozenset({"torch", "transformers"})


def facts_of(code: str) -> Facts:
    """Return the facts of a script."""
    document = read("train.py", textwrap.dedent(code).encode())
    return evaluate_program(document, parse_program(document, document.python).body, default_target().versions, ROOTS)


def shown(value: Value) -> object:
    """Return a value as tests write it: constants as they are, `?` for unknown, a set for alternatives."""
    if isinstance(value, Known):
        return value.value
    if isinstance(value, Symbol):
        return f"<{value.name}>"
    if isinstance(value, OneOf):
        return {shown(one) for one in value.values}
    if isinstance(value, Items):
        return [shown(one) for one in value.values()]
    if isinstance(value, Mapping):
        return {key: shown(entry.value) for key, entry in value.slots.items()}
    return f"object {value.name}" if isinstance(value, Instance) and value.name else "?"


def probed(code: str) -> list[object]:
    """Return what each `probe(x)` of a script is given."""
    facts = facts_of(code)
    calls = [call for call in facts.calls if getattr(call.node.func, "id", "") == "probe"]
    return [shown(call.arguments[0].value) for call in calls]
