"""A file is written whole or not at all."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from mpslint.source.writer import WriteError, write_file


def test_mode_and_link_survive(tmp_path: Path) -> None:
    """The link still points to the file, which has its mode and the new bytes; nothing else is left in the folder."""
    real = tmp_path / "real.py"
    real.write_bytes(b"old")
    real.chmod(0o754)
    link = tmp_path / "link.py"
    link.symlink_to(real)

    assert write_file(str(link), b"old", b"new") is None
    assert link.is_symlink()
    assert real.read_bytes() == b"new"
    assert stat.S_IMODE(real.stat().st_mode) == 0o754
    assert sorted(os.listdir(tmp_path)) == ["link.py", "real.py"]


def test_a_file_that_changed_meanwhile_is_left(tmp_path: Path) -> None:
    """Somebody saved it in an editor."""
    path = tmp_path / "x.py"
    path.write_bytes(b"edited")
    with pytest.raises(WriteError, match="changed while"):
        write_file(str(path), b"old", b"new")

    assert path.read_bytes() == b"edited"


def test_a_read_only_file_is_left(tmp_path: Path) -> None:
    """Though its folder would let it be replaced."""
    path = tmp_path / "x.py"
    path.write_bytes(b"old")
    path.chmod(0o444)
    with pytest.raises(WriteError, match="read-only"):
        write_file(str(path), b"old", b"new")

    assert path.read_bytes() == b"old"


@pytest.mark.parametrize("failure", [OSError(28, "No space left on device"), KeyboardInterrupt()])
def test_a_failure_while_writing_leaves_the_file_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, failure: BaseException) -> None:
    """A full disk is one line; Ctrl-C goes on up; neither leaves a temporary file."""
    path = tmp_path / "x.py"
    path.write_bytes(b"old")

    def fail(handle: int) -> None:
        raise failure

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises((WriteError, KeyboardInterrupt)):
        write_file(str(path), b"old", b"new")

    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["x.py"]


def test_a_backup_on_request(tmp_path: Path) -> None:
    """The old bytes lie beside the file."""
    path = tmp_path / "x.py"
    path.write_bytes(b"old")

    assert write_file(str(path), b"old", b"new", backup=True) == f"{path}.orig"
    assert (tmp_path / "x.py.orig").read_bytes() == b"old"
