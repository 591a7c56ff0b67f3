"""A temporary folder goes with the process that made it, killed or not; those of others stay."""

from __future__ import annotations

import os
import shutil
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


KILLED = (
    "import os, sys, tempfile; tempfile.tempdir = sys.argv[1]\n"
    "from mpslint.core.scratch import scratch_folder\n"
    "with scratch_folder() as folder:\n    open(f'{folder}/model.bin', 'w').close(); os.kill(os.getpid(), 9)\n"
)


def left_by_a_killed_process(folder: Path) -> Path:
    """Return the temporary folder that a process with SIGKILL leaves."""
    before = set(folder.iterdir())
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    subprocess.run([sys.executable, "-c", KILLED, str(folder)], env=environment, check=False)
    (left,) = set(folder.iterdir()) - before
    return left


def test_a_folder_in_use_stays(tmp_path: Path) -> None:
    """Until its end, when it is removed."""
    with scratch_folder("script-") as folder:
        Path(folder, "x").write_text("")
        with scratch_folder():
            assert Path(folder, "x").exists()
    assert list(tmp_path.iterdir()) == []


def test_an_error_of_the_system_inside_is_told_as_it_is() -> None:
    """A missing file is not taken for a lock that could not be had."""
    with pytest.raises(FileNotFoundError, match="nowhere"), scratch_folder() as folder:
        Path(folder, "nowhere").read_text()


def test_what_a_killed_process_left_is_removed_by_the_next(tmp_path: Path) -> None:
    """SIGKILL leaves the folder; the lock is gone with the process."""
    left = left_by_a_killed_process(tmp_path)
    with scratch_folder():
        assert not left.exists()


def test_a_temporary_folder_reached_by_a_link_is_no_hindrance(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`/tmp` is a link on macOS; what was left through the link is found without it, and the other way round."""
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    for made, found in (("link", "real"), ("real", "link")):
        left = left_by_a_killed_process(tmp_path / made)
        monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / found))
        remove_leftovers()
        assert not left.exists()


def test_a_temporary_folder_named_relatively_gives_absolute_ones(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`TMPDIR=.`: a child starts elsewhere."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(tempfile, "tempdir", ".")
    with scratch_folder() as folder:
        assert os.path.isabs(folder)
    assert list(tmp_path.iterdir()) == []


def test_folders_of_the_user_stay_whatever_their_names(tmp_path: Path) -> None:
    """An archive of a release, a link, a file, an empty folder, and a folder with the tag of a cache."""
    own_tag = b"Signature: 8a477f597d28d172789f06886806bc55\n# This is a cache of mpslint (`mpslint clean` removes it).\n"
    for name in ("victim", "mpslint-main", "mpslint-0.1.0", "mpslint-run-abc123", "mpslint-tagged"):
        (tmp_path / name / "files").mkdir(parents=True)
        (tmp_path / name / "files" / "thesis.py").write_text("work")
    (tmp_path / "mpslint-tagged" / "CACHEDIR.TAG").write_bytes(own_tag)
    (tmp_path / "mpslint-link").symlink_to(tmp_path / "victim")
    (tmp_path / "mpslint-file").write_text("work")
    (tmp_path / "mpslint-empty").mkdir()
    before = sorted(tmp_path.rglob("*"))
    remove_leftovers()

    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.parametrize("how", ["copied", "renamed", "moved", "linked", "replaced"])
def test_a_folder_with_the_tag_of_another_stays(tmp_path: Path, how: str) -> None:
    """Whoever copied, moved or unpacked what a killed run left owns the copy; its tag names the folder that mpslint made."""
    (tmp_path / "elsewhere").mkdir()
    left = left_by_a_killed_process(tmp_path / "elsewhere")
    theirs = tmp_path / left.name
    if how == "linked":
        theirs.symlink_to(left)
    elif how == "copied":
        shutil.copytree(left, theirs)
    elif how == "moved":
        left.rename(theirs)
    elif how == "renamed":
        theirs = left.rename(tmp_path / "elsewhere" / "mpslint-mine")
    else:
        shutil.copytree(left, tmp_path / "copy")
        left.rename(tmp_path / "elsewhere" / "kept")
        theirs = (tmp_path / "copy").rename(left)
    for folder in (tmp_path, tmp_path / "elsewhere"):
        tempfile.tempdir = str(folder)
        if how != "linked" or folder == tmp_path:
            remove_leftovers()

    assert (theirs / "files" / "model.bin").exists()


def test_what_a_user_put_into_a_leftover_stays(tmp_path: Path) -> None:
    """Beside what programs wrote there, which goes."""
    left = left_by_a_killed_process(tmp_path)
    (left / "thesis.py").write_text("work")
    remove_leftovers()

    assert [path.name for path in left.iterdir() if path.name != "CACHEDIR.TAG"] == ["thesis.py"]


def test_links_in_a_leftover_are_not_followed(tmp_path: Path) -> None:
    """A script left them; their targets are the user's. Folders that it closed to itself go too."""
    (tmp_path / "home" / "private").mkdir(parents=True)
    (tmp_path / "home" / "thesis.py").write_text("work")
    (tmp_path / "home" / "private").chmod(0o750)
    left = left_by_a_killed_process(tmp_path)
    (left / "files" / "folder").symlink_to(tmp_path / "home")
    (left / "files" / "file").symlink_to(tmp_path / "home" / "thesis.py")
    (left / "files" / "closed" / "inner").mkdir(parents=True)
    (left / "files" / "closed" / "private").symlink_to(tmp_path / "home" / "private")
    (left / "files" / "closed").chmod(0o000)
    remove_leftovers()

    assert not left.exists()
    assert (tmp_path / "home" / "thesis.py").read_text() == "work"
    assert (tmp_path / "home" / "private").stat().st_mode & 0o777 == 0o750
