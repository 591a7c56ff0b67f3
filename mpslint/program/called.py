"""The fact that a call makes."""

from __future__ import annotations

import ast
from dataclasses import replace

from mpslint.core.knowledge import platform_data
from mpslint.facts.copied import copied
from mpslint.facts.values import Argument, Call, Instance, Value
from mpslint.program import listed
from mpslint.program.machine import Walker
from mpslint.tensors.arguments import CallArguments


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
    positional, keywords = arguments.positional, arguments.keywords
    if names and names[0] in platform_data("launchers")["functions"]:  # the list of its words may be another one after the call
        positional, keywords = tuple(map(_as_given, positional)), {name: _as_given(one) for name, one in keywords.items()}
    call = Call(
        node,
        names,
        method,
        receiver,
        positional,
        keywords,
        arguments.is_open,
        m.context,
        result,
        inherited or {},
        arguments.unpacked,
        is_parsed,
    )
    if not m.is_silent:
        m.facts.calls.append(call)
        listed.hold_call(m, call)
    elif m.preparation is not None:
        m.preparation.calls.append(call)
    return call


def _as_given(argument: Argument) -> Argument:
    return replace(argument, value=copied(argument.value, is_deep=False))
