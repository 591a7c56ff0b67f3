"""Dialects: how frameworks spell the canonical settings; `dialect_reader` reads them from `rules/dialects/*.yaml`."""

from __future__ import annotations

import fnmatch
import functools
import re
from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Any

from mpslint.core.grouped import grouped
from mpslint.core.record import record
from mpslint.core.versions import Version, VersionRange

_WILD = re.compile(r"\[[^\]]*\]|[*?]")
"""What stands for any text, or any character, in a pattern of names."""
ANYTHING = "*"


@record(frozen=True, slots=True, eq=False)
class Globs:
    """Patterns of names of which one has to fit (`*` is any part): compiled when a name comes that holds what one of them spells out."""

    globs: tuple[str, ...]
    pieces: list[list[str]] = field(default_factory=list)
    compiled: list[re.Pattern[str]] = field(default_factory=list)

    @property
    def roots(self) -> list[str]:
        """The first part of each pattern (`transformers`)."""
        return [glob.partition(".")[0] for glob in self.globs]

    def fit(self, name: str) -> bool:
        """Return whether one of the patterns fits a name."""
        if not self.pieces:
            self.pieces.extend([piece for piece in _WILD.split(glob) if piece] for glob in self.globs)
        if not any(all(piece in name for piece in pieces) for pieces in self.pieces):
            return False
        if not self.compiled:
            self.compiled.append(re.compile("|".join(f"(?:{fnmatch.translate(glob)})" for glob in self.globs)))
        return self.compiled[0].fullmatch(name) is not None

    def may_end(self, last: str) -> bool:
        """Return whether one of the patterns may fit a dotted name of which this is the last part."""
        ends = (glob.rpartition(".")[2] for glob in self.globs)
        return any(fnmatch.fnmatchcase(last, end) for end in ends)


@record(frozen=True, slots=True, eq=False)
class Spelling:
    """How one argument (or key, flag, variable) speaks about one setting."""

    setting: str
    reads: str = "plain"
    values: Mapping[Any, Any] | None = None
    """From the argument's value to the setting's; None as a result says nothing about the setting."""
    when: str = ""
    """Another argument that must be true for this one to count."""


@record(frozen=True, slots=True, eq=False)
class Default:
    """What a setting is when nothing is written, in some versions."""

    value: Any
    versions: VersionRange


@record(frozen=True, eq=False)
class Table:
    """The arguments of a call and what they say, with the defaults."""

    arguments: Mapping[str, tuple[Spelling, ...]]
    """By name; `model_kwargs.dtype` is the entry `dtype` of the mapping that is given as `model_kwargs`."""
    positional: tuple[str, ...]
    defaults: Mapping[str, tuple[Default, ...]]
    seldom: frozenset[str] = frozenset()
    """Settings that command lines seldom change: their defaults count, weakly, for what is made of a command line that isn't known."""

    def default(self, setting: str, versions: Mapping[str, Version]) -> Default | None:
        """Return the default of a setting in the Target's versions, or None when the table has none."""
        return next((default for default in self.defaults.get(setting, ()) if default.versions.matches(versions)), None)

    def spellings_of(self, setting: str) -> Sequence[tuple[str, Spelling]]:
        """Return the arguments that can write a setting, in order of preference."""
        return self._by_setting.get(setting, ())

    @functools.cached_property
    def mappings(self) -> frozenset[str]:
        """The arguments that are mappings of others."""
        return frozenset(name.partition(".")[0] for name in self.arguments if "." in name)

    @functools.cached_property
    def settings(self) -> Sequence[str]:
        """The settings that its arguments say, then those that have a default only."""
        return tuple(dict.fromkeys((*self._by_setting, *self.defaults)))

    @functools.cached_property
    def _by_setting(self) -> Mapping[str, Sequence[tuple[str, Spelling]]]:
        return grouped((one.setting, (name, one)) for name, spellings in self.arguments.items() for one in spellings)


@record(frozen=True, slots=True, eq=False)
class CallPattern:
    """Which calls a dialect reads, and as what."""

    dialect: str
    role: str
    table: Table
    names: tuple[str, ...] = ()
    not_names: tuple[str, ...] = ()
    methods: tuple[str, ...] = ()
    written: tuple[str, ...] = ()
    """How the callee is written, for calls of things whose type is not known."""
    has: tuple[str, ...] = ()
    """At least one of these arguments must be there."""
    lacks: tuple[str, ...] = ()
    under: str = ""
    """The name of a context manager that must be in force."""
    positional_at_most: int = 1 << 30
    sets: Mapping[str, Any] = field(default_factory=dict)
    """What the call says by being there."""
    named: str = ""
    """The setting whose value is the last part of the callee's name."""
    rests_on: str = ""
    """The setting of the run without which the call does nothing: where that is undecided, so is what the call says."""


@record(frozen=True, slots=True, eq=False)
class CommandPattern:
    """Which commands of a shell text a dialect reads, and as what call."""

    programs: Globs
    """Fit the words of the command that are no flags."""
    has: tuple[str, ...]
    call: CallPattern
    lacks: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    """Pieces of which one stands in a word or a value of every such command, for programs that share a name (`train.py`)."""
    where_absent: bool = False
    """What a flag does is known by its name only: it counts where the script isn't there to be read."""


@record(frozen=True, slots=True, eq=False)
class ConfigPattern:
    """Which configuration files a dialect reads, known by their keys, and as what call."""

    title: str
    call: CallPattern
    needs: tuple[str, ...]
    """Every one of these keys must be there."""
    has: tuple[str, ...] = ()
    """At least one of these."""
    lacks: tuple[str, ...] = ()
    at: str = ""
    """The key of the mapping that all of this is about, where it is not the whole file."""
    beside: tuple[str, ...] = ()
    """At least one of these must be in the whole file."""
    only: frozenset[str] = frozenset()
    """Where there are any: no other keys may be there."""
    environment: str = ""
    """The key of a mapping of environment variables that the framework sets."""
    has_defaults: bool = True
    """Whether what a file leaves out is as the table says; else the script that reads it decides."""

    @property
    def words(self) -> tuple[str, ...]:
        """Keys of which one is in the bytes of every such file."""
        inside = (self.at,) if self.at else ()
        return tuple(key.rpartition(".")[2] for key in self.needs[:1] or self.beside or inside or self.has)


@record(frozen=True, slots=True, eq=False)
class NodePattern:
    """Mappings of configuration files that a framework makes calls of."""

    name: str
    """The key whose value is the dotted name of what is called."""
    arguments: str = ""
    """The key of the mapping of its arguments; '' where they stand beside the name."""


@record(frozen=True, slots=True, eq=False)
class AttributePattern:
    """Which attribute writes a dialect reads."""

    path: str
    name: str
    spelling: Spelling


@record(frozen=True, eq=False)
class Dialect:
    """One file of `rules/dialects/`."""

    name: str
    roots: tuple[str, ...]
    calls: tuple[CallPattern, ...]
    attributes: tuple[AttributePattern, ...]
    environment: Mapping[str, Spelling]
    tables: Mapping[str, Table]
    commands: tuple[CommandPattern, ...] = ()
    configs: tuple[ConfigPattern, ...] = ()
    nodes: tuple[NodePattern, ...] = ()


@record(frozen=True, eq=False)
class Dialects:
    """All dialects, with the look-ups that make matching quick."""

    all: tuple[Dialect, ...]

    @functools.cached_property
    def roots(self) -> frozenset[str]:
        """The packages that some dialect reads."""
        return frozenset(root for dialect in self.all for root in dialect.roots)

    @functools.cached_property
    def _exact(self) -> dict[str, list[CallPattern]]:
        return grouped((name, pattern) for pattern in self._patterns for name in pattern.names if "*" not in name)

    @functools.cached_property
    def _patterns(self) -> list[CallPattern]:
        return [pattern for dialect in self.all for pattern in dialect.calls]

    @functools.cached_property
    def _globs(self) -> list[tuple[Globs, CallPattern]]:
        return [(Globs(globs), p) for p in self._patterns if (globs := tuple(name for name in p.names if "*" in name))]

    @functools.lru_cache(maxsize=512)  # noqa: B019  (there is one Dialects per process)
    def _globs_under(self, root: str) -> list[tuple[Globs, CallPattern]]:
        """Return the patterns that a name of this package may fit: most names are of none that some pattern is about."""
        return [(globs, pattern) for globs, pattern in self._globs if any(root == first or "*" in first for first in globs.roots)]

    @functools.cached_property
    def _methods(self) -> dict[str, list[CallPattern]]:
        return grouped((method, pattern) for pattern in self._patterns for method in pattern.methods)

    @functools.cached_property
    def _written(self) -> list[tuple[Globs, CallPattern]]:
        return [(Globs(p.written), p) for p in self._patterns if p.written]

    @functools.cached_property
    def configs(self) -> tuple[ConfigPattern, ...]:
        """Every kind of configuration file that some dialect reads."""
        return tuple(pattern for dialect in self.all for pattern in dialect.configs)

    @functools.cached_property
    def nodes(self) -> tuple[NodePattern, ...]:
        """Every way in which a mapping of a configuration file stands for a call."""
        return tuple(pattern for dialect in self.all for pattern in dialect.nodes)

    @functools.cached_property
    def environment(self) -> dict[str, Spelling]:
        """Every environment variable that some dialect reads."""
        return {name: spelling for dialect in self.all for name, spelling in dialect.environment.items()}

    @functools.lru_cache(maxsize=4096)  # noqa: B019  (there is one Dialects per process)
    def of_name(self, name: str) -> tuple[CallPattern, ...]:
        """Return the patterns that a qualified name fits, exact ones first."""
        patterns = [pattern for globs, pattern in self._globs_under(name.partition(".")[0]) if globs.fit(name)]
        found = [*self._exact.get(name, ()), *patterns]
        return tuple(p for p in found if not any(fnmatch.fnmatchcase(name, glob) for glob in p.not_names))

    @functools.lru_cache(maxsize=4096)  # noqa: B019  (there is one Dialects per process)
    def candidates(self, names: tuple[str, ...], method: str) -> tuple[CallPattern, ...]:
        """Return the patterns for a call that goes by some qualified names, or is a method of this name (`""` for none)."""
        return tuple(pattern for found in (*map(self.of_name, names), self._methods.get(method, ())) for pattern in found)

    @functools.lru_cache(maxsize=4096)  # noqa: B019  (there is one Dialects per process)
    def may_be_written(self, last: str) -> bool:
        """Return whether some pattern may fit a callee whose last name, as it is written, is this one."""
        return any(globs.may_end(last) for globs, _ in self._written)

    @functools.lru_cache(maxsize=4096)  # noqa: B019  (there is one Dialects per process)
    def of_written(self, text: str) -> list[CallPattern]:
        """Return the patterns for a callee that is written like this."""
        return [pattern for globs, pattern in self._written if globs.fit(text)]

    @functools.lru_cache(maxsize=4096)  # noqa: B019  (there is one Dialects per process)
    def how_known(self, name: str) -> int:
        """Return 2 for a qualified name that some dialect reads, 1 for one that only a pattern fits, 0 for any other."""
        if any(other == name or other.startswith(f"{name}.") for other in self._exact):
            return 2
        made = (f"{name}.from_pretrained", f"{name}.from_pretrained.__call__")
        return int(any(globs.fit(one) for globs, _ in self._globs for one in made))
