"""Has jobs done by child processes: the environment they get, their progress, their results or what went wrong."""

from __future__ import annotations

import json
import os
import re
import sys
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import mpslint
from mpslint.finding import ReadError
from mpslint.verify.job import Job
from mpslint.verify.process import Ended, Limits, run
from mpslint.verify.record import to_json

Progress = Callable[[str, Mapping[str, Any]], None]
SECRET = re.compile(r"TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIAL|API_?KEY|ACCESS_KEY|PRIVATE|AUTH", re.IGNORECASE)
HIDDEN = "hidden-by-mpslint"
OFFLINE = {
    "HF_HUB_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1", "HF_DATASETS_OFFLINE": "1", "WANDB_MODE": "disabled",
    "WANDB_DISABLED": "true",
    "COMET_MODE": "disabled", "MLFLOW_TRACKING_URI": "", "HF_HUB_DISABLE_PROGRESS_BARS": "1",
    "HF_HUB_DISABLE_TELEMETRY": "1",
    "TOKENIZERS_PARALLELISM": "false", "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "PYTHONUNBUFFERED": "1",
    "MPLBACKEND": "agg",
    "PYTHONDONTWRITEBYTECODE": "1", "KINETO_LOG_LEVEL": "5",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Answer:
    """What became of a job: its result, or the one line that says why there is none, and what was printed."""

    data: Mapping[str, Any] = field(default_factory=dict)
    problem: str = ""
    kind: str = ""
    ended: Ended = field(default_factory=lambda: Ended(0, "", "", 0.0))


def child_environment() -> dict[str, str]:
    """Return this process's environment without the values of its secrets, offline, and able to find mpslint."""
    environment = {name: HIDDEN if SECRET.search(name) and value else value for name, value in os.environ.items()}
    place = str(Path(mpslint.__file__).parents[1])
    environment["PYTHONPATH"] = os.pathsep.join(filter(None, [place, environment.get("PYTHONPATH", "")]))
    environment.update(OFFLINE)
    return environment


def hide_secrets(text: str) -> str:
    """Return a text without the values of this process's secrets, wherever it got them from."""
    for name, value in os.environ.items():
        if SECRET.search(name) and len(value) >= 6:
            text = text.replace(value, f"<{name}>")
    return text


def has_torch() -> bool:
    """Return whether torch is installed, without importing it."""
    from importlib.util import find_spec

    return find_spec("torch") is not None


def do_job(
    job: Job,
    limits: Limits,
    progress: Progress | None = None,
    name: str = "",
    folder: Path | None = None,
    more: Mapping[str, str] | None = None,
) -> Answer:
    """Have one job done in a process of its own. Raises ReadError when torch is not installed."""
    if not has_torch():
        raise ReadError("verify needs torch and transformers: pip install 'mpslint[verify]'")
    with tempfile.TemporaryDirectory(prefix="mpslint-") as scratch:
        asked, told = Path(scratch) / "job.json", Path(scratch) / "result.jsonl"
        asked.write_text(to_json(job), encoding="utf-8")
        told.touch()
        reader = Reader(told, progress, name)
        command = [sys.executable, "-m", "mpslint.verify.child", str(asked), str(told)]
        ended = run(command, folder or Path(scratch), {**child_environment(), **(more or {})}, limits, reader.read)
        reader.read()
    ended.output = hide_secrets(ended.output)
    return _answer(reader, ended)


def _answer(reader: Reader, ended: Ended) -> Answer:
    if reader.result is not None:
        return Answer(reader.result, ended=ended)
    if ended.stopped:
        return Answer(problem=f"the run was stopped: {ended.stopped}", kind="stopped", ended=ended)
    if reader.error is not None:
        message = hide_secrets(str(reader.error.get("message", "")))
        return Answer(problem=message, kind=str(reader.error.get("kind", "")), ended=ended)
    last = ended.output.strip().splitlines()[-1:] or ["it printed nothing"]
    return Answer(
        problem=f"the run ended with exit code {ended.code} before it gave a result: {last[0]}",
        kind="died",
        ended=ended,
    )


class Reader:
    """Reads the lines that a child writes, as they come."""

    def __init__(self, path: Path, progress: Progress | None, name: str) -> None:
        self.path, self.progress, self.name = path, progress, name
        self.place = 0
        self.result: Mapping[str, Any] | None = None
        self.error: Mapping[str, Any] | None = None

    def read(self) -> None:
        """Take the whole lines written since the last call."""
        with self.path.open("rb") as stream:
            stream.seek(self.place)
            lines = stream.read().splitlines(keepends=True)
        for line in lines:
            if not line.endswith(b"\n"):
                break
            self.place += len(line)
            self._take(line)

    def _take(self, line: bytes) -> None:
        try:
            event = json.loads(line)
            kind, data = event["event"], event["data"]
        except (ValueError, KeyError, TypeError):
            return
        if kind == "result":
            self.result = data
        elif kind == "error":
            self.error = data
        elif self.progress is not None:
            self.progress(self.name, data)
