"""The fact that a call makes."""

from __future__ import annotations

import ast

from mpslint.facts.values import Argument, Call, Instance, Value
from mpslint.program.arguments import CallArguments
from mpslint.program.machine import Walker


def record_call(
    m: Walker,
    names: tuple[str, ...],
    method: str,
    receiver: Value | None,
    arguments: CallArguments,
    node: ast.Call,
    result: Instance | None = None,
    inherited: dict[str, Argument] | None = None,
    is_parsed: bool = False,
) -> Call:
    """Make the fact of a call, and note it unless the path is walked for its values only."""
    call = Call(
        node,
        names,
        method,
        receiver,
        arguments.positional,
        arguments.keywords,
        arguments.is_open,
        m.context,
        result,
        inherited or {},
        arguments.unpacked,
        is_parsed,
    )
    if not m.is_silent:
        m.facts.calls.append(call)
    return call
