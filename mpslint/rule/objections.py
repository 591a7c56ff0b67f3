"""What speaks against a fix that moves a program to the Mac's GPU, seen in the walk of the program as it is rewritten; and which errors
`fix` mends as well."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from mpslint.core.finding import Fix, Safety, Severity
from mpslint.core.knowledge import platform_data
from mpslint.facts.events import Certainty, Operand, TensorEvent
from mpslint.facts.values import UNKNOWN, Known
from mpslint.program.walk import at_once, bound_by
from mpslint.rule.guards import is_caught, tries_around
from mpslint.rule.rule import Rule, matching_outcomes
from mpslint.settings.evidence import Evidence
from mpslint.target.target import Target
from mpslint.tensors.kinds import load_kinds
from mpslint.tensors.traits import is_module, is_tensor

LONGEST_OPERAND = 60
"""Characters of an expression that an advice quotes."""


def objection_to(fixed: Evidence, written: Evidence, works: bool) -> str:
    """Return what goes wrong, or may go wrong, only in the walk of the `fixed` program, with what to change; '' for nothing.

    What certainly happens comes first; what isn't known counts where the fix changes the device of an operand. Both walks are of the same
    syntax tree. Where the program `works` as it is written, a fix has to be seen to gain something.
    """
    said = platform_data("events")
    known = {_at(one) for one in written.facts.events if one.certainty is not Certainty.UNKNOWN}
    alike = {_with_places(one) for one in written.facts.events if any(operand.place for operand in one.operands)}
    events = (one for one in fixed.facts.events if _at(one) not in known and _with_places(one) not in alike)
    given_up = _renamed(fixed, written) if works else _given_up(fixed)
    if new := [one for one in (*events, *_unbound(fixed, written), *given_up) if _counts(one, said)] or list(_skipped(fixed, written)):
        return _said(min(new, key=lambda event: list(Certainty).index(event.certainty)), fixed, said)
    return "" if fixed.facts.uses_gpu or not works else said["idle"][Certainty.SURE.value]


def raised_by(fixed: Evidence, written: Evidence) -> str:
    """Return what ends a run only with other settings, with what to change; '' for nothing. Both walks are of the same syntax tree."""
    known = {_at(one) for one in written.facts.events}
    ended = [one for one in fixed.facts.events if one.kind == "ended" and _at(one) not in known and not _is_asked_for(one)]
    return next((_said(one, fixed, platform_data("events")) for one in (*ended, *_unbound(fixed, written))), "")


def _is_asked_for(event: TensorEvent) -> bool:
    """Return whether a program comes to an event only where the command line asks for what it doesn't do by default."""
    return any(one.default is not None and one.default is not one.taken for one in event.context.guards)


def _unbound(fixed: Evidence, written: Evidence) -> Iterator[TensorEvent]:
    """Yield the reads of names without a value that a statement gives one which only the program as it is written comes to."""
    passed_over = (node for one in written.facts.uses.reached - fixed.facts.uses.reached for node in at_once(one))
    lost = {name for node in passed_over for name in bound_by(node)}
    for one in fixed.facts.unbound:
        if one.node.id in lost:
            yield TensorEvent("unbound", one.node, (Operand(UNKNOWN, "", "", one.node),), Certainty.GUARDED, one.context)


def _skipped(fixed: Evidence, written: Evidence) -> Iterator[TensorEvent]:
    """Yield the moves that only the program as it is written comes to, `if device == "cuda": x = x.cuda()`, and nothing instead of them."""
    reached = fixed.facts.uses.reached
    for call in written.facts.calls:
        func = call.node.func
        statement = written.above(call.node, (ast.stmt,)) if call.method in load_kinds().moves else None
        test = written.parents.get(statement) if statement is not None and statement not in reached else None
        if isinstance(test, ast.If) and isinstance(func, ast.Attribute) and not any(one in reached for one in (*test.body, *test.orelse)):
            yield TensorEvent("skipped", call.node, (Operand(UNKNOWN, "", "", func.value),), Certainty.SURE, call.context)


def _given_up(fixed: Evidence) -> Iterator[TensorEvent]:
    """Yield what still raises for want of CUDA in a `try` whose handlers go on without what it computes behind that.

    The program as it is written may never come to such a place: its own CUDA ended the run before.
    """
    raising = {name for row in platform_data("cuda")["calls"] if row["kind"] == "raises" for name in row.get("call", ())}
    asked = [(one.node, one.context) for one in fixed.facts.events if one.kind == "absent"]
    asked += [(one.node, one.context) for one in fixed.facts.calls if not raising.isdisjoint(one.names)]
    for node, context in asked if any(is_caught(context) for _, context in asked) else ():
        for block, statement, _ in tries_around(node, context, fixed):
            behind = {one for later in block.body[block.body.index(statement) :] for one in at_once(later)}
            given = (one for one in fixed.facts.calls if one.node is not node and not behind.isdisjoint((one.node, *one.context.calls)))
            if any(is_tensor(value) or is_module(value) for one in given for value in one.operands):
                yield TensorEvent("absent", node, (Operand(UNKNOWN, "", "", node),), Certainty.SURE, context)


def _renamed(fixed: Evidence, written: Evidence) -> Iterator[TensorEvent]:
    """Yield the files that a program which works reads under another name then (`torch.load(f"weights_{device}.pt")`), as nothing shows
    that they are there; what a test decides is taken to ask, and a name that the program uses elsewhere, to be that of its own file."""
    read = {id(one.node): one.given[0] for one in written.facts.calls if one.given and not load_kinds().reads.isdisjoint(one.names)}
    others = {value.value for one in fixed.facts.calls if id(one.node) not in read for value in one.given if isinstance(value, Known)}
    for one in fixed.facts.calls:
        before, now = read.get(id(one.node)), one.given[0] if one.given else None
        is_other = isinstance(before, Known) and isinstance(now, Known) and now.value not in {before.value, *others}
        if is_other and not one.context.guards:
            yield TensorEvent("renamed", one.node, (Operand(UNKNOWN, "", "", one.node.args[0]),), Certainty.GUARDED, one.context)


def _at(event: TensorEvent) -> tuple[str, int, bool]:
    """Return an event as it is again in another walk; an end to which no test that isn't decided leads is another one."""
    is_certain = event.kind == "ended" and all(one.default is one.taken for one in event.context.guards)
    return event.kind, id(event.node), is_certain


def _with_places(event: TensorEvent) -> tuple[str, int, tuple[str, ...]]:
    """Return an event as it is again in another walk where its operands lie on the same devices."""
    return event.kind, id(event.node), tuple(one.place for one in event.operands)


def _counts(event: TensorEvent, said: dict[str, dict[str, str]]) -> bool:
    """Return whether an event keeps a fix from being made. What a library does with values that aren't known is its own matter."""
    is_open = event.certainty is Certainty.UNKNOWN and event.of.startswith("outside")
    return event.certainty.value in said.get(event.kind, {}) and not is_open and hasattr(event.node, "lineno")


def _said(event: TensorEvent, fixed: Evidence, said: dict[str, dict[str, str]]) -> str:
    """Return what a person has to change: the last operand, as the first is what it meets."""
    operand = event.operands[-1]
    node = operand.node if operand.node is not None and hasattr(operand.node, "lineno") else event.node
    span = fixed.span_of(node)
    part = fixed.document.part_at(span.start)
    place = part.document.place(span.start - part.span.start)
    where = f"{place.words} of {part.document.path}" if fixed.document.parts else place.words
    quoted = " ".join(ast.unparse(node).split())
    shown = quoted if len(quoted) <= LONGEST_OPERAND else f"{quoted[: LONGEST_OPERAND - 3]}..."
    return said[event.kind][event.certainty.value].format(operand=shown, where=where, dtype=operand.dtype)


def is_fixed_too(fix: Fix | None, evidence: Evidence | None, shown: frozenset[int] | None) -> bool:
    """Return whether `fix` makes a fix as well: a safe one, of files that are asked about alone."""
    if fix is None or fix.safety is not Safety.SAFE or not fix.edits:
        return False
    return evidence is None or shown is None or all(evidence.document.part_at(edit.span.start).first_line in shown for edit in fix.edits)


def held_back(fix: Fix | None, causes: Sequence[str]) -> Fix | None:
    """Return a fix as advice that names the rules of the errors which it would cause."""
    return Fix(Safety.MANUAL, f"First fix {' and '.join(causes)}, then: {fix.summary}") if fix is not None and fix.edits else fix


def advised(fix: Fix | None, suffix: str) -> Fix | None:
    """Return a fix as advice, with why it isn't made."""
    return Fix(Safety.MANUAL, fix.summary + suffix) if fix is not None and fix.edits else fix


def not_made(cause: str) -> str:
    """Return why a fix isn't made, as the end of advice."""
    return f" (not made: it would cause {cause})"


def may_fail(rule: Rule, target: Target) -> bool:
    """Return whether a rule can find an error under a Target, or what counts as much."""
    return rule.worsens or any(outcome.severity is Severity.ERROR for outcome in matching_outcomes(rule, target.versions))
