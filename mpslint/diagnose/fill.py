"""The explanation of a message with the words of this log filled in, and without advice that is already followed."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping

from mpslint.core.versions import Version
from mpslint.diagnose.catalogue import Explanation

_PLACEHOLDER = re.compile(r"\{(\w+)\}")


def filled(explanation: Explanation, captures: Mapping[str, str], versions: Mapping[str, Version]) -> Explanation:
    """Return the explanation with `{name}` replaced by what was captured.

    An upgrade is left out when the log names a version that satisfies it.
    """

    def fill(text: str) -> str:
        return _PLACEHOLDER.sub(lambda match: captures[match.group(1)], text)

    changes = tuple(
        dataclasses.replace(change, say=fill(change.say))
        for change in explanation.changes
        if change.settings or not change.upgrade.terms or not change.upgrade.matches(versions)
    )
    return dataclasses.replace(
        explanation,
        title=fill(explanation.title),
        means=fill(explanation.means),
        does_not_mean=fill(explanation.does_not_mean),
        changes=changes,
    )
