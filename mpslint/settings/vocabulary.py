"""The canonical settings: their names, types and titles, from `rules/settings.yaml`."""

from __future__ import annotations

import functools

from mpslint.core.knowledge import read_yaml, rules_folder
from mpslint.core.record import record


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
    """Return every canonical setting by name."""
    rows = read_yaml(rules_folder() / "settings.yaml")
    return {name: SettingKind(name, **{**data, "words": tuple(data.get("words", ()))}) for name, data in rows.items()}
