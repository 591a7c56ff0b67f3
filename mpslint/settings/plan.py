"""A training run as mpslint understands it."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from typing import TYPE_CHECKING, Any

from mpslint.core.finding import Span
from mpslint.core.grouped import grouped
from mpslint.core.record import record
from mpslint.facts.values import Call, Known, alternatives_of
from mpslint.settings.dialect import CallPattern
from mpslint.settings.setting import Setting, inferred, load_vocabulary

if TYPE_CHECKING:
    from mpslint.settings.translate_config import ConfigPart
    from mpslint.settings.translate_shell import CommandPart

NO_TRAINING = "evaluation.only"
"""The setting of a run that only evaluates."""


@record(frozen=True, eq=False)
class TrainingPlan:
    """One run as mpslint understands it: settings by canonical name, in the order in which the file reaches them."""

    kind: str
    """trainer, arguments, loop, accelerator, command (of a shell text), config (a file of settings) or file (what belongs to no run)."""
    title: str
    span: Span | None
    settings: Mapping[str, tuple[Setting, ...]]
    calls: Mapping[str, tuple[Call, ...]] = field(default_factory=dict)
    """The calls that belong to it, by role."""
    configs: tuple[ConfigPart, ...] = ()
    """For a configuration file: what it is read as."""
    commands: tuple[CommandPart, ...] = ()
    """For a command: what it, and the script that it launches, is read as."""

    def get(self, name: str) -> Setting | None:
        """Return the setting that counts: the last one written, or the largest or smallest where sizes combine; else the default."""
        if name not in self._counting:
            self._counting[name] = self._get(name)
        return self._counting[name]

    def of_call(self, name: str, call: Call) -> Sequence[Setting]:
        """Return what a call of it says of a setting."""
        if name not in self._by_call:
            self._by_call[name] = grouped((id(setting.call), setting) for setting in self.settings.get(name, ()))
        return self._by_call[name].get(id(call), ())

    @functools.cached_property
    def _counting(self) -> dict[str, Setting | None]:
        """What counts of each setting that was asked for: every place of 10,000 may ask."""
        return {}

    @functools.cached_property
    def _by_call(self) -> dict[str, dict[int, list[Setting]]]:
        return {}

    def _get(self, name: str) -> Setting | None:
        found = self.settings.get(name, ())
        written = [setting for setting in found if setting.is_written]
        if not written:
            return found[-1] if found else None
        combine = load_vocabulary()[name].combine
        numbers = [s for s in written if s.is_known and isinstance(s.constant, (int, float))]
        if combine != "last" and numbers:
            pick: Callable[..., Setting] = max if combine == "max" else min
            return pick(numbers, key=lambda setting: setting.constant)
        return written[-1]

    @property
    def trainer(self) -> Call | None:
        """The call that makes the run's Trainer, or None."""
        return next(iter(self.calls.get("trainer", ())), None)

    @property
    def roles(self) -> frozenset[str]:
        """The roles of the calls, or of the parts of a configuration file or a command, that belong to the run."""
        return frozenset([*self.calls, *(part.pattern.call.role for part in self.configs), *(part.pattern.role for part in self.commands)])

    def constant(self, name: str) -> Any:
        """Return the value of the setting that counts, or None when it is not known or not there."""
        setting = self.get(name)
        return setting.constant if setting is not None and setting.is_known else None


def without_training(plan: TrainingPlan, trainer: Call) -> TrainingPlan:
    """Return a run without the settings that count only in training, and with the one that says so."""
    kinds = load_vocabulary()
    settings = {name: said for name, said in plan.settings.items() if not kinds[name].training}
    return dataclasses.replace(plan, settings={**settings, NO_TRAINING: (inferred(NO_TRAINING, True, trainer, ""),)})


@record(frozen=True, eq=False)
class Matched:
    """A call with the dialect pattern it fits and what it says."""

    call: Call
    pattern: CallPattern
    settings: tuple[Setting, ...]

    @property
    def devices(self) -> frozenset[str]:
        """The devices that it may name, without their index; '' among them where one isn't known."""
        values = (one for setting in self.settings if setting.name == "device.name" for one in alternatives_of(setting.value))
        return frozenset(str(one.value).split(":")[0] if isinstance(one, Known) else "" for one in values)


@record(frozen=True, eq=False)
class FilePlans:
    """Everything that a file's facts say in canonical terms."""

    plans: tuple[TrainingPlan, ...]
    matched: tuple[Matched, ...]

    @functools.cached_property
    def by_result(self) -> Mapping[int, Matched]:
        """The calls that some dialect reads, by the id of the object that each makes."""
        return {id(m.call.result): m for m in self.matched if m.call.result is not None}
