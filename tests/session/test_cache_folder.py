"""The folder of the cache: nothing else is written or deleted, whatever a repository puts in its place."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from mpslint.core import own_folder
from mpslint.core.own_folder import OwnFolder
from mpslint.session.cache import FindingsCache, cache_folder, clean
from tests.session.cached import BAD, FOLDER, run


def test_a_cache_that_cannot_be_written_is_none(project: Path) -> None:
    """Where its folder should be is a file."""
    fresh = run()
    Path("taken").write_text("")

    assert run(folder="taken/cache") == fresh
    assert run(folder="taken") == fresh
    assert Path("taken").read_text() == ""


def test_a_full_disk_leaves_nothing_behind(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was half written goes, and what was there before stays."""
    run()
    before = sorted(Path(FOLDER).iterdir())
    Path("more.py").write_text(BAD)

    def fail(source: str, target: object) -> None:
        raise OSError("no space left")

    monkeypatch.setattr(os, "replace", fail)
    run()

    assert sorted(Path(FOLDER).iterdir()) == before


def test_clean_removes_only_what_mpslint_wrote(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """MPSLINT_CACHE_DIR=~/.cache, where other programs keep theirs: the cache has a folder of its own in it, and that alone goes."""
    (project / "theirs").mkdir()
    (project / "CACHEDIR.TAG").write_text("Signature: 8a477f597d28d172789f06886806bc55\n")
    (project / ".gitignore").write_text("build\n")
    monkeypatch.setenv("MPSLINT_CACHE_DIR", str(project))
    before = sorted(project.rglob("*"))
    folder = cache_folder(project)
    assert clean(folder) is None
    FindingsCache(folder, str, fresh={"a": 1}).save()
    assert (folder.path / "CACHEDIR.TAG").is_file()
    (folder.path / "notes.txt").write_text("mine")

    assert clean(folder) == ("notes.txt",)
    assert sorted(path.name for path in folder.path.iterdir()) == ["CACHEDIR.TAG", "notes.txt"]
    (folder.path / "notes.txt").unlink()
    assert clean(folder) == ()
    assert sorted(project.rglob("*")) == before
    assert (project / ".gitignore").read_text() == "build\n"


@pytest.mark.parametrize("linked", [("mpslint",), ("mpslint", "findings"), ("mpslint", "findings", "PROJECT")])
def test_a_cache_behind_a_link_is_none(project: Path, tmp_path_factory: pytest.TempPathFactory, linked: tuple[str, ...]) -> None:
    """A repository may commit the link; neither written to nor deleted is what it points at."""
    victim = tmp_path_factory.mktemp("victim")
    folder = cache_folder(project)
    link = folder.base.joinpath(*(folder.parts[2] if part == "PROJECT" else part for part in linked))
    link.parent.mkdir(parents=True)
    link.symlink_to(victim)
    cache = FindingsCache(folder, str, fresh={"a": 1})

    assert "mpslint did not make it" in cache.save()
    (folder.path / "findings-1.json").parent.mkdir(parents=True, exist_ok=True)
    (folder.path / "findings-1.json").write_text("theirs")
    assert clean(folder) is None
    assert [path.name for path in victim.rglob("*") if path.is_file()] == ["findings-1.json"]


@pytest.mark.parametrize("name", ["CACHEDIR.TAG", "findings-0.1.0-py0.json"])
def test_a_link_in_the_cache_is_not_written_through(project: Path, tmp_path_factory: pytest.TempPathFactory, name: str) -> None:
    """Committed in a folder that looks like the cache, or put there by another user."""
    victim = tmp_path_factory.mktemp("victim") / "bashrc"
    victim.write_text("alias")
    folder = cache_folder(project)
    folder.path.mkdir(parents=True)
    (folder.path / name).symlink_to(victim)
    FindingsCache(folder, str, fresh={"a": 1}).save()
    clean(folder)

    assert victim.read_text() == "alias"


def test_a_committed_cache_is_not_believed(
    project: Path, monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Found by default outside of the project, whatever lies in it under the names that caches have."""
    run()
    monkeypatch.delenv("MPSLINT_CACHE_DIR")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("home")))

    assert not cache_folder(project).path.is_relative_to(project)
    monkeypatch.setenv("XDG_CACHE_HOME", ".cache")
    assert not cache_folder(project).path.is_relative_to(project)


def test_a_tag_that_another_process_is_writing_is_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two hooks that start at once make the same folder: the second one sees a tag without its text."""
    other = OwnFolder(tmp_path / "whole", ("cache",))
    other.make()
    folder = OwnFolder(tmp_path, ("cache",))
    folder.path.mkdir(mode=0o700)
    tag = folder.path / own_folder.TAG
    tag.touch(mode=0o600)
    monkeypatch.setattr(own_folder.time, "sleep", lambda seconds: tag.write_bytes((other.path / own_folder.TAG).read_bytes()))

    folder.write("result.json", b"{}")

    assert (folder.path / "result.json").read_bytes() == b"{}"
