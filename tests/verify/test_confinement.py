"""A script of somebody else's stays in its room: every escape of tests/verify/escapes.py is tried with each means that this machine has."""

from __future__ import annotations

import contextlib
import json
import os
import platform
import pty
import re
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
from mpslint.verify.confinement.choice import Confinement, sandbox_exec
from mpslint.verify.confinement.room import Room, environment_in, look_beside
from mpslint.verify.process import ChildLimits, run
from mpslint.verify.workplace import beside, make_copy
from tests.verify import links
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
    project, folder = links.build(place, SECRET)
    room = Room(place / "room", (place / "granted",), look_beside(folder, project))
    scratch, copy = place / "scratch", make_copy(beside(folder / "train.py"), room.folder / "copy").parent
    scratch.mkdir()
    made = {
        name: (folder_of_files(place / "outside", number), folder_of_files(place / "granted", number))
        for number, name in enumerate(ESCAPES)
    }
    with services(place) as (names, heard):
        names.update(
            SHARED_NETWORK=means.tool not in ("bubblewrap", "unshare"),
            SHARED_FILES=means.tool != "bubblewrap",
            BESIDE=str(folder),
            COPY=str(copy),
            OTHER=str(place / "other"),
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


def read_in(means: Confinement, place: Path, room: Room, paths: list[str]) -> dict[str, str]:
    """Return what a confined command reads at some paths; empty where it does not start."""
    scratch = place / "scratch"
    scratch.mkdir(exist_ok=True)
    code = (
        "import json, sys\n"
        "def read(path):\n"
        "    try:\n        return open(path).read()\n"
        "    except OSError:\n        return ''\n"
        "print('READ ' + json.dumps({path: read(path) for path in sys.argv[1:]}))\n"
    )
    command = means.command(room, [sys.executable, "-I", "-c", code, *paths], room.folder, scratch)
    ended = run(command, scratch, environment_in(room), ChildLimits(seconds=300))
    return next((dict(json.loads(line[5:])) for line in ended.output.splitlines() if line.startswith("READ ")), {})


@pytest.fixture
def outside_of_temporary() -> Iterator[Path]:
    """Yield a folder below the home: bubblewrap puts a `/tmp` of its own there."""
    with tempfile.TemporaryDirectory(prefix=TAG, dir=Path.home()) as place:
        yield Path(place)


def test_what_stays_in_the_project_is_read(means: Confinement, outside_of_temporary: Path) -> None:
    """By the path of the link, and by that of the copy; a hard link is the file itself, wherever its other name lies."""
    project, folder = links.build(outside_of_temporary, SECRET)
    os.link(outside_of_temporary / "other/file", folder / "hard")
    room = Room(outside_of_temporary / "room", (), look_beside(folder, project))
    copy = make_copy(beside(folder / "train.py"), room.folder / "copy").parent
    paths = [str(start / path) for start in (folder, copy) for path in links.PATHS_IN]
    got = read_in(means, outside_of_temporary, room, [*paths, str(folder / "hard")])

    assert got == {**dict.fromkeys(paths, "open"), str(folder / "hard"): SECRET}


@pytest.mark.parametrize("replaced", ["plain", "sub", "../data", "."])
def test_a_link_in_the_place_of_what_was_looked_at_is_not_granted(means: Confinement, outside_of_temporary: Path, replaced: str) -> None:
    """Somebody replaces an entry, the target of a link, or the whole folder, between the look and the grant."""
    project, folder = links.build(outside_of_temporary, SECRET)
    other = outside_of_temporary / "other"
    for name in ("plain", "x.csv", "sub"):
        (other / name).write_text(SECRET)
    room = Room(outside_of_temporary / "room", (), look_beside(folder, project))
    place = Path(os.path.normpath(folder / replaced))
    place.rename(outside_of_temporary / "gone")
    place.symlink_to(other / "file" if replaced == "plain" else other)
    got = read_in(
        means, outside_of_temporary, room, [str(folder / path) for path in ("plain", "sub/file", "sub/plain", "data/x.csv", "shared")]
    )

    assert SECRET not in got.values()


def test_the_profile_of_macos_grants_the_same(outside_of_temporary: Path) -> None:
    """It names what lies beside the script as it is, since macOS judges by resolved path, and no target of a link that leads out."""
    project, folder = links.build(outside_of_temporary, SECRET)
    room = Room(outside_of_temporary / "room", (), look_beside(folder, project))
    (folder / "sub").rename(outside_of_temporary / "gone")
    (folder / "sub").symlink_to(outside_of_temporary / "other")
    _, _, profile = sandbox_exec("sandbox-exec", room, [])
    named = {path for path in re.findall(r'subpath "([^"]+)"', profile) if Path(path).is_relative_to(outside_of_temporary)}
    place = outside_of_temporary

    own = {str(folder / name) for name in ("train.py", "plain", "sub")}
    assert named == {*own, str(project / "data"), str(project / "data/x.csv"), str(place / "room")}


def test_the_documentation_counts_the_escapes() -> None:
    """All of them, and by kind."""
    said = (Path(__file__).parents[2] / "docs/verify.md").read_text(encoding="utf-8")
    counts = {kind: sum(name.startswith(f"{kind}:") for name in ESCAPES) for kind in ("network", "writes", "reads", "processes")}
    by_kind = "{network} over the network, {writes} that write, {reads} that read, {processes} to other processes".format(**counts)

    assert f"{len(ESCAPES)} escapes reach nothing: {by_kind}" in said
