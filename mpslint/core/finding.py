"""The words that every part speaks: where something is, what is wrong with it, and how to change it."""

from __future__ import annotations

import enum
from dataclasses import dataclass, field

from mpslint.core.record import record


class MpslintError(Exception):
    """Base of the errors that mpslint raises on purpose; its text is the one line the user sees."""


class UsageError(MpslintError):
    """The command line or the configuration asks for something that does not exist (exit code 2)."""


class RuleError(UsageError):
    """A rule or dialect file is wrong; the text names the file and the key."""


class ReadError(MpslintError):
    """A file could not be read or understood; the text says where and what to do (exit code 3)."""


class Severity(enum.Enum):
    """What a finding means for the run, worst first."""

    ERROR = "error"
    """The run raises, or trains wrong without a word."""
    WARNING = "warning"
    """The run is likely to run out of memory, is slow, or a setting has no effect."""
    NOTE = "note"
    """Worth knowing; nothing breaks."""

    @property
    def rank(self) -> int:
        """0 for an error, 1 for a warning, 2 for a note."""
        return ("error", "warning", "note").index(self.value)


class Safety(enum.Enum):
    """What a fix does to the training."""

    SAFE = "safe"
    """The training computes the same thing, or could not have run at all."""
    UNSAFE = "unsafe"
    """The run changes: shorter sequences, another optimizer, another precision."""
    MANUAL = "manual"
    """Advice only: shown, never written."""


@dataclass(frozen=True, slots=True, order=True)
class Span:
    """A half-open range of characters in `Document.text`."""

    start: int
    end: int

    def __contains__(self, other: object) -> bool:
        return isinstance(other, Span) and self.start <= other.start and other.end <= self.end


@record(frozen=True, slots=True)
class Edit:
    """Replace the characters of `span` by `text`; an empty span inserts, an empty text deletes."""

    span: Span
    text: str


@record(frozen=True, slots=True)
class Fix:
    """A rewrite that belongs to one finding.

    `summary` is what the report shows (`fp16=False`); `reason` says why the fix is not safe, where it is not.
    """

    safety: Safety
    summary: str
    edits: tuple[Edit, ...] = ()
    reason: str = ""


@record(frozen=True, slots=True)
class Related:
    """Another place that a finding rests on, such as the line where the value was written."""

    span: Span
    message: str
    path: str = ""
    """The file, where that is another than the finding's."""
    line: int = 0
    """For another file: the line there, the column, and the cell of a notebook."""
    column: int = 0
    cell: int | None = None


@record(frozen=True, slots=True)
class Finding:
    """One thing that goes wrong on the Target, at the place that the user must change."""

    rule: str
    name: str
    severity: Severity
    message: str
    span: Span
    why: str = ""
    fix: Fix | None = None
    related: tuple[Related, ...] = field(default=())
    is_of_run: bool = False
    """It is about the environment, so it is said once for all files."""
    entries: tuple[Related, ...] = ()
    """What starts the runs that it was found in: lines of shell scripts, and scripts other than the finding's own file (line 0)."""
    awaits: str = ""
    """The rule whose fix has to come first: until then it does not go wrong. '' for what goes wrong now."""
    is_of_any_machine: bool = False
    """It goes wrong on every machine with these versions, not on a Mac alone."""
    worsens: bool = False
    """A fix that leads to it isn't made, although it is no error."""
    home: Related | None = None
    """Where people are shown it: a line of a file that counts for the code without being checked itself. `message` is that line."""

    @property
    def order(self) -> tuple[bool, int, Span]:
        """What people are shown it by: what every machine gets wrong at the end, the worst first, and then by place."""
        return self.is_of_any_machine, self.severity.rank, self.span

    @property
    def holds_back(self) -> bool:
        """Whether fixes that lead to it are not made."""
        return self.worsens or self.severity is Severity.ERROR
