"""What a setting does on a Mac, by version: `rules/platform/behaviours/`, which rules, verify and their tests all read."""

from __future__ import annotations

import functools
from collections.abc import Mapping

from mpslint.core.finding import RuleError
from mpslint.core.knowledge import read_yaml, rules_folder
from mpslint.core.record import record
from mpslint.core.versions import Version, VersionRange

DOES = ("works", "raises", "ignored", "wrong")
_KEYS = {"versions", "does", "text"}


@record(frozen=True, slots=True, eq=False)
class Behaviour:
    """What happens in some versions: it works, raises, is ignored, or computes something wrong; `text` names versions as `{package}`."""

    versions: VersionRange
    does: str
    text: str


@functools.lru_cache(maxsize=64)
def load_behaviours(name: str) -> tuple[Behaviour, ...]:
    """Return the list that `FILE.way.what` names (`precision.trainer.fp16`). Raises RuleError for an unknown name or a bad entry."""
    file, *keys = name.split(".")
    path = rules_folder() / "platform" / "behaviours" / f"{file}.yaml"
    found = read_yaml(path)
    for key in keys:
        if not isinstance(found, Mapping) or key not in found:
            raise RuleError(f"{path}: there is no {name!r}")
        found = found[key]
    rows = []
    for row in found:
        if set(row) - {"source"} != _KEYS or row["does"] not in DOES:
            raise RuleError(f"{path}: {name}: each entry has `versions`, `does` (one of {', '.join(DOES)}) and `text`: {row}")
        rows.append(Behaviour(VersionRange.parse(row["versions"]), row["does"], row["text"]))
    if not rows or rows[-1].does != "works" or any(row.does == "works" for row in rows[:-1]):
        raise RuleError(f"{path}: {name}: the last entry, and no other, says what works")
    return tuple(rows)


def behaviour_in(name: str, versions: Mapping[str, Version]) -> Behaviour:
    """Return what holds in these versions; a range about a package without a version doesn't match. Raises as `load_behaviours` does."""
    rows = load_behaviours(name)
    return next((row for row in rows if row.versions.matches(versions)), rows[-1])
