"""The runs around what is open in an editor, kept from one keystroke to the next: only what changed is read and parsed again."""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING

from mpslint.core.record import record
from mpslint.project.run import full_path
from mpslint.session.runs import Runs
from mpslint.session.session import FileResult, Options
from mpslint.session.units import FilesTogether, graph_of
from mpslint.source.document import Document
from mpslint.source.files import FoundFile

if TYPE_CHECKING:
    from mpslint.engine import Checked

QUICK_STEPS = 3_000
"""Steps that walks of the runs around one file take while somebody types: the answer is due at once."""
MOST_KEPT = 8
"""Files whose runs are kept; the one that was not asked about for longest goes first."""


@record(eq=False)
class Surroundings:
    """The runs that read each open file, by its absolute path, and the texts that count for what lies on the disk."""

    options: Options
    known: dict[str, tuple[object, Runs | None]] = field(default_factory=dict)
    """With what the file imported and loaded when its runs were looked for."""
    texts: dict[str, Document] = field(default_factory=dict)

    def forget(self) -> None:
        """Look for runs again from now on: files came, went or changed on the disk."""
        self.known = {path: (None, runs) for path, (_, runs) in self.known.items()}

    def close(self, path: str) -> None:
        """Let the disk count again for a file that is no longer open."""
        self.texts.pop(full_path(path), None)
        self.known.pop(full_path(path), None)

    def are_around(self, path: str, document: Document) -> bool:
        """Return whether runs of the project read a file whose text is this one now."""
        path = full_path(path)
        self.texts[path] = document
        imported = _imported(document)
        known = self.known.pop(path, None)
        if known is None or known[0] != imported:
            known = imported, self._runs_of(path)
        self.known[path] = known
        while len(self.known) > MOST_KEPT:
            del self.known[next(iter(self.known))]
        return known[1] is not None

    def _runs_of(self, path: str) -> Runs | None:
        texts = {one: (document.python or document.text).encode("utf-8", "surrogatepass") for one, document in self.texts.items()}
        graph = graph_of([FoundFile(path)], self.options, texts)
        entries = graph.entries_around([path])
        return Runs(FilesTogether(((0, FoundFile(path)),), entries, {0: graph.files_around(path)}), self.options) if entries else None

    def within(self, path: str, alone: Checked | None, is_quick: bool = False) -> tuple[Checked | None, bool]:
        """Return what a file gives within the runs around it, and whether some of them were left out to be quick.

        `alone` is what the file gives by itself, if anything.
        """
        runs = self.known.get(full_path(path), (None, None))[1]
        if runs is None:
            return alone, False
        if alone is not None:
            self.texts[full_path(path)] = alone.document
        runs.most_steps = QUICK_STEPS if is_quick else None
        runs.judge({one: self.texts[one] for one in runs.unit.reads[0] if one in self.texts})
        return runs.result(FoundFile(path), FileResult(path, alone)).checked, is_quick and bool(runs.left_out)

    def readers_of(self, path: str) -> list[str]:
        """Return the other open files within whose runs a file is read."""
        path = full_path(path)
        return [other for other, (_, runs) in self.known.items() if other != path and runs is not None and path in runs.unit.reads[0]]


def _imported(document: Document) -> object:
    """Return what of a text decides which files its run reads."""
    from mpslint.project.imports import has_main_guard
    from mpslint.project.run import named_in

    return named_in(document.python), has_main_guard(document.python)
