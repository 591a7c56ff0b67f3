"""Code actions: what fixes a finding, what silences it, and what fixes all that is safe."""

from __future__ import annotations

import textwrap
from typing import Any

from lsprotocol import types

from mpslint.core.finding import Finding, Safety
from mpslint.rewrite.recipes import COMMENT_REASON
from mpslint.server.client import Abilities, wants
from mpslint.server.diagnostics import SOURCE, diagnostic_of
from mpslint.server.edits import workspace_edit
from mpslint.server.judging import Judged
from mpslint.source.document import Document, Kind

QUICK_FIX = "quickfix"
FIX_ALL = "source.fixAll.mpslint"
LONGEST_TITLE = 100
IGNORE = "ignore"


def actions_of(judged: Judged, params: types.CodeActionParams, abilities: Abilities) -> list[types.CodeAction]:
    """Return what can be done about the findings at a range. What takes a check to work out has `data` in place of an edit.

    Of a finding that is not at the range itself, an editor may have named the diagnostic: it shows the ones of the whole line.
    """
    document, only = judged.document, params.context.only
    if document is None:
        return []
    actions: list[types.CodeAction] = []
    for finding in judged.findings if wants(only, QUICK_FIX) else ():
        uri, diagnostic = diagnostic_of(judged.snapshot, document, finding, abilities.shows_related)
        if uri == params.text_document.uri and (_meet(diagnostic.range, params.range) or _is_named(diagnostic, params.context.diagnostics)):
            actions += _about(judged, document, finding, diagnostic, abilities)
    if wants(only, FIX_ALL) and any(finding.fix is not None and finding.fix.safety is Safety.SAFE for finding in judged.findings):
        data = {"do": FIX_ALL, "uri": judged.snapshot.uri}
        actions.append(types.CodeAction("mpslint: fix all that is safe", FIX_ALL, data=data))
    return sorted(actions, key=lambda action: not action.is_preferred)


def _about(
    judged: Judged, document: Document, finding: Finding, diagnostic: types.Diagnostic, abilities: Abilities
) -> list[types.CodeAction]:
    """Return the fix of one finding, where there is one to write, and the comment that silences it, where there can be one."""
    actions = []
    fix = finding.fix
    if fix is not None and fix.edits and fix.safety is not Safety.MANUAL and document.write_back is not None:
        data = document.write_back(sorted(fix.edits, key=lambda edit: edit.span))
        edit = workspace_edit(judged.snapshot, data, abilities.knows_versions)
        is_safe = fix.safety is Safety.SAFE
        risk = "" if is_safe else f" (unsafe: {fix.reason if fix.reason == COMMENT_REASON else 'changes the run'})"
        title = textwrap.shorten(f"mpslint {finding.rule}: {fix.summary}", LONGEST_TITLE, placeholder=" ...") + risk
        actions.append(types.CodeAction(title, QUICK_FIX, [diagnostic], is_preferred=is_safe or None, edit=edit))
    if document.kind is not Kind.JSON:  # which has no comments
        about = {"do": IGNORE, "uri": judged.snapshot.uri, "rule": finding.rule, "start": finding.span.start}
        actions.append(types.CodeAction(f"mpslint: Ignore {finding.rule} on this line", QUICK_FIX, [diagnostic], data=about))
    return actions


def finding_for(judged: Judged, data: Any) -> Finding | None:
    """Return the finding that the `data` of an action is about, None if the text no longer has it."""
    return next((one for one in judged.findings if one.rule == data.get("rule") and one.span.start == data.get("start")), None)


def _meet(one: types.Range, other: types.Range) -> bool:
    return one.start <= other.end and other.start <= one.end


def _is_named(diagnostic: types.Diagnostic, named: Any) -> bool:
    return any(one.source == SOURCE and one.code == diagnostic.code and one.range == diagnostic.range for one in named)
