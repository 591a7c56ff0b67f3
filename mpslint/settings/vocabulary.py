"""The canonical settings: their names, types and titles, from `rules/settings.yaml`."""

from __future__ import annotations

import functools

from mpslint.core.finding import RuleError
from mpslint.core.knowledge import read_yaml, rules_folder
from mpslint.core.record import record

TYPES = ("flag", "count", "number", "word")
COMBINATIONS = ("last", "max", "min")


@record(frozen=True, slots=True)
class SettingKind:
    """What a canonical setting is: the type of its value, its title, how several values combine, what it is written beside,
    whether an option of the command line says it for the whole program, whether it counts only in training, and how a fix for the Mac
    leaves other machines as they are."""

    name: str
    type: str
    title: str
    combine: str = "last"
    words: tuple[str, ...] = ()
    beside: str = ""
    once: bool = False
    elsewhere: str = ""
    """Python that is the new value (`{new}`) on a Mac and the old one (`{old}`) elsewhere; '' where the new one does for all."""
    training: bool = False


@functools.lru_cache(maxsize=1)
def load_vocabulary() -> dict[str, SettingKind]:
    """Return every canonical setting by name. Raises RuleError naming the file and the key that is wrong."""
    path = rules_folder() / "settings.yaml"
    kinds = {}
    for name, data in read_yaml(path).items():
        unknown = set(data) - set(SettingKind.__annotations__)
        if unknown or data.get("type") not in TYPES or data.get("combine", "last") not in COMBINATIONS:
            raise RuleError(f"{path}: {name}: bad entry {data}")
        kinds[name] = SettingKind(name, **{**data, "words": tuple(data.get("words", ()))})
    return kinds
