"""Constants of a fix that are not among those which something lists that checks them: an annotation that pydantic reads, a pattern, a
validator of attrs.

Asked in the walk of a program as it is rewritten, as what its author writes is the author's.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Collection
from typing import Any

from mpslint.core.knowledge import platform_data
from mpslint.facts.events import Certainty, Operand, TensorEvent
from mpslint.facts.values import UNKNOWN, Call, Class, Function, Instance, Items, Known, Mapping, Value, alternatives_of
from mpslint.program.machine import Walker
from mpslint.program.walk import walk

_WRAPPERS = ("Optional", "Annotated", "Final", "ClassVar", "Union")
LONGEST = (8, 200)
"""Characters of a text, and of a pattern, that are tried: of a program, a pattern may take for ever."""


def hold(m: Walker, annotation: ast.expr | None, value: Value) -> None:
    """Note where something is given a constant of a fix that its annotation doesn't list."""
    new = new_constants(m, value) if annotation is not None and not m.is_silent else frozenset()
    if new and annotation is not None and (listed := _listed(m, annotation)) is not None and not new <= set(listed):
        note(m, annotation)


def new_constants(m: Walker, value: Value) -> frozenset[object]:
    """Return the constants of a fix that a value may be."""
    return frozenset(one.value for one in alternatives_of(value) if isinstance(one, Known) and one.value in m.instead.values())


def hold_call(m: Walker, call: Call) -> None:
    """Note where a package that has devices of its own only is given a constant of a fix."""
    said = platform_data("cuda")["without_mps"]
    if not m.instead or m.is_silent or not any(name.split(".")[0] in said["packages"] for name in call.names):
        return
    given = [*call.arguments, *(one for name, one in call.keywords.items() if name in said["arguments"])]
    tables = [one.value for one in (*call.arguments, *call.keywords.values()) if isinstance(one.value, Mapping)]
    values = [
        *(one.value for one in given),
        *(table.slots[name].value for table in tables for name in said["arguments"] if name in table.slots),
    ]
    if any(isinstance(one, Known) and one.value in m.instead.values() for value in values for one in alternatives_of(value)):
        note(m, call.node)


def hold_validated(m: Walker, validator: Value, made: Value, value: Value) -> None:
    """Show a field's value to what attrs checks it with: functions of the program are walked, a list may lack a constant of a fix."""
    said = m.platform.validators
    call = validator.call if isinstance(validator, Instance) else None
    inner = validator.values() if isinstance(validator, Items) else [one.value for one in call.arguments] if call is not None else []
    if isinstance(validator, Function):
        m.calls.call_function(m, validator, [made, UNKNOWN, value], {}, False, None)
    elif isinstance(validator, Items) or (call is not None and any(name in said["nesting"] for name in call.names)):
        for one in inner:
            hold_validated(m, one, made, value)
    elif call is not None and any(name in said["listing"] for name in call.names) and isinstance(options := next(iter(inner), None), Items):
        taken = None if options.open else [one.value for one in options.values() if isinstance(one, Known)]
        if taken is not None and len(taken) == len(options.slots) and not new_constants(m, value) <= {*taken}:
            note(m, call.node)


def hold_enumerated(m: Walker, node: ast.ClassDef) -> None:
    """Note the members of an enumeration that a fix gives another value: their names would say something else."""
    for one in node.body if m.instead and not m.is_silent else ():
        if isinstance(one, (ast.Assign, ast.AnnAssign)) and any(id(inner) in m.instead for inner in walk(one)):
            note(m, one, "member")


def note(m: Walker, node: ast.AST, kind: str = "unlisted") -> None:
    """Note that a constant of a fix isn't taken at a place."""
    m.facts.events.append(TensorEvent(kind, node, (Operand(UNKNOWN, "", "", node),), Certainty.GUARDED, m.context))


def is_refused(pattern: object, text: object) -> bool:
    """Return whether a text certainly doesn't match a pattern."""
    if not isinstance(pattern, str) or not isinstance(text, str) or len(text) > LONGEST[0] or len(pattern) > LONGEST[1]:
        return False
    if "{" in pattern or sum(pattern.count(one) for one in "*+?") > LONGEST[0] // 2:
        return False
    try:
        return re.search(pattern, text) is None
    except re.error:
        return False


def members(m: Walker, cls: Class) -> Collection[Any] | None:
    """Return the values of an enumeration; None for another class, and where one isn't known or the class itself looks for others."""
    own = [cls.lookup(name) for name in ("_missing_", "__new__")]
    if m.platform.closed_enumerations.isdisjoint(cls.outside_bases()) or any(isinstance(one, Function) for one in own):
        return None
    found = [one for own in cls.lineage() for name, one in own.slots.items() if isinstance(name, str) and name[:1] != "_"]
    values = [one.slots.get("value") if isinstance(one, Instance) else one for one in found if not isinstance(one, (Function, Class))]
    return [one.value for one in values if isinstance(one, Known)] if values and all(isinstance(one, Known) for one in values) else None


def _listed(m: Walker, annotation: ast.expr) -> Collection[Any] | None:
    """Return the constants that an annotation allows; None where it allows others, too."""
    if isinstance(annotation, ast.BinOp):
        parts = [annotation.left, annotation.right]
    elif isinstance(annotation, ast.Subscript) and ast.unparse(annotation.value).endswith(_WRAPPERS):
        inner = annotation.slice.elts if isinstance(annotation.slice, ast.Tuple) else [annotation.slice]
        parts = inner if ast.unparse(annotation.value).endswith("Union") else inner[:1]
    else:
        value = m.looked_at(annotation)
        if isinstance(value, Class):
            return members(m, value)
        if isinstance(value, Known) and value.value is None:
            return [None]
        constants = value.values() if isinstance(value, Items) and value.kind == "literal" else [UNKNOWN]
        return [one.value for one in constants if isinstance(one, Known)] if all(isinstance(one, Known) for one in constants) else None
    found = [_listed(m, one) for one in parts]
    return [one for each in found if each is not None for one in each] if None not in found else None
