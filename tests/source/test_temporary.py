"""Temporary files: gone at the end, and by the next run if theirs was killed; nobody else's file is taken for one."""

from __future__ import annotations

import itertools
import os
import shutil
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from mpslint.source.temporary import remove_leftovers, temporary_file
from mpslint.source.writer import FileChange, WriteError, write_files

WRITES = ("open", "rename", "fsync", "chmod", "link", "replace", "unlink")
"""Calls of the system that change something."""
STEPS = (*WRITES, "fstat", "stat", "lstat")
OLD, NEW = b"old\n" * 9, b"new\n" * 9


def at_step(number: int, act: Callable[[], None], steps: Sequence[str], monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Have something happen before the n-th of some steps; return the list to which their names are added."""
    taken: list[str] = []

    def watched(name: str, call: Callable[..., Any]) -> Callable[..., Any]:
        def step(*arguments: Any, **options: Any) -> Any:
            taken.append(name)
            if len(taken) == number:
                act()
            return call(*arguments, **options)

        return step

    for name in steps:
        monkeypatch.setattr(os, name, watched(name, getattr(os, name)))
    return taken


def project(folder: Path) -> list[FileChange]:
    """Return the changes of two files, one of which has a backup already."""
    for name in ("a.py", "b.py"):
        (folder / name).write_bytes(OLD)
    (folder / "b.py.orig").write_bytes(b"older")
    return [FileChange(str(folder / name), OLD, NEW) for name in ("a.py", "b.py")]


def held(folder: Path, only: tuple[bytes, ...]) -> None:
    """Assert that each file is whole, that backups are, and that the backup from before is there."""
    for path in folder.iterdir():
        if path.name == "b.py.orig":
            assert path.read_bytes() == b"older"
        elif ".orig" in path.name:
            assert path.read_bytes() == OLD
        elif path.suffix == ".py":
            assert path.read_bytes() in only


@pytest.mark.parametrize(("backup", "links"), [(False, True), (True, True), (True, False)], ids=["", "backup", "backup without links"])
def test_an_error_at_any_step_changes_all_or_nothing(tmp_path: Path, backup: bool, links: bool) -> None:
    """A full disk, a folder that vanishes: both files are written, or none is, and neither a backup nor a temporary file is left over."""

    def fail() -> None:
        raise OSError(28, "No space left on device")

    def refuse(*arguments: object, **options: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    for number in itertools.count(1):
        folder = tmp_path / f"{number}"
        folder.mkdir()
        changes = project(folder)
        with pytest.MonkeyPatch.context() as patch:
            if not links:
                patch.setattr(os, "link", refuse)
            taken = at_step(number, fail, STEPS, patch)
            try:
                write_files(changes, backup)
                is_written = True
            except WriteError:
                is_written = False
        step = f"step {number}: {taken[number - 1 :][:1]}"
        if len(taken) < number:
            assert is_written
            break
        assert not [name for name in os.listdir(folder) if name.startswith(".mpslint")] or taken[number - 1] == "unlink", step
        held(folder, (NEW,) if is_written else (OLD,))
        assert sum(".orig" in name for name in os.listdir(folder)) == 1 + 2 * (backup and is_written), step
        remove_leftovers(str(folder))
        assert not [name for name in os.listdir(folder) if name.startswith(".mpslint")], step
    assert number > 25


@pytest.mark.skipif(not hasattr(os, "fork"), reason="a process is killed")
def test_what_a_killed_run_leaves_is_removed_by_the_next(tmp_path: Path) -> None:
    """Killed before any step: each file and each backup is whole, and the next run deletes the temporary files, and nothing else."""
    for number in itertools.count(1):
        folder = tmp_path / f"{number}"
        folder.mkdir()
        changes = project(folder)
        child = os.fork()
        if not child:
            at_step(number, lambda: os.kill(os.getpid(), signal.SIGKILL), WRITES, pytest.MonkeyPatch())
            write_files(changes, backup=True)
            os._exit(0)
        code = os.waitpid(child, 0)[1]
        held(folder, (OLD, NEW))
        before = set(os.listdir(folder))
        remove_leftovers(str(folder))
        assert {name for name in before if not name.startswith(".mpslint")} == set(os.listdir(folder)), number
        held(folder, (OLD, NEW))
        if code != signal.SIGKILL:
            break
    assert code == 0
    assert number > 25


def test_a_file_in_use_is_no_leftover(tmp_path: Path) -> None:
    """Another run that is at work in the same folder keeps its file."""
    with temporary_file(str(tmp_path), b"new") as (path, _):
        remove_leftovers(str(tmp_path))
        assert Path(path).read_bytes() == b"new"

    assert os.listdir(tmp_path) == []


@pytest.mark.skipif(sys.platform == "win32", reason="nothing is removed there")
def test_only_what_mpslint_made_is_removed(tmp_path: Path) -> None:
    """Not a file that has such a name by chance, a copy (as in a checkout), a folder, a link, a pipe or what somebody wrote into one."""
    kept, made = tmp_path / "kept", tmp_path / "made"
    kept.mkdir()
    made.mkdir()
    with ExitStack() as stack:
        left = [Path(stack.enter_context(temporary_file(str(made), text))[0]) for text in (b"thesis", b"")]
        for path in left:
            shutil.copy(path, kept)
        names = [path.name for path in left]
        for number, name in enumerate((".mpslint-", ".mpslint-k2j3n4x5", f"{names[0]}x", f".mpslint-{'0' * 16}-{'0' * 16}")):
            (kept / name).write_text(str(number))
        link, folder, pipe = (kept / f".mpslint-{'0' * 15}{number}-{'0' * 16}" for number in (1, 2, 3))
        link.symlink_to(left[0])
        folder.mkdir()
        os.mkfifo(pipe)
        before = {path.name: path.lstat().st_ino for path in kept.iterdir()}
        remove_leftovers(str(kept))

    assert {path.name: path.lstat().st_ino for path in kept.iterdir()} == before


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of 64 KB."""
    folder = tmp_path / "disk"
    folder.mkdir()
    if not hasattr(os, "geteuid") or os.geteuid() != 0 or os.system(f"mount -t tmpfs -o size=64k none {folder} 2>/dev/null"):
        pytest.skip("mounting takes rights")
    yield folder
    os.system(f"umount {folder}")


@pytest.mark.parametrize("filled", [0, 20_000, 24_000, 40_000])
def test_a_full_disk_leaves_neither_half_a_file_nor_half_a_backup(small_disk: Path, filled: int) -> None:
    """Whether the new text or the old one is the one that has no room."""
    old, new = b"o" * 18_000, b"n" * 30_000
    (small_disk / "a.py").write_bytes(old)
    (small_disk / "other").write_bytes(b"x" * filled)
    with pytest.raises(WriteError, match="No space left on device; left as it is"):
        write_files([FileChange(str(small_disk / "a.py"), old, new)], backup=True)

    assert sorted(os.listdir(small_disk)) == ["a.py", "other"]
    assert (small_disk / "a.py").read_bytes() == old
