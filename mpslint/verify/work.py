"""Has jobs done by child processes: the environment they get, their progress, their results or what went wrong."""

from __future__ import annotations

import contextlib
import json
import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mpslint.core.data import from_data, to_data
from mpslint.core.finding import ReadError, UsageError
from mpslint.core.inert import inert
from mpslint.core.knowledge import platform_data
from mpslint.core.scratch import scratch_folder, whole
from mpslint.verify.confinement.choice import confinement
from mpslint.verify.confinement.room import SECRET, Room, passed_environment
from mpslint.verify.job import Job, Lack
from mpslint.verify.process import ChildEnd, ChildLimits, run

Progress = Callable[[str, Mapping[str, Any]], None]
LARGEST_RESULT = 64 * 2**20
"""Bytes of results that are read; foreign code may write there too."""
OFFLINE: Mapping[str, str] = platform_data("confinement")["environment"]["offline"]


@dataclass(frozen=True, slots=True)
class Answer:
    """What became of a job: its result, or the one line that says why there is none, and what was printed."""

    data: Mapping[str, Any] = field(default_factory=dict)
    problem: str = ""
    kind: str = ""
    ended: ChildEnd = field(default_factory=lambda: ChildEnd(0, "", ""))
    lack: Lack | None = None
    """What the code lacked where it was started."""


@dataclass(frozen=True, slots=True)
class Lodging:
    """Where a job runs that executes foreign code."""

    room: Room
    """It lies in what `scratch_folder` yielded, which is removed when this process is killed."""
    environment: Mapping[str, str] = field(default_factory=dict)


def hide_secrets(text: str) -> str:
    """Return a text without the values of this process's secrets, wherever it got them from."""
    for name, value in os.environ.items():
        if SECRET.search(name) and len(value) >= 6:
            text = text.replace(value, f"<{name}>")
    return text


def has_torch() -> bool:
    """Return whether torch is installed, and what watches over the processes that import it, without importing them."""
    from importlib.util import find_spec

    return all(find_spec(name) is not None for name in ("torch", "psutil"))


def do_job(job: Job, limits: ChildLimits, progress: Progress | None = None, name: str = "", lodging: Lodging | None = None) -> Answer:
    """Have one job done in a process of its own, and in a room where it runs foreign code. Raises ReadError when torch is not installed."""
    if not has_torch():
        raise ReadError("verify needs torch, transformers and psutil: pip install 'mpslint[verify]'")
    with scratch_folder() as place, contextlib.ExitStack() as stack:
        scratch = Path(place)
        asked = scratch / "job.json"
        asked.write_text(json.dumps(to_data(job)), encoding="utf-8")
        result = stack.enter_context(Results(scratch / "result.jsonl", progress, name))
        command = [sys.executable, "-m", "mpslint.verify.child", str(asked), str(result.theirs)]
        environment = {**passed_environment(is_ours=True), **OFFLINE}
        kept = [whole(scratch)]
        if lodging is not None:
            command = confinement().command(lodging.room, command, scratch, scratch, [asked])
            environment = {**OFFLINE, **lodging.environment}
            kept.append(whole(lodging.room.folder.parent))
        ended = run(command, scratch, environment, limits, result.read, descriptors=[result.theirs], scratch=kept)
        result.read()
        ended.output = hide_secrets(ended.output)
        return _answer(result, ended)


def _answer(reader: Results, ended: ChildEnd) -> Answer:
    if reader.result is not None:
        return Answer(reader.result, ended=ended)
    if ended.stopped:
        return Answer(problem=f"the run was stopped: {ended.stopped}", kind="stopped", ended=ended)
    if reader.error is not None:
        message = hide_secrets(str(reader.error.get("message", "")))
        return Answer(problem=message, kind=str(reader.error.get("kind", "")), ended=ended, lack=_lack(reader.error.get("lack")))
    last = ended.output.strip().splitlines()[-1:] or ["it printed nothing"]
    return Answer(problem=f"the run ended with exit code {ended.code} before it gave a result: {last[0]}", kind="died", ended=ended)


def _lack(said: object) -> Lack | None:
    """Return what a child says that it lacked; foreign code may have written it."""
    try:
        return from_data(Lack, said) if said else None
    except UsageError:
        return None


class Results:
    """The file that a child writes its lines to, read as they come.

    Both ends stay open: foreign code can neither put another file in its place nor make us wait.
    """

    def __init__(self, path: Path, progress: Progress | None, name: str) -> None:
        self.progress, self.name = progress, name
        self.theirs = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND, 0o600)
        self._ours = os.open(path, os.O_RDONLY)
        self._place = 0
        self.result: Mapping[str, Any] | None = None
        self.error: Mapping[str, Any] | None = None

    def __enter__(self) -> Results:
        return self

    def __exit__(self, *error: object) -> None:
        os.close(self.theirs)
        os.close(self._ours)

    def read(self) -> None:
        """Take the whole lines written since the last call."""
        if self._place >= LARGEST_RESULT:
            return
        read = os.pread(self._ours, LARGEST_RESULT - self._place, self._place)
        for line in read.splitlines(keepends=True):
            if not line.endswith(b"\n"):
                break
            self._place += len(line)
            self._take(line)

    def _take(self, line: bytes) -> None:
        try:
            event = json.loads(line)
            kind, data = event["event"], event["data"]
        except (ValueError, KeyError, TypeError, RecursionError):
            return
        if not isinstance(data, Mapping):
            return
        if kind == "result":
            self.result = data
        elif kind == "error":
            self.error = data
        elif self.progress is not None and all(isinstance(data.get(key), int) for key in ("done", "total")):
            self.progress(self.name, {key: value if isinstance(value, int) else inert(str(value)) for key, value in data.items()})
