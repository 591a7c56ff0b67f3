"""A training plan as it is read for verify: its constants, and what is assumed where it has none."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from mpslint.core.finding import ReadError
from mpslint.facts.values import Call, is_weak
from mpslint.settings.evidence import Evidence
from mpslint.settings.plan import TrainingPlan


class NeedsCodeError(ReadError):
    """A run that no plan describes, though its own code may be run."""

    def __init__(self, why: str) -> None:
        super().__init__(f"{why}; let its own code run: mpslint verify FILE")


@dataclass(frozen=True, slots=True, eq=False)
class TrainingRun:
    """One training run of a file."""

    plan: TrainingPlan
    evidence: Evidence

    @property
    def title(self) -> str:
        """What it is and where it stands: `Seq2SeqTrainer (trainer) at cell 15, line 1`."""
        document, span = self.evidence.document, self.plan.span
        place = document.place(span.start) if span is not None else None
        if place is not None and document.parts:
            place = replace(place, path=place.path or document.path)
        return f"{self.plan.title} ({self.plan.kind})" + (f" at {place.shown}" if place is not None else "")


@dataclass(frozen=True, slots=True)
class PlanSource:
    """The plan that is read, and what was assumed so far."""

    plan: TrainingPlan
    evidence: Evidence
    assumed: list[str] = field(default_factory=list)

    def known(self, name: str, kind: type | tuple[type, ...] = object) -> Any:
        """Return the constant of a setting, None where it is not known or of another kind; a default of the command line is named."""
        setting = self.plan.get(name)
        if setting is None or not setting.is_known or not isinstance(setting.constant, kind) or setting.constant is None:
            return None
        if is_weak(setting.value) and setting.is_written:
            self.assume(f"{setting.spelling} is {setting.constant}, a default that the command line may change")
        return setting.constant

    def count(self, name: str, assumed: int) -> int:
        """Return a whole number that the plan says, else what is assumed."""
        found = self.known(name, int)
        if found is not None and found > 0:
            return int(found)
        if self.plan.get(name) is not None or self.plan.kind == "loop":
            self.assume(f"{name} is not known: {assumed}")
        return assumed

    def assume(self, line: str) -> None:
        """Note an assumption, once."""
        if line not in self.assumed:
            self.assumed.append(line)

    def calls(self, *roles: str) -> list[Call]:
        """Return the run's calls of some roles."""
        return [call for role in roles for call in self.plan.calls.get(role, ())]
