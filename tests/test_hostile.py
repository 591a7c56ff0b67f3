"""In a folder that a stranger built to be run, mpslint runs nothing of it, writes nothing and connects to nothing."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
BAD = "from transformers import TrainingArguments\nargs = TrainingArguments('out', fp16=True)\n"
SHADOWED = (
    "click",
    "yaml",
    "rich",
    "libcst",
    "nbformat",
    "packaging",
    "torch",
    "transformers",
    "sitecustomize",
    "usercustomize",
)
PWNED = "import os\nos.close(os.open({mark!r}, os.O_CREAT | os.O_WRONLY))\n"

DRIVER = '''
import multiprocessing, os, sys

def watch(event, arguments):
    """Write down whatever runs, connects, or changes the disk (where there is no strace)."""
    if event in ("subprocess.Popen", "os.posix_spawn", "os.exec", "os.system", "os.startfile"):
        seen.append(f"execve {arguments[0]}")
    elif event in ("socket.connect", "socket.getaddrinfo", "socket.bind"):
        seen.append(f"connect {arguments}")
    elif event in ("os.remove", "os.rename", "os.mkdir", "os.rmdir", "os.link", "os.symlink", "os.chmod", "os.truncate"):
        seen.append(f"write {arguments[0]}")
    elif event == "open" and not isinstance(arguments[0], int) and (arguments[2] or 0) & (os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC):
        seen.append(f"write {arguments[0]}")

def run(commands):
    from mpslint.cli import group
    for command in commands:
        try:
            group.main(command, standalone_mode=False)
        except SystemExit:
            pass
        except Exception as error:
            print(type(error).__name__, error)

if __name__ == "__main__":
    multiprocessing.set_start_method(sys.argv[1])
    seen = []
    if sys.argv[2]:
        sys.addaudithook(watch)
    run([command.split() for command in sys.argv[3:]])
    found, seen = list(seen), []
    if sys.argv[2]:
        with open(sys.argv[2], "w") as stream:
            stream.write("\\n".join(found))
'''

COMMANDS = (
    "check .", "check . --no-cache --format json", "check -j 2 --no-cache a.py b.py", "fix .", "fix . --diff", "fix a.py b.py", "plan .",
    "diagnose train.log --source a.py", "doctor", "report train.log --source a.py", "config .", "rules", "explain MPS101", "clean",
)  # fmt: skip


@pytest.fixture
def hostile(tmp_path: Path) -> Path:
    """A repository that tries to be run by whatever reads it; what succeeds leaves the file PWNED beside it."""
    folder = tmp_path / "repository"
    folder.mkdir()
    mark = str(tmp_path / "PWNED")
    for name in (*(name for name in sys.stdlib_module_names if name != "antigravity"), *SHADOWED):
        (folder / f"{name}.py").write_text(PWNED.format(mark=mark))
    for name in ("conftest.py", "setup.py", "mpslint.py", "sitecustomize.pth", "__main__.py"):
        (folder / name).write_text(PWNED.format(mark=mark))
    for name in ("git", "sh", "uname", "ps", "sysctl", "sw_vers", "nvidia-smi", "python", "python3"):
        (folder / name).write_text(f"#!/bin/sh\ntouch {mark}\n")
        (folder / name).chmod(0o755)
    for git in (folder, folder / ".git"):  # the folder itself as a bare repository, and an unpacked one
        for name in ("objects", "refs", "hooks"):
            (git / name).mkdir(parents=True)
        (git / "HEAD").write_text("ref: refs/heads/main\n")
        settings = f'bare = false\n\tworktree = {folder}\n\tfsmonitor = "touch {mark}; false"\n\tpager = touch {mark}\n\thooksPath = hooks'
        (git / "config").write_text(f"[core]\n\trepositoryformatversion = 0\n\t{settings}\n")
    victim = tmp_path / "victim"
    victim.write_text("as it was\n")
    (folder / ".mpslint_cache").symlink_to(tmp_path)
    (folder / ".gitignore").symlink_to(victim)
    (folder / "linked.py").symlink_to(victim)
    for name in ("requirements.txt", "uv.lock", "environment.yml"):
        (folder / name).symlink_to("/dev/zero")
    if hasattr(os, "mkfifo"):
        os.mkfifo(folder / "poetry.lock")
        os.mkfifo(folder / "pipe.py")
    (folder / "pyproject.toml").write_text(
        '[build-system]\nrequires = []\nbuild-backend = "setup"\nbackend-path = ["."]\n[tool.mpslint]\ntarget = {torch = "2.8"}\n'
    )
    (folder / "a.py").write_text(BAD)
    (folder / "b.py").write_text(f"{PWNED.format(mark=mark)}{BAD}")
    (folder / "c.ipynb").write_text(
        json.dumps(
            {
                "cells": [{"cell_type": "code", "metadata": {}, "outputs": [], "source": f"!touch {mark}\n{BAD}"}],
                "metadata": {},
                "nbformat": 4,
                "nbformat_minor": 5,
            }
        )
    )
    (folder / "run.sh").write_text(f"touch {mark}\nexport PYTORCH_MPS_HIGH_WATERMARK_RATIO=0.0\npython a.py\n")
    (folder / "conf.yaml").write_text("!!python/object/apply:os.system ['touch PWNED']\n")
    (folder / "train.log").write_text(
        "RuntimeError: MPS backend out of memory (MPS allocated: 5.00 GB, other allocations: 1 GB, max allowed: 6 GB)\n"
    )
    return folder


@dataclass(frozen=True)
class Trace:
    """How a run of mpslint is watched: the command line that does it, and where it writes what it saw."""

    line: list[str]
    file: Path
    is_strace: bool

    def events(self) -> list[str]:
        """Return what ran, connected or was written to, each in a line."""
        text = self.file.read_text(errors="replace")
        return [event for line in text.splitlines() if (event := _event(line) if self.is_strace else line)]


def watched(folder: Path, start: str, commands: tuple[str, ...], strace: str | None) -> Trace:
    """Return how commands of mpslint are watched: by strace where there is one, else by Python's own audit hook."""
    beside = folder.parent
    (beside / "driver").mkdir()
    (beside / "temporary").mkdir()
    (beside / "driver" / "driver.py").write_text(DRIVER)
    trace = beside / "trace"
    calls = "trace=execve,execveat,connect,bind,open,openat,creat,unlink,unlinkat,rename,renameat,renameat2,mkdir,mkdirat,link,linkat,symlinkat,chmod,fchmodat,truncate"
    line = [sys.executable, str(beside / "driver" / "driver.py"), start, "" if strace else str(trace), *commands]
    if strace:
        line = [strace, "-f", "-qq", "-s", "300", "-e", calls, "-o", str(trace), *line]
    return Trace(line, trace, strace is not None)


def own_folders(folder: Path) -> dict[str, str]:
    """Return the environment that keeps what mpslint writes beside a folder."""
    beside = str(folder.parent / "cache")
    return {
        "MPSLINT_CACHE_DIR": beside,
        "TMPDIR": str(folder.parent / "temporary"),
        "PYTHONDONTWRITEBYTECODE": "1",
    }


def _event(line: str) -> str:
    """Return what a line of strace says was run, connected to or changed; '' for what only reads or fails."""
    match = re.match(r"\d+ +(\w+)\((.*)\) += (-?\d+)", line)
    if match is None or int(match.group(3)) < 0:
        return ""
    call, arguments, _ = match.groups()
    names = re.findall(r'"([^"]*)"', arguments)
    if call in ("open", "openat"):
        return f"write {names[0]}" if re.search("O_WRONLY|O_RDWR|O_CREAT|O_TRUNC", arguments) else ""
    return f"{call if call in ('execve', 'execveat', 'connect', 'bind') else 'write'} {names[0] if names else arguments}"


def assert_inert(hostile: Path, before: dict[Path, int], events: list[str]) -> None:
    """Hold that the only program is Python, that nothing was written but the cache, and that nobody was called."""
    assert not (hostile.parent / "PWNED").exists()
    assert (hostile.parent / "victim").read_text() == "as it was\n"
    assert {path: path.lstat().st_mtime_ns for path in hostile.rglob("*")} == before
    allowed = (
        "/dev/null",
        "/dev/tty",
        "/dev/shm/",
        "/proc/self/",
        str(hostile.parent / "cache"),
        str(hostile.parent / "temporary"),
        str(hostile.parent / "trace"),
    )
    python = os.path.realpath(sys.executable)
    for event in events:
        kind, _, what = event.partition(" ")
        if kind == "execve":
            assert os.path.realpath(what.strip("[]'\"")) == python, event
        else:
            assert kind == "write", event
            assert what.startswith(allowed), event


WATCHERS = [None, *([found] if (found := shutil.which("strace")) else [])]
"""The audit hook, which every machine has, and strace, which sees more."""
FORK, SPAWN = ("fork", COMMANDS), ("spawn", ("check -j 2 --no-cache a.py b.py",))


@pytest.mark.skipif(sys.platform == "win32", reason="made of what Windows has not")
@pytest.mark.parametrize("strace", WATCHERS, ids=lambda strace: "strace" if strace else "audit hook")
@pytest.mark.parametrize(("start", "commands"), [FORK, SPAWN], ids=["all", "spawned workers"])
def test_nothing_of_a_strangers_folder_is_run(hostile: Path, start: str, commands: tuple[str, ...], strace: str | None) -> None:
    """The only program is Python, nothing is written but the cache, and nobody is called."""
    before = {path: path.lstat().st_mtime_ns for path in hostile.rglob("*")}
    trace = watched(hostile, start, commands, strace)
    environment = {**os.environ, "PYTHONPATH": str(ROOT), **own_folders(hostile)}
    done = subprocess.run(
        trace.line, cwd=hostile, env=environment, capture_output=True, text=True, timeout=280, stdin=subprocess.DEVNULL, check=False
    )
    assert "Traceback" not in done.stderr, done.stderr
    assert "MPS101" in done.stdout, done.stdout
    assert_inert(hostile, before, trace.events())


@pytest.mark.skipif(sys.platform == "win32", reason="made of what Windows has not")
@pytest.mark.parametrize("strace", WATCHERS, ids=lambda strace: "strace" if strace else "audit hook")
def test_the_server_runs_nothing_of_a_strangers_folder(hostile: Path, strace: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Files are opened, hovered over, mended and saved, as an editor does that shows a cloned repository."""
    pytest.importorskip("pygls")
    from tests.language_client import EVERYWHERE, Editor

    before = {path: path.lstat().st_mtime_ns for path in hostile.rglob("*")}
    trace = watched(hostile, "spawn", ("server",), strace)
    for name, value in own_folders(hostile).items():
        monkeypatch.setenv(name, value)
    with Editor(hostile, line=trace.line) as editor:
        for name in ("a.py", "b.py", "conf.yaml", "run.sh", "setup.py"):
            uri = (hostile / name).as_uri()
            editor.open(uri, (hostile / name).read_text(), "python")
            editor.actions(uri, EVERYWHERE)
            editor.ask("textDocument/hover", {"textDocument": {"uri": uri}, "position": {"line": 1, "character": 30}})
            editor.tell("textDocument/didSave", {"textDocument": {"uri": uri}})
        assert "MPS101" in [
            one["code"] for one in editor.diagnostics[(hostile / "b.py").as_uri()]
        ]  # run.sh starts a.py beside its transformers
        editor.open_notebook((hostile / "c.ipynb").as_uri(), [(2, "python", f"!touch {hostile.parent}/PWNED\n{BAD}")])
        editor.tell("workspace/didChangeWatchedFiles", {"changes": [{"uri": (hostile / "pyproject.toml").as_uri(), "type": 2}]})
    assert_inert(hostile, before, trace.events())
