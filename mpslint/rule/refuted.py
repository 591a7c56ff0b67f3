"""Fixes that the walk of the rewritten program refutes: what would certainly happen on the Mac's GPU, as an advice says it."""

from __future__ import annotations

import ast

from mpslint.core.knowledge import platform_data
from mpslint.facts.events import Certainty, TensorEvent
from mpslint.settings.evidence import Evidence

LONGEST_OPERAND = 60
"""Characters of an expression that an advice quotes."""


def refuted_by(after: Evidence) -> str:
    """Return what certainly happens in a program that was walked as it is rewritten, with what to change; '' for nothing."""
    sure = (event for event in after.facts.events if event.certainty is Certainty.SURE and hasattr(event.node, "lineno"))
    event = next(sure, None)
    return _said(event, after) if event is not None else ""


def _said(event: TensorEvent, after: Evidence) -> str:
    """Return what a person has to change: the last operand, as the first is what it meets."""
    operand = event.operands[-1]
    node = operand.node if operand.node is not None and hasattr(operand.node, "lineno") else event.node
    span = after.span_of(node)
    part = after.document.part_at(span.start)
    place = part.document.place(span.start - part.span.start)
    line = f"cell {place.cell}, line {place.line}" if place.cell is not None else f"line {place.line}"
    where = f"{line} of {part.document.path}" if after.document.parts else line
    written = " ".join(ast.unparse(node).split())
    shown = written if len(written) <= LONGEST_OPERAND else f"{written[: LONGEST_OPERAND - 3]}..."
    return str(platform_data("events")[event.kind].format(operand=shown, where=where, dtype=operand.dtype))
