"""What runs give: the records of their steps, the checks made on them, and the verdict.
Shared by the child process and its parent."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from mpslint.estimate.step import StepWork

Status = Literal["pass", "fail", "inconclusive", "not run"]
What = Literal["train", "evaluate", "generate"]
RANK: dict[str, int] = {"fail": 0, "inconclusive": 1, "not run": 2, "pass": 3}


@dataclass(frozen=True, slots=True)
class StepRecord:
    """One optimizer step, or one evaluation, as it was emulated or measured; bytes are -1 where they are not known."""

    step: int
    what: What = "train"
    live: int = -1
    """Alive at the end of the step, gradients dropped: what the tensors need."""
    peak: int = -1
    driver: int = -1
    """What the driver holds at the end of the step: predicted by the allocator's model, or read from torch.mps."""
    host: int = 0
    """Kept in the process's own memory, which on a Mac is the same memory."""
    resident: int = -1
    """What the process that computed the step held; not known of emulated steps, which hold no tensors."""
    new_keys: int = -1
    new_graph_keys: int = -1
    seconds: float = -1.0
    loss: float | None = None
    gradient_norm: float | None = None
    shapes: str = ""
    blocks: int = -1
    """The blocks that the live tensors lie in, which is what torch.mps.current_allocated_memory() counts."""


@dataclass(frozen=True, slots=True)
class Trouble:
    """One operator or setting that fails, is wrong or is slow on the Target, and where the user's code calls it."""

    name: str
    severity: str
    message: str
    line: str = ""


@dataclass(frozen=True, slots=True)
class Kept:
    """What a line of the user's code makes at each step that stays alive, and the statement that keeps it where one does."""

    line: str
    bytes_per_step: int
    source: str = ""
    holder: str = ""
    held_at: str = ""


@dataclass(frozen=True, slots=True)
class Retained:
    """What the compiled graphs of one operator keep: how many there are, their bytes together, and the most of one."""

    operator: str
    graphs: int
    size: int
    largest: int


@dataclass(frozen=True, slots=True)
class Composition:
    """What memory is made of at the highest peak, in bytes by category."""

    peak: int
    happens_in: str
    parts: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Fit:
    """How one Mac takes a run: its limit, whether the run fits, and the largest micro-batch that does."""

    memory_gb: int
    recommended: int
    peak: int
    status: Literal["fits", "tight", "too big"]
    largest_batch: int
    bound: Literal["", "at most ", "at least ", "not known"] = ""
    """`at least` where no larger one was tried; `at most` where torch keeps buffers beside the tensors, which weren't counted here."""

    @property
    def batches(self) -> str:
        """The largest micro-batch in words."""
        return self.bound if self.bound == "not known" else f"{self.bound}{self.largest_batch}" if self.largest_batch else "none"

    @property
    def of_tensors(self) -> Fit:
        """The same where torch keeps buffers beside the tensors, which weren't counted: tensors say only what doesn't fit."""
        return replace(self, bound="not known" if self.bound else "at most ")


@dataclass(frozen=True, slots=True)
class RunResult:
    """All that one run showed. `backend` says what was real: mps, cuda, cpu, or emulated."""

    name: str
    backend: str
    steps: tuple[StepRecord, ...] = ()
    composition: Composition | None = None
    largest_peak: int = -1
    """The peak of a step with the longest samples that the settings allow."""
    driver_peak: int = -1
    parameters: int = 0
    batch: int = 0
    """The rows of a micro-batch, where it was asked which fit."""
    fits: tuple[Fit, ...] = ()
    """How Macs take the run, where that was asked for."""
    work: StepWork | None = None
    """The work of a mean step, where that was asked for."""
    all_keys: int = 0
    graph_keys: int = 0
    retained: tuple[Retained, ...] = ()
    """What compiled graphs keep beside the allocator's heaps, by operator; part of the driver memory."""
    out_of_memory: int = 0
    """The step at which MPS ran out of memory; 0 when it did not."""
    shapes: int = 0
    troubles: tuple[Trouble, ...] = ()
    kept: tuple[Kept, ...] = ()
    """What stays alive from step to step, by the line that makes it."""
    kept_of_batches: tuple[Kept, ...] = ()
    """The same of the batches of an evaluation."""
    changes: tuple[str, ...] = ()
    """What was changed to shorten the run."""
    notes: tuple[str, ...] = ()
    uncertain: tuple[str, ...] = ()
    """Where the run depended on values that emulated tensors do not carry."""
    failure: str = ""
    """The exception that ended the run, with the user's line; empty when it went to its end."""
    failure_line: str = ""
    is_raised_on_mps: bool = False
    """Whether a Mac is known to raise the exception that ended an emulated run."""
    stopped: str = ""
    """What ended the run before it had shown enough, when it was neither an exception nor its own end."""
    ran: int = 0
    """Optimizer steps that really ran; the others were played from their recordings."""
    versions: Mapping[str, str] = field(default_factory=dict)
    seconds: float = 0.0
    weights_dtype: str = ""
    """In what the weights are kept, where that was worked out."""
    moved: bool | None = None
    """Whether at least one trained parameter changed its value; None where values are not known."""
    wrong: str = ""
    """The first weight whose gradient was not finite, in words, where values are known."""
    origin: str = ""
    """Which operation first made values that aren't finite, in words."""
    loss_line: str = ""
    """Where that operation is, else where the first loss was differentiated that was not finite."""
    untaken: str = ""
    """Which weights get gradients that no optimizer takes, in words."""
    carried_at: str = ""
    """Where an optimizer steps whose gradients are never reset."""
    optimizer_line: str = ""
    """Where that optimizer was made which looks like theirs, else that of the run."""
    learning_rate: float = -1.0
    rested: int = 0
    """How many of the last steps were taken with a learning rate of 0, after others with a higher one."""
    settings_steps: int = 0
    """Optimizer steps that the run means to do, as its settings and its data say; 0 when they do not."""
    has_assumed_lengths: bool = False
    """Whether texts were drawn whose lengths nobody knows, in place of data that isn't on this machine."""

    @property
    def trained(self) -> list[StepRecord]:
        """The optimizer steps."""
        return [record for record in self.steps if record.what == "train"]


def with_fits(run: RunResult, other: RunResult) -> RunResult:
    """Return a run with what another one of the same code showed of the micro-batches that fit."""
    told = replace(run, composition=other.composition, parameters=other.parameters, batch=other.batch)
    return replace(told, fits=other.fits, work=other.work, shapes=max(run.shapes, other.shapes))


@dataclass(frozen=True, slots=True)
class Backing:
    """One thing that backs a check: a number with its unit, and what it is compared with."""

    label: str
    value: str


@dataclass(frozen=True, slots=True)
class Check:
    """One question about a run, answered."""

    name: str
    status: Status
    reason: str
    evidence: tuple[Backing, ...] = ()
    step: int | None = None
    """The first step at which it shows."""
    line: str = ""
    is_doubted: bool = False
    """Whether it would fail if the shapes of batches were known to be what they are taken to be: the run's own code tells."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """The answer for one run: the worst of its checks, and all of them."""

    name: str
    status: Status
    reason: str
    checks: tuple[Check, ...] = ()


@dataclass(frozen=True, slots=True)
class Estimate:
    """What the run needs at its peak, by category, and what each Mac makes of it."""

    name: str
    composition: Composition
    parameters: int
    batch: int
    fits: tuple[Fit, ...] = ()
    notes: tuple[str, ...] = ()


def worst(statuses: Sequence[Status]) -> Status:
    """Return the worst of some statuses; nothing at all was not run."""
    return min(statuses, key=lambda status: RANK[status], default="not run")


def steps_in_words(count: int) -> str:
    """Return a number of optimizer steps in words."""
    return f"{count or 'no'} optimizer step{'' if count == 1 else 's'}"


def size(count: float) -> str:
    """Return bytes as people read them."""
    for unit, name in ((2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB")):
        if abs(count) >= unit:
            return f"{count / unit:.1f} {name}"
    return f"{count:.0f} B"


def peak_of(run: RunResult) -> str:
    """Return the peak of a run's longest samples in words; of a run that ended before it showed them all, what it came to by then."""
    return "not known" if run.largest_peak < 0 else f"{'at least ' if run.out_of_memory else ''}{size(run.largest_peak)}"
