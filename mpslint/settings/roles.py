"""The roles of calls, commands and configuration parts, from `rules/roles.yaml`: what each means for a run."""

from __future__ import annotations

import functools
from collections.abc import Collection, Sequence
from difflib import get_close_matches

from mpslint.core.finding import RuleError
from mpslint.core.knowledge import read_yaml, rules_folder
from mpslint.core.record import record


@record(frozen=True, slots=True)
class RoleKind:
    """What a role means for a run; `rules/roles.yaml` explains each field."""

    name: str
    means: str
    run: str = ""
    trains: bool = False
    shared: bool = False
    own: bool = False
    given: bool = False
    in_loop: bool = False
    chooses_device: bool = False
    cuts: bool = False
    training: Sequence[str] = ()
    evaluating: Sequence[str] = ()
    given_loaders: Sequence[str | int] = ()
    makes_loaders: Sequence[str] = ()


@functools.lru_cache(maxsize=1)
def load_roles() -> dict[str, RoleKind]:
    """Return the declared roles by name."""
    return {name: RoleKind(name, **data) for name, data in read_yaml(rules_folder() / "roles.yaml").items()}


@functools.lru_cache(maxsize=16)
def roles_that(field: str) -> frozenset[str]:
    """Return the roles that have a field of `RoleKind`, such as `trains` or `run`."""
    return frozenset(name for name, kind in load_roles().items() if getattr(kind, field))


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
