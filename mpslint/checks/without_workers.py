"""Take the workers of a loader away, and with them the options that only loaders with workers may have."""

from __future__ import annotations

import ast

from mpslint.core.finding import Edit
from mpslint.program.call_text import without_argument
from mpslint.rule.judge import Match
from mpslint.settings.evidence import Evidence
from mpslint.settings.spell import narrowed, write_setting
from mpslint.settings.spelling import WrittenSetting

WORKERS = "loader.workers"
OF_WORKERS = ("loader.prefetch_factor", "loader.persistent_workers")
"""Settings with which a loader without workers raises."""


def rewrite(match: Match, evidence: Evidence) -> WrittenSetting | None:
    """Return the edits after which the matched call has no workers and no option of theirs; None when one cannot be written."""
    if match.plan is None or match.call is None:
        return None
    workers = write_setting(evidence, match.plan, match.call, WORKERS, 0)
    options = _options(match)
    if workers is None or not options:
        return workers
    given: list[ast.expr | ast.keyword] = [*match.call.node.args, *match.call.node.keywords]
    arguments: list[ast.AST] = [*sorted(given, key=lambda argument: (argument.lineno, argument.col_offset))]
    if any(option not in arguments for option in options):
        return None
    removed = _without(sorted((arguments.index(option) for option in options), reverse=True), match, workers.edits, evidence)
    if removed is None:
        return None
    shown = [workers.shown, *(f"without {evidence.text_of(option)}" for option in options)]
    return WrittenSetting(removed, ", ".join(shown), reason="other machines lose these options too")


def _options(match: Match) -> list[ast.AST]:
    """Return the arguments of the matched call that say an option of workers."""
    assert match.plan is not None
    found = [setting for name in OF_WORKERS for setting in match.plan.settings.get(name, ())]
    mine = [s for s in found if s.call is match.call and s.is_written and s.node is not None and any(s.constants or (True,))]
    return [setting.node for setting in mine if setting.node is not None]


def _without(indices: list[int], match: Match, edits: tuple[Edit, ...], evidence: Evidence) -> tuple[Edit, ...] | None:
    """Return edits together with one that takes some arguments of the call away; those inside the call become part of it."""
    assert match.call is not None
    span = evidence.span_of(match.call.node)
    old = text = evidence.document.text[span.start : span.end]
    for edit in sorted((edit for edit in edits if edit.span in span), key=lambda edit: edit.span.start, reverse=True):
        text = text[: edit.span.start - span.start] + edit.text + text[edit.span.end - span.start :]
    for index in indices:
        shorter = without_argument(text, index)
        if shorter is None:
            return None
        text = shorter
    return (*(edit for edit in edits if edit.span not in span), narrowed(span, old, text))
