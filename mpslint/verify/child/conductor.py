"""A run of foreign code on the emulator: which of its steps really run, and when the rest is played from their recordings.

The first steps run as they come. Then batches are fetched ahead, and steps run that span their shapes; these are only recorded. From the
recordings all steps after the first ones are played in the loader's own order, and the code goes on from where that ends.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise

from mpslint.verify.child.feed import Feed, shapes_text
from mpslint.verify.emulator.allocator import AllocatorModel, OutOfMemoryError
from mpslint.verify.emulator.family import Family, Key, Step, structure, telling
from mpslint.verify.emulator.keys import GraphCache
from mpslint.verify.emulator.log import Compiled, EventLog, Numbers, Passage, Player, compiled
from mpslint.verify.emulator.memory import LiveMemory
from mpslint.verify.outcome import StepRecord

FIRST = 3
"""Steps that run as they come, where nothing else is asked for."""
FEWEST = 5
"""Steps that run at least before any is played."""
AFTER = 2
"""Steps that run after those that were played, so that an evaluation between them shows what it leaves."""
SIZES = (2, 4, 6, 8, 12)
"""Rows of the batches from which those of any other number of rows are worked out."""
MOST_SIZED = len(SIZES) + 2
"""Steps that these take at most: one has the code's own number, and one a batch that was fetched before."""
CHEAP = 20_000
"""Events of the recorded steps up to which more steps are recorded than are needed: what happens every few steps is seen by that."""


@dataclass(frozen=True, slots=True)
class Recorded:
    """A passage that really ran, the batches that it ran on, and its record."""

    passage: Passage
    step: Step
    record: StepRecord
    more: int = 0
    """Bytes that the whole of an evaluation, which was cut, adds to its peak."""


@dataclass(frozen=True, slots=True)
class Turn:
    """A passage that is to be played: with its own integers, or with those of other batches."""

    program: Compiled
    numbers: Numbers
    recorded: Recorded
    step: Step


class Conductor:
    """Records the steps of a run, says when enough of them ran, and plays the rest."""

    def __init__(
        self, feed: Feed, memory: LiveMemory, keys: GraphCache, allocator: AllocatorModel, steps: int, horizon: int, first: int = FIRST
    ) -> None:
        self.feed, self.memory, self.keys, self.allocator = feed, memory, keys, allocator
        self.sizes: tuple[int, ...] = ()
        """Rows of the batches that the code gets once the others are recorded."""
        self.steps, self.horizon, self.first = steps, horizon, first
        self.empty_cache: Callable[[], None] = lambda: None
        self.count_into: Callable[[GraphCache], None] = lambda keys: None
        """Has the run's calls counted by another graph cache."""
        self.log = EventLog(keys)
        self.recorded: list[Recorded] = []
        self.sized: list[Recorded] = []
        """The steps whose batches had other numbers of rows."""
        self.is_sizing = False
        self.played_at = 0
        """After which of the steps that ran the rest was played; 0 while it wasn't."""
        self.error: OutOfMemoryError | None = None
        self.error_line = ""
        self.player: Player | None = None
        """What goes on from the first steps, once the others are only recorded."""
        self._given: list[int] = []
        self.each = self._held_back = self._taken = self._since = self._sized_by = 0
        self._sized_keys: set[Key] = set()
        self._constant: Key | None = None
        self._lines: tuple[str, ...] = ()
        memory.log = self.log

    @property
    def is_recording(self) -> bool:
        """Whether steps are recorded that the allocator and the graph cache haven't seen."""
        return self.player is not None and not self.played_at

    @property
    def most(self) -> int:
        """How many steps run at most."""
        return self.steps if not self.played_at else min(self.steps, self.played_at + self.after)

    @property
    def after(self) -> int:
        """How many steps run after those that were played: a loop without a loader can't be told to come to its end."""
        return AFTER if self.feed.given else 0

    @property
    def turns(self) -> tuple[int, ...]:
        """The steps that ran after which an evaluation is due."""
        return (self.played_at, self.most) if self.played_at else (self.most,)

    def stepped(self, taken: int, record: StepRecord) -> bool:
        """Take a step that ran; return whether the rest is to be played now."""
        if self.played_at:
            return False
        passage = self.log.cut("train", taken)
        self._given.append(len(self.feed.given))
        if taken < self.first:
            return False
        if taken == self.first:
            self._begin()
            return False
        self._taken, self._since = taken, self._since + 1
        step = self.feed.take(self._held_back) if self.each else ()
        if not self.is_sizing or self._sized_keys.isdisjoint(step):
            self.recorded.append(Recorded(passage, step, record))
        elif len(set(step)) == 1:
            self.sized.append(Recorded(passage, step, record))
        self.is_sizing = taken < self._sized_by
        is_last = taken >= self.steps - self.after
        if self.is_sizing or not (is_last or self._is_covered(taken)):
            return False
        return not self._size(taken) and (is_last or self._is_steady())

    def _size(self, taken: int) -> bool:
        """Have steps run whose batches have other numbers of rows, if that is asked for and can be done; return whether it is."""
        sizes, self.sizes = self.sizes, ()
        if self.each and sizes and self.feed.is_regular:
            self._sized_keys = self.feed.resize(sizes, self.each, self._held_back)
            count = len(self._sized_keys) - (-self._held_back // self.each) if self._sized_keys else 0
            self._sized_by, self.steps, self.is_sizing = taken + count, self.steps + count, count > 0
        return self.is_sizing

    def evaluated(self, taken: int, record: StepRecord, more: int) -> None:
        """Take an evaluation that ran."""
        if not self.played_at:
            passage = self.log.cut("evaluate", taken + 1)
            self._since += self.is_recording
            if self.is_recording:
                self.recorded.append(Recorded(passage, (), record, more))

    def _begin(self) -> None:
        """Leave the allocator and the graph cache as they are; have batches fetched ahead, and those given first whose shapes span all."""
        memory, feed = self.memory, self.feed
        taken = {after - before for before, after in pairwise(self._given)}
        each = min(taken)
        held_back = self._given[0] - feed.used - each
        if feed.is_regular and len(taken) == 1 and each > 0 and held_back >= 0:
            self.each, self._held_back = each, held_back
            feed.take(held_back)
            self._constant = feed.constant
            if self._constant is None:
                feed.look_ahead((self.horizon + 1) * each)
                start = -(-len(feed.given) // each) * each
                feed.plan.extend(range(len(feed.given), min(start, len(feed.order))))
                self._plan(start, self.steps - self.after - self.first)
        blocks = memory.detach()
        held = {label: (memory.buffers[number].size, blocks.get(number)) for number, label in self.log.labels.items()}
        self.player = Player(self.allocator, self.keys, self.empty_cache, held, memory.live)
        self.log.keys = self.keys.copied()
        self.log.count = 0
        self.count_into(self.log.keys)

    def _plan(self, start: int, most: int, known: Family | None = None) -> None:
        """Have steps given next that span the shapes of all that aren't known, from a place of the loader's order on."""
        feed, each = self.feed, self.each
        first: dict[Step, int] = {}
        for place, step in feed.steps(each):
            if place >= start and all(one in feed.kept for one in range(place, place + each)) and (known is None or not known.covers(step)):
                first.setdefault(step, place)
        if not first:
            return
        usual = Counter(map(structure, first)).most_common(1)[0][0]
        points = {place: step for step, place in first.items() if structure(step) == usual}
        done = [step for step in known.recorded if structure(step) == usual] if known is not None else []
        for place in telling(points, done, most):
            feed.plan.extend(range(place, place + each))

    def _is_covered(self, taken: int) -> bool:
        """Return whether all steps up to the horizon follow from those that ran."""
        if taken < FEWEST or self.feed.plan:
            return False
        common = self.common()
        if common is None:
            return False
        if not all(map(common.covers, set(self._coming()))):
            self._plan(0, self.steps - self.after - taken, common)
            return False
        return True

    def _is_steady(self) -> bool:
        """Return whether memory doesn't grow in the steps that most are like, and they aren't so cheap that more are recorded."""
        common = self.common()
        steady = next(one.passage for one in self.recorded if common is not None and one.passage.program is common.program)
        return steady.is_balanced and self.log.count > CHEAP

    def common(self) -> Family | None:
        """Return the steps that most are like; None where these are fewer than half."""
        trained = [one for one in self.recorded if one.passage.what == "train"]
        counted = Counter(one.passage.program for one in trained).most_common(1)
        if not counted or 2 * counted[0][1] <= len(trained):
            return None
        return Family([(one.step, one.passage) for one in trained if one.passage.program == counted[0][0]])

    def _coming(self) -> list[Step]:
        """Return the batches of the steps after the first ones, as far as the run is to be played."""
        wanted = self.horizon - self.after - self.first
        if not self.each or not self.feed.is_regular:
            return [()] * wanted
        if self._constant is not None:
            return [(self._constant,) * self.each] * wanted
        return [step for _, step in self.feed.steps(self.each)][self.first :][:wanted]

    def play(self, records: list[StepRecord], *, only_recorded: bool = False) -> None:
        """Put the records of all steps after the first ones in the place of those of the steps that were only recorded.

        Of code that has ended there are `only_recorded` ones, and what it did after them.
        """
        assert self.player is not None
        del records[len(records) - self._since :]
        self.played_at, self.is_sizing = self._taken, False
        try:
            for turn in self._turns(only_recorded):
                records.append(self._played(turn, sum(record.what == "train" for record in records)))
            if only_recorded:
                tail, done = self.log.cut("train", self.played_at + 1), sum(record.what == "train" for record in records)
                self._play(tail, compiled(tail.program, self.log.kinds, tail.numbers[None]), tail.numbers, done + 1)
        except OutOfMemoryError as error:
            self.error, self.error_line = error, self._lines[self.player.place]
        self._hand_back(sum(record.what == "train" for record in records))

    def _turns(self, only_recorded: bool) -> Iterator[Turn]:
        """Yield what is to be played: in the loader's own order where that is known, else what ran."""
        common, coming = self.common(), self._coming()
        trained = sum(one.passage.what == "train" for one in self.recorded)
        goes_on = not only_recorded and common is not None and len(coming) > trained and common.covers(coming[trained])
        programs: dict[int, Compiled] = {}
        place = 0
        for one in self.recorded:
            passage, step, numbers = one.passage, one.step, one.passage.numbers
            program = None
            if goes_on and common is not None and passage.program == common.program:
                program = programs[0] = programs.get(0) or compiled(common.program, self.log.kinds, common.rows)
                if common.covers(coming[place]):
                    step = coming[place]
                    numbers = common.at(step)
            place += passage.what == "train"
            yield Turn(program or compiled(passage.program, self.log.kinds, numbers[None]), numbers, one, step)
        if not goes_on or common is None:
            return
        usual = next(one for one in self.recorded if one.passage.program == common.program)
        for step in coming[trained:]:
            if not common.covers(step):
                return
            yield Turn(programs[0], common.at(step), usual, step)

    def _played(self, turn: Turn, done: int) -> StepRecord:
        """Play a passage; return its record."""
        assert self.player is not None
        start, what = time.perf_counter(), turn.recorded.passage.what
        before = len(self.keys.all_keys), self.keys.compiled
        number = done + 1
        self._play(turn.recorded.passage, turn.program, turn.numbers, number)
        return StepRecord(
            number if what == "train" else done,
            what,
            self.player.live,
            self.player.peak + turn.recorded.more,
            self.allocator.driver,
            turn.recorded.record.host,
            new_keys=len(self.keys.all_keys) - before[0],
            new_graph_keys=self.keys.compiled - before[1],
            seconds=time.perf_counter() - start,
            shapes=shapes_text(turn.step) if turn.step else turn.recorded.record.shapes,
            blocks=self.allocator.live,
        )

    def _play(self, passage: Passage, program: Compiled, numbers: Numbers, number: int) -> None:
        assert self.player is not None
        self._lines = passage.lines
        self.player.play(program, numbers.tolist(), passage.what, number)

    def _hand_back(self, done: int) -> None:
        """Have the code go on from where playing ended: what it keeps of its last steps lies where the last steps played left theirs."""
        assert self.player is not None
        memory, held = self.memory, self.player.held
        blocks = {}
        for number, (what, step, place) in self.log.labels.items():
            label = (what, step, place) if (what, step, place) in held else (what, step - self.played_at + done, place)
            size, block = held.pop(label, (0, None))
            memory.buffers[number].size = size
            blocks[number] = block
        peak = self.player.live if self.error is None else self.player.peak
        memory.attach(self.allocator, blocks, self.player.live, peak)
        self.count_into(self.keys)
