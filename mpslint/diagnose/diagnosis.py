"""The words of a diagnosis: what was recognised in a log, what it means, and how sure that is."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass

from mpslint.core.versions import Version, VersionRange
from mpslint.diagnose.catalogue import Explanation, Message, TextRole
from mpslint.diagnose.frames import TracedFrame, UserLine
from mpslint.diagnose.log import LogPlace
from mpslint.diagnose.memory_log import MemoryLog
from mpslint.diagnose.out_of_memory import OutOfMemory


class Explained(enum.Enum):
    """How much a diagnosis explains."""

    EXPLAINED = "explained"
    """The text says what happened."""
    UNCERTAIN = "uncertain"
    """Something is known, but it does not settle what happened."""
    UNKNOWN = "unknown"
    """Nothing in the text is known."""


@dataclass(frozen=True, slots=True)
class Symptom:
    """One recognised message of a log, at the first place where it stands.

    `quote` is the text as pasted, on one line; `wording` the versions that print it so; `memory` the arithmetic of an
    out-of-memory text; `frame` the user's own line in its traceback; `library` that of the library in which it ends; `follows` the message
    that explains this one.
    """

    message: Message
    explanation: Explanation
    place: LogPlace
    quote: str
    times: int
    captures: Mapping[str, str]
    wording: VersionRange
    memory: OutOfMemory | None = None
    frame: UserLine | None = None
    library: TracedFrame | None = None
    follows: str = ""

    @property
    def is_cause(self) -> bool:
        """Return whether this is something to act on, not noise and not the echo of another message."""
        return self.message.role is not TextRole.NOISE and not self.follows


@dataclass(frozen=True, slots=True)
class UnknownError:
    """An exception in the log that the catalogue does not hold."""

    text: str
    place: LogPlace
    frame: UserLine | None = None
    library: TracedFrame | None = None
    is_end: bool = False
    """Whether it ended the run, in a log that speaks of all that is known before it, and ends no traceback with that."""


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """What was found in one log. `symptoms` stand in the order to read them: the first cause first, noise last."""

    source: str
    lines: int
    symptoms: tuple[Symptom, ...]
    unknown: tuple[UnknownError, ...]
    memory_log: MemoryLog | None
    memory_explanation: Explanation | None
    versions: Mapping[str, Version]
    looked_for: int

    @property
    def causes(self) -> list[Symptom]:
        """Return what is to be acted on, in the order to read it."""
        return [symptom for symptom in self.symptoms if symptom.is_cause]

    @property
    def cause(self) -> Symptom | None:
        """Return the first cause, or None when only noise or nothing was recognised."""
        return next(iter(self.causes), None)

    @property
    def frames(self) -> list[UserLine]:
        """Return the user's own lines in the tracebacks of causes and of what isn't known."""
        ends = [one.frame for one in self.causes] + [one.frame for one in self.unknown]
        return [frame for frame in ends if frame is not None]

    @property
    def outcome(self) -> Explained:
        """Return how much is explained: a warning explains nothing about an exception that is not known."""
        cause = self.cause
        is_other = any(one.is_end for one in self.unknown) if cause is not None and cause.message.severity.rank == 0 else self.unknown
        if cause is not None and cause.explanation.certain and not is_other:
            return Explained.EXPLAINED
        if self.memory_log is not None and self.memory_log.certain and not self.unknown:
            return Explained.EXPLAINED
        return Explained.UNCERTAIN if self.symptoms or self.memory_log is not None else Explained.UNKNOWN
