"""Take the workers of a loader away, and with them the options that only loaders with workers may have."""

from __future__ import annotations

from dataclasses import replace

from mpslint.rule.judge import Match
from mpslint.settings.evidence import Evidence
from mpslint.settings.spell import remove_argument, write_setting
from mpslint.settings.spelling import Removal, WrittenSetting, both

WORKERS = "loader.workers"
OF_WORKERS = ("loader.prefetch_factor", "loader.persistent_workers")
"""Settings with which a loader without workers raises."""


def rewrite(match: Match, evidence: Evidence) -> WrittenSetting | None:
    """Return the edits after which the matched call has no workers and no option of theirs; None when one cannot be written."""
    if match.plan is None or match.call is None:
        return None
    written = write_setting(evidence, match.plan, match.call, WORKERS, 0)
    for setting in (one for name in OF_WORKERS for one in match.plan.settings.get(name, ())):
        if setting.call is match.call and setting.is_written and setting.node is not None and any(setting.constants or (True,)):
            written = both(written, remove_argument(evidence, match.call, setting.node))
    is_more = written is not None and any(isinstance(one, Removal) for one in written.added)
    return replace(written, reason="other machines lose these options too") if written is not None and is_more else written
