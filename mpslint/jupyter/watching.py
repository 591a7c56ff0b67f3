"""`%mpslint run`: what the rest of the session trains is watched, in the kernel itself."""

from __future__ import annotations

import contextlib
import re
import threading
import time
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mpslint.core.scratch import scratch_folder
from mpslint.jupyter.cells import NAME, Cells
from mpslint.report.console import URGENT
from mpslint.report.run_ending import ending_text
from mpslint.run.events import EventFolder, StepTable
from mpslint.run.page import write_page
from mpslint.run.probe import Probe
from mpslint.run.script import Script
from mpslint.run.system import swap_bytes
from mpslint.run.watcher import Watcher

POLL_SECONDS = 0.5


@dataclass(slots=True)
class Watching:
    """One watched session, from `%mpslint run` to `%mpslint stop`."""

    cells: Cells
    table: StepTable
    page: Path | None
    script: Script
    watcher: Watcher
    events: EventFolder
    probe: Probe
    counts: Callable[[], Mapping[str, int]]
    """Returns the cell that each temporary file of the kernel stands for, by its execution count."""
    started: float = field(default_factory=time.monotonic)
    warnings: list[str] = field(default_factory=list)
    ended: threading.Event = field(default_factory=threading.Event)
    lock: threading.Lock = field(default_factory=threading.Lock)
    scratch: contextlib.ExitStack = field(default_factory=contextlib.ExitStack)

    def look(self) -> None:
        """Read what the probe told since, and say what is new."""
        with self.lock:
            observed = self.events.poll()
            for fallback in observed.fallbacks.values():
                fallback.file = f"In [{self.counts()[fallback.file]}]" if fallback.file in self.counts() else fallback.file
            self.script.notebook = self.cells.notebook()
            self.watcher.look(observed, time.monotonic() - self.started)
            self.table.update(observed)

    def look_until_end(self) -> None:
        """Look again and again while cells run."""
        while not self.ended.wait(POLL_SECONDS):
            self.look()

    def after_cell(self, result: Any) -> None:
        """Look once more when a cell has run, and explain the error that ended it, where mpslint knows it."""
        self.probe.flush()
        self.look()
        error = getattr(result, "error_in_exec", None)
        if isinstance(error, Exception):
            observed = self.events.poll()
            observed.error = self._by_cells("".join(traceback.format_exception(type(error), error, error.__traceback__)))
            print(ending_text(observed, self.script, ()), end="")

    def _by_cells(self, trace: str) -> str:
        """Return a traceback whose frames in cells are named as Jupyter names them, not by the kernel's temporary files."""
        counts = self.counts()

        def named(frame: re.Match[str]) -> str:
            return f"Cell In[{counts[frame[1]]}], line {frame[2]}" if frame[1] in counts else frame[0]

        return re.sub(r'File "([^"\n]*)", line (\d+)', named, trace)

    def stop(self) -> str:
        """Watch no longer; return the summary."""
        self.probe.detach()
        self.ended.set()
        self.look()
        observed = self.events.poll()
        summary = self.watcher.summary(observed) if observed.steps else "no optimizer step was seen"
        if self.page is not None:
            ending = f"{observed.error}{ending_text(observed, self.script, ())}"
            write_page(self.page, observed, "this notebook", summary, self.warnings, ending)
        self.scratch.close()
        return summary


def begin(ipython: Any, cells: Cells, table: Path | None, page: Path | None, every: float) -> Watching:
    """Watch this process from now on. Lines are printed into the cell that runs."""
    scratch = contextlib.ExitStack()
    folder = scratch.enter_context(scratch_folder("run-"))
    warnings: list[str] = []
    script = Script(NAME, cells.notebook())

    def say(text: str) -> None:
        if text.startswith(URGENT):
            warnings.append(text)
        print(f"mpslint: {text}", flush=True)

    watcher = Watcher(say, script.explanation, script.precision_missed, every, swap_at_start=swap_bytes())
    probe = Probe(str(folder))
    events = EventFolder(Path(folder))

    def counts() -> Mapping[str, int]:
        return getattr(ipython.compile, "_filename_map", {})

    made = Watching(cells, StepTable(table), page, script, watcher, events, probe, counts, warnings=warnings, scratch=scratch)
    probe.attach()
    threading.Thread(target=made.look_until_end, name="mpslint", daemon=True).start()
    return made
