"""A script of somebody else's stays in its room: every escape of tests/verify/escapes.py is tried with each means that this machine has."""

from __future__ import annotations

import contextlib
import json
import os
import platform
import pty
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from mpslint.verify.confinement import choice
from mpslint.verify.confinement.choice import Confinement
from mpslint.verify.confinement.room import Room, environment_in
from mpslint.verify.process import ChildLimits, run
from tests.verify.escapes import ESCAPES, PRELUDE, RUNNER

pytestmark = pytest.mark.skipif(
    sys.platform != "linux" or platform.machine() != "x86_64", reason="the escapes are written for Linux on x86_64"
)

SECRET = "do-not-read-this"
TAG = "mpslint-escape"
DAEMON = "61.0671875"
"""How long the daemons that escapes leave behind sleep; no other process has that argument."""


@pytest.fixture(scope="module", params=["bubblewrap", "unshare", ""], ids=["bubblewrap", "unshare", "landlock"])
def means(request: pytest.FixtureRequest) -> Iterator[Confinement]:
    """Yield each means of confinement; those that this machine does not have are skipped, and say why."""
    found = shutil.which("bwrap")
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(choice.SYSTEM_TOOLS, "bubblewrap", (found,) if found else ())
        candidate = next((one for one in choice.candidates() if one.tool == request.param), None)
        if candidate is None:
            pytest.skip(f"{request.param or 'Landlock'} is not installed or not known to this kernel")
        tried = choice.trial(candidate)
        if tried.gaps:
            pytest.skip(f"{tried.name} is not allowed here: a trial could {', '.join(tried.gaps)}; verify then promises less")
        yield tried


@dataclass(frozen=True)
class Outcome:
    """What an escape said of itself, and what it changed outside."""

    said: Mapping[str, str]
    changed: str


@pytest.fixture(scope="module")
def outcomes(means: Confinement) -> dict[str, Outcome]:
    """Return what became of every escape, all tried in one confined run."""
    with tempfile.TemporaryDirectory(prefix=TAG, dir=Path.home()) as place:
        return tried_in(means, Path(place))


def tried_in(means: Confinement, place: Path) -> dict[str, Outcome]:
    """Try every escape below a folder; return what became of each."""
    scratch, room = place / "scratch", Room(place / "room", (place / "granted",))
    scratch.mkdir()
    made = {
        name: (folder_of_files(place / "outside", number), folder_of_files(place / "granted", number))
        for number, name in enumerate(ESCAPES)
    }
    with services(place) as (names, heard):
        names.update(
            SHARED_NETWORK=means.tool not in ("bubblewrap", "unshare"),
            SHARED_FILES=means.tool != "bubblewrap",
        )  # fmt: skip
        asked = scratch / "asked.json"
        asked.write_text(json.dumps({"prelude": PRELUDE, "escapes": {
            name: {"code": ESCAPES[name], "names": {**names, "OUTSIDE": str(outside), "GRANTED": str(granted)}}
            for name, (outside, granted) in made.items()
        }}))  # fmt: skip
        before = {name: state(*folders) for name, folders in made.items()}
        command = means.command(room, [sys.executable, "-I", "-c", RUNNER, str(asked)], room.folder, scratch, [asked])
        ended = run(command, scratch, environment_in(room), ChildLimits(seconds=300))
        assert "ALL DONE" in ended.output, ended
        said = {one["name"]: one for one in map(json.loads, (line[5:] for line in ended.output.splitlines() if line.startswith("SAID ")))}
        changed = {name: "" if state(*folders) == before[name] else "its files" for name, folders in made.items()}
        elsewhere = heard() or " ".join(path for path in (f"/tmp/{TAG}", f"/dev/shm/{TAG}", f"{Path.home()}/{TAG}") if os.path.exists(path))
    assert not elsewhere, elsewhere
    return {name: Outcome(said[name], changed[name]) for name in ESCAPES}


def folder_of_files(parent: Path, number: int) -> Path:
    """Make a folder with a file and a folder in it."""
    folder = parent / str(number)
    (folder / "folder").mkdir(parents=True)
    (folder / "file").write_text(SECRET)
    (folder / "file").chmod(0o644)
    return folder


def state(*folders: Path) -> list[tuple[Any, ...]]:
    """Return all of some folders that an escape could change."""
    found = []
    for path in sorted(path for folder in folders for path in folder.rglob("*")):
        status = path.lstat()
        text = path.read_bytes() if path.is_file() else b""
        found.append((str(path), status.st_mode, status.st_uid, status.st_mtime_ns, status.st_nlink, os.listxattr(path), text))
    return found


@contextlib.contextmanager
def services(place: Path) -> Iterator[tuple[dict[str, Any], Any]]:
    """Offer what an escape could reach; yield its names, and a function that returns what was reached."""
    stream, datagram, abstract = place / "stream.socket", place / "datagram.socket", f"\0{place.name}"
    with contextlib.ExitStack() as stack:
        listening = []
        for family, kind, address in (
            (socket.AF_INET, socket.SOCK_STREAM, ("127.0.0.1", 0)),
            (socket.AF_INET6, socket.SOCK_STREAM, ("::1", 0)),
            (socket.AF_INET, socket.SOCK_DGRAM, ("127.0.0.1", 0)),
            (socket.AF_UNIX, socket.SOCK_STREAM, str(stream)),
            (socket.AF_UNIX, socket.SOCK_DGRAM, str(datagram)),
            (socket.AF_UNIX, socket.SOCK_STREAM, abstract),
        ):
            one = stack.enter_context(socket.socket(family, kind))
            with contextlib.suppress(OSError):  # a machine without IPv6
                one.bind(address)
                if kind == socket.SOCK_STREAM:
                    one.listen()
            one.setblocking(False)
            listening.append(one)
        secret = {**os.environ, "DATABASE_URL": SECRET, "EDITOR": SECRET}
        code = f"import time; time.sleep(600)  # {SECRET}"
        victim = subprocess.Popen([sys.executable, "-c", code], env=secret, cwd=place / "outside" / "0")
        stack.callback(victim.wait)
        stack.callback(victim.kill)
        token = Path.home() / f".{TAG}" / "token"
        token.parent.mkdir(exist_ok=True)
        stack.callback(shutil.rmtree, token.parent)
        token.write_text(SECRET)
        shared = Path(f"/dev/shm/{TAG}-secret")
        shared.write_text(SECRET)
        stack.callback(shared.unlink)
        ours, theirs = pty.openpty()
        stack.callback(os.close, ours)
        stack.callback(os.close, theirs)
        patch = stack.enter_context(pytest.MonkeyPatch.context())
        patch.setenv("DATABASE_URL", SECRET)
        patch.setenv("WANDB_KEY", SECRET)
        names = {
            "TCP": listening[0].getsockname()[1], "TCP6": listening[1].getsockname()[1], "UDP": listening[2].getsockname()[1],
            "STREAM": str(stream), "DATAGRAM": str(datagram), "ABSTRACT": abstract, "VICTIM": victim.pid, "HOME": str(Path.home()),
            "SECRET": SECRET, "TAG": TAG, "TERMINAL": os.ttyname(theirs), "SHARED_MEMORY": str(shared), "DAEMON": DAEMON,
        }  # fmt: skip

        def heard() -> str:
            """Return what was reached: a socket that heard something, a victim that died, a daemon that lives."""
            for one in listening:
                with contextlib.suppress(OSError):
                    one.accept() if one.type == socket.SOCK_STREAM else one.recv(1)
                    return f"{one.getsockname()} was reached"
            if victim.poll() is not None:
                return "the victim died"
            lines = subprocess.run(["ps", "-axwwo", "args="], capture_output=True, text=True, check=False).stdout
            return "a daemon is left" if f"sleep {DAEMON}" in lines else ""

        yield names, heard


@pytest.mark.parametrize("name", ESCAPES)
def test_no_escape_reaches_anything(outcomes: dict[str, Outcome], name: str) -> None:
    """Nothing is read that holds the secret, nothing reached, nothing changed."""
    outcome = outcomes[name]
    got = outcome.said.get("got", "").strip()

    assert not outcome.changed
    assert SECRET not in got
    assert name.startswith("reads:") or not got, outcome.said
