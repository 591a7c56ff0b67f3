"""The canonical settings, from `rules/settings.yaml`; and one of a run: its value, where it was decided, and where it is written."""

from __future__ import annotations

import ast
import functools
from typing import TYPE_CHECKING, Any

from mpslint.core.finding import Span
from mpslint.core.knowledge import read_yaml, rules_folder
from mpslint.core.record import record
from mpslint.core.versions import VersionRange
from mpslint.facts.facts import Command, Flag
from mpslint.facts.values import Argument, Call, Context, Known, OneOf, Value
from mpslint.settings.dialect import CallPattern, Spelling

if TYPE_CHECKING:
    from mpslint.facts.entries import ConfigEntry, ConfigMapping

ENVIRONMENT = "environment"
"""The dialect of settings that an environment variable says."""


@record(frozen=True, slots=True, eq=False)
class Setting:
    """What one place says about one canonical setting."""

    name: str
    value: Value
    """In canonical terms: `Known("fp16")`."""
    dialect: str
    spelling: str
    """How the place names it: `fp16`, `--fp16`, `PYTORCH_MPS_HIGH_WATERMARK_RATIO`."""
    span: Span | None
    """What was written: the whole `fp16=True`. None for a default that nobody wrote."""
    value_span: Span | None = None
    """The expression of the value where this setting is written: `True`, or a name."""
    origin: Span | None = None
    """The expression that decided the value: elsewhere, when a name was written."""
    call: Call | None = None
    pattern: CallPattern | None = None
    entry: Spelling | None = None
    argument: Argument | None = None
    context: Context | None = None
    default_versions: VersionRange | None = None
    """For a default: the versions in which it holds."""
    node: ast.AST | None = None
    style: str = "python"
    """In what it is written: `python`, `shell` (a flag or a variable of a shell text), `dotenv` or `config` (YAML, JSON)."""
    command: Command | None = None
    flag: Flag | None = None
    mapping: ConfigMapping | None = None
    """The mapping of a configuration file that says it, or whose default it is."""
    config: ConfigEntry | None = None
    place: Span | None = None
    """Where a default of a configuration file is shown: at the key by which the file is known."""

    @property
    def is_written(self) -> bool:
        """Whether the file says it, rather than the framework's default."""
        return self.default_versions is None

    @property
    def role(self) -> str:
        """The role of the call that says it; `environment` or `attribute` where no call does."""
        if self.pattern is not None:
            return self.pattern.role
        return "environment" if self.dialect == ENVIRONMENT else "attribute"

    @property
    def is_known(self) -> bool:
        """Whether its value is one constant."""
        return isinstance(self.value, Known)

    @property
    def constant(self) -> Any:
        """Its value; raises AttributeError when it is not known (ask `is_known` first)."""
        assert isinstance(self.value, Known)
        return self.value.value

    @property
    def constants(self) -> tuple[Any, ...]:
        """Every value that it may have; empty when it could be anything."""
        if isinstance(self.value, Known):
            return (self.value.value,)
        if isinstance(self.value, OneOf) and all(isinstance(value, Known) for value in self.value.values):
            return tuple(value.value for value in self.value.values if isinstance(value, Known))
        return ()


def inferred(name: str, value: Any, call: Call | None, spelling: str) -> Setting:
    """Return a setting that nobody wrote: it follows from a call, or from the other settings."""
    context = call.context if call is not None else None
    return Setting(name, Known(value), "derived", spelling, None, call=call, context=context, default_versions=VersionRange())


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
