"""Results that are kept: nothing that was read for one may change without it being worked out again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from mpslint.core.own_folder import OwnFolder
from mpslint.verify.cache import ResultsCache, configuration_here, name_of
from mpslint.verify.last import WATCHED, last_run


@dataclass(frozen=True)
class Kept:
    """A result."""

    answer: int = 0


def write(path: Path, text: str) -> None:
    """Write a file, and the folders that it lies in."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


@pytest.mark.parametrize(
    "place",
    [
        lambda home: home / "model" / "config.json",
        lambda home: home / "hf" / "hub" / "models--org--name" / "refs" / "main",
    ],
    ids=["configuration", "a checkpoint of the cache"],
)
def test_a_result_is_forgotten_when_what_it_was_read_from_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: Callable[[Path], Path]
) -> None:
    """The model's folder, and what lies in the Hugging Face cache."""
    monkeypatch.setenv("HF_HOME", str(tmp_path / "hf"))
    for name in ("HF_DATASETS_CACHE", "HF_HUB_CACHE"):
        monkeypatch.delenv(name, raising=False)
    models = (str(tmp_path / "model"), "org/name")
    cache = ResultsCache(OwnFolder(tmp_path, ("cache",)))

    def kept() -> list[object]:
        return [cache.read(name_of(model, *configuration_here(model)), Kept) for model in models]

    write(place(tmp_path), "one")
    for model in models:
        cache.write(name_of(model, *configuration_here(model)), Kept(1))
    assert kept() == [Kept(1)] * 2

    write(place(tmp_path), "another")
    assert kept().count(None) == 1


def test_the_oldest_results_go_and_nothing_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The folder of caches holds files of the user that look like results, and so may the folder of results."""
    monkeypatch.setenv("MPSLINT_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr("mpslint.verify.cache.KEPT", 2)
    cache = ResultsCache.here()
    names = [name_of(str(number)) for number in range(4)]
    cache.write(names[0], Kept())
    theirs = [folder / name for folder in (tmp_path, tmp_path / "mpslint" / "results") for name in ("a.json", "last-verify")]
    for path in (*theirs, tmp_path / f"{'0' * 32}.json"):
        write(path, "mine")
    for name in names[1:]:
        cache.write(name, Kept())

    assert [cache.read(name, Kept) is not None for name in names].count(True) == 2
    assert all(path.read_text() == "mine" for path in theirs)


def test_a_folder_of_the_user_is_neither_read_nor_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A result that a stranger committed, where the cache would lie."""
    monkeypatch.setenv("MPSLINT_CACHE_DIR", str(tmp_path))
    cache, name = ResultsCache.here(), name_of("a run")
    cache.write(name, Kept(1))
    (tmp_path / "mpslint" / "results" / "CACHEDIR.TAG").unlink()
    before = sorted(tmp_path.rglob("*"))
    cache.write(name_of("another"), Kept(2))

    assert cache.read(name, Kept) is None
    assert sorted(tmp_path.rglob("*")) == before


def test_what_another_version_kept_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The last run is kept under one name: a key that this version doesn't know ends nothing."""
    monkeypatch.setenv("MPSLINT_CACHE_DIR", str(tmp_path))
    cache = ResultsCache.here()
    cache.write(WATCHED, {"script": "train.py", "older": 1})

    assert last_run() is None
