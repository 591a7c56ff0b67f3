"""A temporary folder goes with the process that made it, killed or not; those of others stay."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from mpslint.core.scratch import remove_leftovers, scratch_folder

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="made of POSIX locks")


@pytest.fixture(autouse=True)
def _temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))


def aged(folder: Path) -> Path:
    """Return a folder that nobody has changed for an hour."""
    about = folder.stat()
    os.utime(folder, (about.st_atime - 3600, about.st_mtime - 3600))
    return folder


def test_a_folder_in_use_stays(tmp_path: Path) -> None:
    """However old it is, and is removed at the end."""
    with scratch_folder("script-") as folder:
        Path(folder, "x").write_text("")
        aged(Path(folder))
        with scratch_folder():
            assert Path(folder, "x").exists()
    assert list(tmp_path.iterdir()) == []


def test_an_error_of_the_system_inside_is_told_as_it_is() -> None:
    """A missing file is not taken for a lock that could not be had."""
    with pytest.raises(FileNotFoundError, match="nowhere"), scratch_folder() as folder:
        Path(folder, "nowhere").read_text()


def test_what_a_killed_process_left_is_removed_by_the_next(tmp_path: Path) -> None:
    """SIGKILL leaves the folder; the lock is gone with the process."""
    code = (
        "import os, sys, tempfile; tempfile.tempdir = sys.argv[1]\n"
        "from mpslint.core.scratch import scratch_folder\n"
        "with scratch_folder() as folder:\n    open(f'{folder}/model.bin', 'w').close(); os.kill(os.getpid(), 9)\n"
    )
    subprocess.run(
        [sys.executable, "-c", code, str(tmp_path)], env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}, check=False
    )
    (left,) = tmp_path.iterdir()
    remove_leftovers()
    assert left.exists()  # it could be one that is just being made
    aged(left)
    with scratch_folder():
        assert not left.exists()


def test_links_and_other_names_are_left_alone(tmp_path: Path) -> None:
    """The folder of temporary files is everyone's."""
    victim = tmp_path / "victim"
    victim.mkdir()
    (victim / "x").write_text("")
    (tmp_path / "mpslint-link").symlink_to(victim)
    (tmp_path / "mpslint-file").write_text("")
    for path in (victim, tmp_path / "mpslint-link"):
        aged(path)
    remove_leftovers()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["mpslint-file", "mpslint-link", "victim"]
    assert (victim / "x").exists()
