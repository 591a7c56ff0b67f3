"""A file is written whole or not at all."""

from __future__ import annotations

import errno
import json
import os
import stat
from pathlib import Path

import pytest

from mpslint.source.writer import FileChange, WriteError, write_files, write_whole


def write_file(path: str, before: bytes, after: bytes, backup: bool = False, tree: str = "") -> tuple[str, ...]:
    """Change one file; return what could not be kept of it."""
    return write_files([FileChange(path, before, after, tree)], backup)[0]


def test_mode_and_link_survive(tmp_path: Path) -> None:
    """The link still points to the file, which has its mode and the new bytes; nothing else is left in the folder."""
    real = tmp_path / "real.py"
    real.write_bytes(b"old")
    real.chmod(0o754)
    link = tmp_path / "link.py"
    link.symlink_to(real)

    assert write_file(str(link), b"old", b"new") == ()
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

    write_file(str(path), b"old", b"new", backup=True)

    assert (tmp_path / "x.py.orig").read_bytes() == b"old"


def test_a_backup_is_never_written_over(tmp_path: Path) -> None:
    """Neither the first original, which is worth more than what a second run finds, nor somebody else's file, nor through a link."""
    path = tmp_path / "x.py"
    path.write_bytes(b"1")
    (tmp_path / "x.py.orig").symlink_to(tmp_path / "elsewhere")
    for old, new in ((b"1", b"2"), (b"2", b"3")):
        write_file(str(path), old, new, backup=True)

    assert [Path(f"{path}.orig{number}").read_bytes() for number in (1, 2)] == [b"1", b"2"]
    assert not (tmp_path / "elsewhere").exists()


def test_an_edit_made_at_the_last_moment_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An editor saves while the new text is on its way to the disk."""
    path = tmp_path / "x.py"
    path.write_bytes(b"old")
    monkeypatch.setattr(os, "fsync", lambda handle: path.write_bytes(b"edited"))
    with pytest.raises(WriteError, match="changed while"):
        write_file(str(path), b"old", b"new")

    assert path.read_bytes() == b"edited"
    assert os.listdir(tmp_path) == ["x.py"]


@pytest.mark.parametrize(("call", "code", "said"), [("fsync", errno.EINVAL, "refuses fsync"), ("chmod", errno.EPERM, "its mode 754")])
def test_a_poor_file_system_costs_a_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str, code: int, said: str) -> None:
    """Network folders refuse fsync, FAT refuses chmod: the fix is written, and what could not be done is said."""
    path = tmp_path / "x.py"
    path.write_bytes(b"old")
    path.chmod(0o754)

    def refuse(*arguments: object) -> None:
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(os, call, refuse)
    written = write_file(str(path), b"old", b"new")

    assert path.read_bytes() == b"new"
    assert [said in line for line in written] == [True]


def test_hard_links_are_not_parted(tmp_path: Path) -> None:
    """Two names of one file would become two files, without a word."""
    path = tmp_path / "x.py"
    path.write_bytes(b"old")
    os.link(path, tmp_path / "same.py")
    with pytest.raises(WriteError, match="2 hard links"):
        write_file(str(path), b"old", b"new")

    assert path.samefile(tmp_path / "same.py")
    assert path.read_bytes() == b"old"


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root gives files away")
def test_the_owner_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As root in a container, over the files of a user; where that cannot be, the file is left."""
    path = tmp_path / "x.py"
    path.write_bytes(b"old")
    os.chown(path, 1234, 4321)
    write_file(str(path), b"old", b"new")
    assert (path.stat().st_uid, path.stat().st_gid) == (1234, 4321)

    def refuse(*arguments: object) -> None:
        raise PermissionError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(os, "chown", refuse)
    with pytest.raises(WriteError, match="only its owner"):
        write_file(str(path), b"new", b"newer")
    assert path.read_bytes() == b"new"


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root gives files away")
def test_a_group_that_is_not_ours_costs_a_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file of one's own in a group that one left is written; the new group may do no more than everybody."""
    path = tmp_path / "x.py"
    path.write_bytes(b"old")
    path.chmod(0o664)
    os.chown(path, os.geteuid(), 4321)

    def refuse(*arguments: object) -> None:
        raise PermissionError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(os, "chown", refuse)
    written = write_file(str(path), b"old", b"new")

    assert path.read_bytes() == b"new"
    assert stat.S_IMODE(path.stat().st_mode) == 0o644
    assert any("group 4321" in line for line in written), written


@pytest.mark.skipif(not hasattr(os, "setxattr"), reason="Python reads extended attributes on Linux only")
def test_extended_attributes_are_kept(tmp_path: Path) -> None:
    """Tags, labels and access lists are kept there."""
    path = tmp_path / "x.py"
    path.write_bytes(b"old")
    try:
        os.setxattr(path, "user.tag", b"mine")
    except OSError:
        pytest.skip("this file system has none")
    write_file(str(path), b"old", b"new")

    assert os.getxattr(path, "user.tag") == b"mine"


def test_a_link_out_of_the_tree_is_not_written_through(tmp_path: Path) -> None:
    """Neither by `fix tree`, nor where a stranger committed the name of a report as a link."""
    outside, tree = tmp_path / "outside.py", tmp_path / "tree"
    outside.write_bytes(b"old")
    tree.mkdir()
    (tree / "x.py").symlink_to(outside)
    (tree / "folder").symlink_to(tmp_path)
    with pytest.raises(WriteError, match="outside of"):
        write_file(str(tree / "x.py"), b"old", b"new", tree=str(tree))
    with pytest.raises(WriteError, match="outside of"):
        write_file(str(tree / "folder" / "outside.py"), b"old", b"new", tree=str(tree))
    with pytest.raises(WriteError, match="outside of"):
        write_whole(str(tree / "x.py"), b"new")
    (tree / ".git").mkdir()
    with pytest.raises(WriteError, match="outside of"):
        write_whole(str(tree / "folder" / "report.json"), b"new")

    assert outside.read_bytes() == b"old"
    assert not (tmp_path / "report.json").exists()


@pytest.mark.parametrize("named", ["lib/x.py", "lib/../tree/lib/x.py", "../tree/lib/x.py", "ABSOLUTE"])
@pytest.mark.parametrize("kept_in", [None, "tree", "other"], ids=["no repository", "a repository", "a repository there"])
def test_a_linked_folder_leads_no_write_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, named: str, kept_in: str | None) -> None:
    """Whether the file in it was named or the folder, and wherever a repository lies."""
    for name in ("tree", "other"):
        (tmp_path / name).mkdir()
    (tmp_path / (kept_in or "") / ".git").mkdir()
    if kept_in is None:
        (tmp_path / ".git").rmdir()
    outside = tmp_path / "other" / "x.py"
    outside.write_bytes(b"old")
    (tmp_path / "tree" / "lib").symlink_to("../other")
    monkeypatch.chdir(tmp_path if named == "ABSOLUTE" else tmp_path / "tree")
    path = str(tmp_path / "tree" / "lib" / "x.py") if named == "ABSOLUTE" else named
    for tree in ("", os.path.dirname(path)):
        with pytest.raises(WriteError, match=r"lib is a link to .*other, outside of .*tree; left as it is \(name .*other/x.py"):
            write_file(path, b"old", b"new", tree=tree)
    with pytest.raises(WriteError, match="not written"):
        write_whole(os.path.join(os.path.dirname(path), "report.json"), b"new")

    assert outside.read_bytes() == b"old"
    assert not (outside.parent / "report.json").exists()


def test_links_that_stay_in_the_tree_are_followed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a repository, below the folder that was named, and on the way to the current folder."""
    real, there = tmp_path / "real", tmp_path / "there"
    (real / "shared").mkdir(parents=True)
    (real / "code").mkdir()
    (real / "shared" / "x.py").write_bytes(b"1")
    (real / "code" / "lib").symlink_to("../shared")
    there.symlink_to(real)
    monkeypatch.chdir(real)
    write_file(str(there / "shared" / "x.py"), b"1", b"2")
    (real / ".git").mkdir()
    write_file("code/lib/x.py", b"2", b"3")
    write_file(os.path.join("code", "lib", "x.py"), b"3", b"4", tree="code/lib")

    assert (real / "shared" / "x.py").read_bytes() == b"4"


@pytest.mark.parametrize("was_valid", [True, False], ids=["valid", "odd"])
def test_a_notebook_that_nbformat_calls_invalid_takes_no_ones_place(tmp_path: Path, was_valid: bool) -> None:
    """One that was invalid before is left with that, and with nothing else."""
    path = tmp_path / "n.ipynb"
    cell = {"cell_type": "code", "execution_count": None, "metadata": {}, "outputs": [], "source": "x = 1"}
    whole = {"cells": [cell], "nbformat": 4, "nbformat_minor": 4, **({"metadata": {}} if was_valid else {})}
    before, edited, broken = (json.dumps({**whole, "cells": [{**cell, "source": source}]}).encode() for source in ("x = 1", "x = 2", 2))
    path.write_bytes(before)

    with pytest.raises(WriteError, match=r"the rewrite isn't a valid notebook: cell 1: .*; left as it is"):
        write_file(str(path), before, broken)
    assert path.read_bytes() == before
    write_file(str(path), before, edited)
    assert path.read_bytes() == edited
