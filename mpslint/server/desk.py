"""What is open, and what came of it: checks in one worker thread, which ends with the process, after a pause in typing, and shows only
what is still true."""

from __future__ import annotations

import asyncio
import itertools
import queue
import threading
from collections.abc import Callable
from concurrent.futures import Executor, Future
from typing import ParamSpec, TypeVar

from lsprotocol import types
from pygls.lsp.server import LanguageServer
from pygls.uris import to_fs_path

from mpslint.core.folders import forget_disk
from mpslint.core.notices import taken
from mpslint.project.run import full_path
from mpslint.server.client import Abilities, abilities_of
from mpslint.server.diagnostics import diagnostics_of
from mpslint.server.judging import Judged, judge_snapshot
from mpslint.server.open_texts import snapshot_of
from mpslint.server.surroundings import Surroundings
from mpslint.session.running import mistake_in
from mpslint.session.session import Options

Result = TypeVar("Result")
Arguments = ParamSpec("Arguments")

PAUSE = 0.1
"""Seconds without a change after which what was typed is checked."""
LONG_PAUSE = 1.0
"""Seconds after which the runs are read that took too long while somebody typed."""


class Desk:
    """The state of one server. Everything here runs in the loop's thread; only what is handed to `in_worker` runs in the other one."""

    def __init__(self, server: LanguageServer, options: Options) -> None:
        self.server, self.options = server, options
        self.worker = Worker()
        self.turns: dict[str, int] = {}
        """The turn of each file or notebook that is open: another one after each change, and when it is opened again."""
        self.next_turn = itertools.count(1)
        self.waiting: dict[str, asyncio.Task[None]] = {}
        self.checks: dict[str, tuple[int, asyncio.Task[Judged | None]]] = {}
        """The check of the latest turn that was asked for, and its turn."""
        self.shown: dict[str, set[str]] = {}
        """For each file or notebook the texts that have diagnostics."""
        self.complaints: dict[str, str] = {}
        self.logged: set[str] = set()
        """What was passed over, which is said once."""
        self.around = Surroundings(options)
        """Asked by the worker only."""

    @property
    def abilities(self) -> Abilities:
        """What the editor can do."""
        return abilities_of(self.server.client_capabilities)

    def changed(self, uri: str, is_typing: bool = False, is_told: bool = False) -> None:
        """Check what is open under an address: now, or after a pause where somebody is typing; `is_told` where another file changed."""
        self.turns[uri] = next(self.next_turn)
        if uri in self.waiting:
            self.waiting[uri].cancel()
        self.waiting[uri] = asyncio.ensure_future(self._check_and_show(uri, is_typing, is_told))

    def closed(self, uri: str) -> None:
        """Forget a file or notebook, and take away what is shown of it."""
        if uri in self.waiting:
            self.waiting.pop(uri).cancel()
        self.turns.pop(uri, None)
        self.checks.pop(uri, None)
        self.complaints.pop(uri, None)
        path = to_fs_path(uri)
        if path is not None:
            self.worker.submit(self.around.close, path)
        for part in self.shown.pop(uri, ()):
            self._publish(part, None, [])

    def recheck(self) -> None:
        """Look at the disk again and check everything that is open: a configuration or a pin has changed."""
        self.forget()
        for uri in self.turns:
            self.changed(uri, is_told=True)

    def forget(self) -> None:
        """Look at the disk again from now on."""
        forget_disk()
        self.worker.submit(self.around.forget)

    def touched(self) -> None:
        """Look again at which files there are; at what they hold too, where the editor doesn't tell of changes."""
        if self.abilities.watches_files:
            forget_disk()
        else:
            self.forget()

    async def in_worker(self, function: Callable[[], Result]) -> Result:
        """Return what a function returns, which runs in the worker thread."""
        return await asyncio.get_running_loop().run_in_executor(self.worker, function)

    async def judged(self, uri: str, is_quick: bool = False) -> Judged | None:
        """Return what came of the text as it is now; None for what is not open or not read, and where it changed meanwhile."""
        turn = self.turns.get(uri)
        if turn is None:
            return None
        if uri not in self.checks or self.checks[uri][0] != turn:
            self.checks[uri] = turn, asyncio.ensure_future(self._judge(uri, turn, is_quick))
        return await asyncio.shield(self.checks[uri][1])

    async def _judge(self, uri: str, turn: int, is_quick: bool) -> Judged | None:
        snapshot = snapshot_of(self.server.workspace, uri)
        if snapshot is None:
            return None
        found = snapshot
        judged = await self.in_worker(
            lambda: judge_snapshot(found, self.options, self.around, is_quick) if self.turns.get(uri) == turn else None
        )
        return judged if self.turns.get(uri) == turn else None

    async def _check_and_show(self, uri: str, is_typing: bool, is_told: bool) -> None:
        await asyncio.sleep(PAUSE if is_typing else 0)
        try:
            judged = await self.judged(uri, is_typing)
            if judged is not None and not (is_typing and judged.is_broken):  # half a line typed: what is shown stays, and moves along
                self._show(uri, judged)
                if not is_told:
                    await self._recheck_readers(uri, judged.snapshot.path)
                if judged.is_cut:
                    await asyncio.sleep(LONG_PAUSE)
                    self.changed(uri, is_told=True)
        except Exception as error:  # nobody awaits this task: without a line in the log the file would stay unchecked in silence
            self.log(mistake_in(uri, error))

    async def _recheck_readers(self, uri: str, path: str) -> None:
        """Check the other open files whose runs read a file that has changed."""
        others = await self.in_worker(lambda: self.around.readers_of(path))
        for other in [one for one in self.turns if one != uri and full_path(to_fs_path(one) or "") in others]:
            self.changed(other, is_told=True)

    def _show(self, uri: str, judged: Judged) -> None:
        self._complain(uri, judged.complaint)
        if judged.problem:
            self.log(f"{judged.snapshot.path}: {judged.problem}")
        for line in {line for line in taken().values() if line} - self.logged:
            self.logged.add(line)
            self.log(line)
        found = diagnostics_of(judged, self.abilities.shows_related)
        parts = {part.uri: part.version for part in judged.snapshot.parts}
        before = self.shown.get(uri, set())
        self.shown[uri] = set(found)
        for part in before - set(parts):
            self._publish(part, None, [])
        for part, version in parts.items():
            if part in found or part in before or part == uri:
                self._publish(part, version, found.get(part, []))

    def _publish(self, uri: str, version: int | None, diagnostics: list[types.Diagnostic]) -> None:
        self.server.text_document_publish_diagnostics(types.PublishDiagnosticsParams(uri, diagnostics, version))

    def _complain(self, uri: str, complaint: str) -> None:
        """Say what is wrong with a configuration, once for as long as it is wrong."""
        if complaint and complaint not in self.complaints.values():
            self.server.window_show_message(types.ShowMessageParams(types.MessageType.Error, f"mpslint: {complaint}"))
        self.complaints[uri] = complaint

    def log(self, text: str) -> None:
        """Write one line into the editor's log."""
        line = " ".join(text.split())
        self.server.window_log_message(types.LogMessageParams(types.MessageType.Error, f"mpslint: {line}"))


class Worker(Executor):
    """An executor of one thread that nobody waits for: Python waits at its end for those of ThreadPoolExecutor."""

    def __init__(self) -> None:
        self._waiting: queue.SimpleQueue[Callable[[], object]] = queue.SimpleQueue()
        threading.Thread(target=self._work, name="mpslint", daemon=True).start()

    def submit(self, function: Callable[Arguments, Result], /, *arguments: Arguments.args, **named: Arguments.kwargs) -> Future[Result]:
        """Have a function called behind those before; return where its result or exception comes to be."""
        future: Future[Result] = Future()

        def call() -> None:
            if future.set_running_or_notify_cancel():
                try:
                    future.set_result(function(*arguments, **named))
                except BaseException as error:
                    future.set_exception(error)

        self._waiting.put(call)
        return future

    def _work(self) -> None:
        while True:
            self._waiting.get()()
