"""The explanation of a message with the words of this log filled in, and without advice that is already followed."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

from mpslint.core.versions import Version
from mpslint.diagnose.catalogue import PLACEHOLDER, Explanation


def filled(explanation: Explanation, captures: Mapping[str, str], versions: Mapping[str, Version]) -> Explanation:
    """Return the explanation with `{name}` replaced by what was captured.

    An upgrade is left out when the log names a version that satisfies it; what is said first then begins without "Or".
    """

    def fill(text: str) -> str:
        return PLACEHOLDER.sub(lambda match: captures[match.group(1)], text)

    left = [one for one in explanation.changes if one.settings or not one.upgrade.terms or not one.upgrade.matches(versions)]
    changes = tuple(dataclasses.replace(one, say=fill(one.say if number else _first(one.say))) for number, one in enumerate(left))
    title, means, not_meant = map(fill, (explanation.title, explanation.means, explanation.does_not_mean))
    return dataclasses.replace(explanation, title=title, means=means, does_not_mean=not_meant, changes=changes)


def _first(say: str) -> str:
    return say[3].upper() + say[4:] if say.startswith("Or ") else say
