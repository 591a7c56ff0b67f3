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


@record(frozen=True)
class Roles:
    """Every declared role by name, and the sets that the plan of a run is built from."""

    kinds: dict[str, RoleKind]

    @functools.cached_property
    def runs(self) -> dict[str, str]:
        """The roles that stand for a run, with the kind of plan that each makes."""
        return {kind.name: kind.run for kind in self.kinds.values() if kind.run}

    def that(self, field: str) -> frozenset[str]:
        """Return the roles of which a field of `RoleKind` is true, such as `trains`."""
        return frozenset(kind.name for kind in self.kinds.values() if getattr(kind, field))

    @functools.cached_property
    def trains(self) -> frozenset[str]:
        """The roles whose calls drive a training run."""
        return self.that("trains")

    @functools.cached_property
    def shared(self) -> frozenset[str]:
        """The roles that belong to every run of a file."""
        return self.that("shared")

    @functools.cached_property
    def own(self) -> frozenset[str]:
        """The shared roles of which a Trainer that is given one has no other."""
        return self.that("own")

    @functools.cached_property
    def in_loop(self) -> frozenset[str]:
        """The roles that belong to a training loop that is written by hand."""
        return self.that("in_loop")

    @functools.cached_property
    def cut(self) -> frozenset[str]:
        """The roles whose calls cut samples to the length that they are given."""
        return self.that("cuts")

    @functools.cached_property
    def choose_device(self) -> frozenset[str]:
        """The roles whose calls select the Mac's GPU when nothing names a device."""
        return self.that("chooses_device")


@functools.lru_cache(maxsize=1)
def load_roles() -> Roles:
    """Return the declared roles. Raises RuleError naming the file and the role whose entry is wrong."""
    path = rules_folder() / "roles.yaml"
    kinds = {}
    for name, data in read_yaml(path).items():
        if unknown := set(data) - set(RoleKind.__annotations__):
            raise RuleError(f"{path}: {name}: unknown key {min(unknown)!r}")
        kinds[name] = RoleKind(name, **data)
    return Roles(kinds)


def check_role(name: str, where: str) -> str:
    """Return a role's name. Raises RuleError, which names the closest declared role, for one that isn't declared."""
    known = load_roles().kinds
    if name not in known:
        raise RuleError(f"{where}: unknown role {name!r}{closest(name, known)}; rules/roles.yaml declares the roles")
    return name


def closest(name: object, known: Collection[str]) -> str:
    """Return `; did you mean 'x'?` for the known word nearest to a mistyped one, or an empty text."""
    near = get_close_matches(str(name), known, 1, 0.6)
    return f"; did you mean {near[0]!r}?" if near else ""
