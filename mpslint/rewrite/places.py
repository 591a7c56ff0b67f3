"""Where a finding of a run is said: in the file, and at the place, that somebody has to change."""

from __future__ import annotations

import ast
from dataclasses import replace

from mpslint.core.finding import Edit, Finding, Fix, Related, Safety, Span
from mpslint.project.run import Run
from mpslint.rule.judge import Match
from mpslint.rule.rule import Rule
from mpslint.settings.evidence import Evidence
from mpslint.source.document import Document, Kind, Part

CONFIG = (Kind.YAML, Kind.JSON, Kind.SHELL)
"""Files that decide values of a run, and are not Python."""


def placed(finding: Finding, run: Run) -> tuple[str, Finding]:
    """Return the absolute path of the file that a finding of a run is in, and the finding with places of that file."""
    part = run.document.part_at(finding.span.start)
    path = run.paths[part.first_line]
    shift = part.span.start
    related = tuple(_placed_related(one, run, part) for one in finding.related)
    fix = finding.fix
    if fix is not None and fix.edits:
        if all(edit.span in part.span for edit in fix.edits):
            fix = replace(fix, edits=tuple(Edit(moved(edit.span, shift), edit.text) for edit in fix.edits))
        else:
            fix = _told_elsewhere(fix, run.document)
    return path, replace(finding, span=moved(finding.span, shift), fix=fix, related=related)


def _placed_related(related: Related, run: Run, part: Part) -> Related:
    other = run.document.part_at(related.span.start)
    own = moved(related.span, other.span.start)
    if other is part:
        return Related(own, related.message)
    place = other.document.place(own.start)
    return Related(own, related.message, other.document.path, place.line, place.column, place.cell)


def moved(span: Span, shift: int) -> Span:
    """Return a span as far further up as a file begins."""
    return Span(span.start - shift, span.end - shift)


def at_decision(rule: Rule, match: Match, fix: Fix | None, evidence: Evidence, shown: frozenset[int] | None) -> tuple[Match, Fix | None]:
    """Return a match and its fix at the place in another file that decided its value, unless the fix is made where the value is used.

    A value from a configuration file is always reported and fixed in that file: the code that reads it is right for other values.
    """
    setting = match.setting
    origin = setting.origin if setting is not None and setting.is_written else None
    if origin is None or not evidence.document.parts:
        return match, fix
    part = evidence.document.part_at(origin.start)
    is_config = part.document.kind in CONFIG
    if is_config:
        from mpslint.rewrite.in_config import fix_in_config

        fix = fix_in_config(rule, match, evidence, fix)
    is_mended_there = fix is None or all(edit.span in part.span for edit in fix.edits)
    if match.span in part.span or match.span == origin or not is_mended_there:
        return match, fix
    others = tuple(one for one in match.related if one.span != origin)
    if shown is not None and part.first_line not in shown:
        return replace(match, related=(Related(origin, "decides the value"), *others)), fix
    taken = Related(match.span, f"{match.values.get('spelling', 'it')} takes this value")
    return replace(match, span=origin, related=(taken, *others)), fix


def where_asked(match: Match, fix: Fix | None, evidence: Evidence, shown: frozenset[int] | None) -> tuple[Match, Fix | None]:
    """Return a match at the call that takes its value, where that is in a file that is asked about and the value itself is not."""
    if shown is None or match.call is None or evidence.document.part_at(match.span.start).first_line in shown:
        return match, fix
    taken = evidence.span_of(match.call.node)
    if evidence.document.part_at(taken.start).first_line not in shown:
        return match, fix
    others = tuple(one for one in match.related if one.span not in taken)
    asked = replace(match, span=taken, related=(Related(match.span, "decides the value"), *others))
    return asked, _told_elsewhere(fix, evidence.document) if fix is not None else None


def _told_elsewhere(fix: Fix, document: Document) -> Fix:
    """Return what a fix says to do, for a place in another file than those that it edits, which it names."""
    paths = dict.fromkeys(document.part_at(edit.span.start).document.path for edit in fix.edits)
    return Fix(Safety.MANUAL, f"{fix.summary} ({', '.join(paths)})" if paths else fix.summary)


def with_caller(match: Match, evidence: Evidence) -> Match:
    """Return a match in a function that another file calls, with the place of that call."""
    document, context = evidence.document, match.context
    if not document.parts or context is None or not context.functions:
        return match
    home = document.part_at(match.span.start)
    if document.part_at(evidence.span_of(context.functions[-1]).start) is not home:
        return match  # it was moved to where the value was decided, and says who takes it
    for function, call in zip(reversed(context.functions), reversed(context.calls), strict=True):
        if not isinstance(call, ast.Call):
            return match
        span = evidence.span_of(call.func)
        if document.part_at(span.start) is not home:
            name = getattr(function, "name", "")
            related = Related(span, f"`{name}()` is called here" if name else "it is called here")
            return match if any(one.span == span for one in match.related) else replace(match, related=(*match.related, related))
    return match
