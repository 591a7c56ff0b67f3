"""An operator that this torch has no MPS kernel for: since when there is one, which `rules/platform/operators.yaml` knows."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping

from mpslint.core.knowledge import platform_data
from mpslint.core.versions import VersionRange
from mpslint.diagnose.catalogue import Explanation

SINCE, NEVER = "operator-since", "operator-never"
VERDICTS = (SINCE, NEVER)
_NAMED = re.compile(r"(?:aten::)?(\w+)(?:\.(\w+))?")


def first_version(operator: str) -> str | None:
    """Return the first torch with an MPS kernel of an operator as PyTorch names it, '' where none has one, None where it is not known."""
    named = _NAMED.fullmatch(operator)
    if named is None:
        return None
    base, overload = named.groups()
    own = (overload or "").removesuffix("_out").removesuffix("out")
    names = {operator.removeprefix("aten::"), f"{base}.{own}" if own else base}
    known = platform_data("operators")
    if not names.isdisjoint(known["never"]):
        return ""
    return next((first for first, group in known["first"].items() if not names.isdisjoint(group)), None)


def explanation_of(operator: str, general: Explanation, verdicts: Mapping[str, Explanation]) -> tuple[Explanation, dict[str, str]]:
    """Return what is said of an operator without a kernel, and what to fill in: the general words where its first version is not known."""
    first = first_version(operator)
    if first is None:
        return general, {}
    if not first:
        return verdicts[NEVER], {}
    chosen = verdicts[SINCE]
    newer = VersionRange.parse(f"torch >= {first}")
    changes = tuple(dataclasses.replace(one, upgrade=newer) if "{first}" in one.say else one for one in chosen.changes)
    return dataclasses.replace(chosen, changes=changes), {"first": first}
