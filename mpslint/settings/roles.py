"""The roles of calls, commands and configuration parts, from `rules/roles.yaml`: what each means for a run."""

from __future__ import annotations

import functools
from collections.abc import Collection, Mapping
from difflib import get_close_matches
from typing import Any

from mpslint.core.finding import RuleError
from mpslint.core.knowledge import read_yaml, rules_folder


@functools.lru_cache(maxsize=1)
def load_roles() -> dict[str, Mapping[str, Any]]:
    """Return what each declared role means for a run, by its name; the file explains the words."""
    roles: dict[str, Mapping[str, Any]] = read_yaml(rules_folder() / "roles.yaml")
    return roles


@functools.lru_cache(maxsize=16)
def roles_that(word: str) -> frozenset[str]:
    """Return the roles of which a word is said, such as `trains` or `run`."""
    return frozenset(name for name, said in load_roles().items() if said.get(word))


def check_role(name: str, where: str) -> str:
    """Return a role's name. Raises RuleError, which names the closest declared role, for one that isn't declared."""
    known = load_roles()
    if name not in known:
        raise RuleError(f"{where}: unknown role {name!r}{closest(name, known)}; rules/roles.yaml declares the roles")
    return name


def closest(name: object, known: Collection[str]) -> str:
    """Return `; did you mean 'x'?` for the known word nearest to a mistyped one, or an empty text."""
    near = get_close_matches(str(name), known, 1, 0.6)
    return f"; did you mean {near[0]!r}?" if near else ""
