"""Results that are kept: nothing that was read for one may change without it being worked out again."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from mpslint.core.own_folder import OwnFolder
from mpslint.verify.cache import ResultsCache
from mpslint.verify.job import Job
from mpslint.verify.spec import DataSource, Lengths, RunSpec


def write(path: Path, text: str) -> None:
    """Write a file, and the folders that it lies in."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


@pytest.mark.parametrize(
    "place",
    [
        lambda home: home / "model" / "config.json",
        lambda home: home / "model" / "tokenizer.json",
        lambda home: home / "hf" / "hub" / "models--org--name" / "refs" / "main",
        lambda home: home / "hf" / "datasets" / "org___data" / "default" / "data.arrow",
    ],
    ids=["configuration", "tokenizer", "a checkpoint of the cache", "a data set of the cache"],
)
def test_a_result_is_forgotten_when_what_it_was_read_from_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: Callable[[Path], Path]
) -> None:
    """The model's folder, its tokenizer, and what lies in the Hugging Face cache."""
    monkeypatch.setenv("HF_HOME", str(tmp_path / "hf"))
    for name in ("HF_DATASETS_CACHE", "HF_HUB_CACHE"):
        monkeypatch.delenv(name, raising=False)
    data = DataSource("cache", "org/data", "text", tokenizer=str(tmp_path / "model"))
    specs = tuple(RunSpec(model, "causal_lm", Lengths(64), data=data) for model in (str(tmp_path / "model"), "org/name"))
    job, cache = Job("values", specs=specs), ResultsCache(OwnFolder(tmp_path, ("cache",)))
    write(place(tmp_path), "one")
    cache.put(job, {"answer": 1})
    assert cache.get(job) == {"answer": 1}

    write(place(tmp_path), "another")
    assert cache.get(job) is None


def test_the_oldest_results_go_and_nothing_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The folder of caches holds files of the user that look like results, and so may the folder of results."""
    monkeypatch.setenv("MPSLINT_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr("mpslint.verify.cache.KEPT", 2)
    cache = ResultsCache.here()
    jobs = [Job("values", memory_sizes=(number,)) for number in range(4)]
    cache.put(jobs[0], {})
    theirs = [folder / name for folder in (tmp_path, tmp_path / "mpslint" / "results") for name in ("a.json", "last-verify")]
    for path in (*theirs, tmp_path / f"{'0' * 32}.json"):
        write(path, "mine")
    for job in jobs[1:]:
        cache.put(job, {})

    assert [cache.get(job) is not None for job in jobs].count(True) == 2
    assert all(path.read_text() == "mine" for path in theirs)


def test_a_folder_of_the_user_is_neither_read_nor_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A result that a stranger committed, where the cache would lie."""
    monkeypatch.setenv("MPSLINT_CACHE_DIR", str(tmp_path))
    cache, job = ResultsCache.here(), Job("values")
    cache.put(job, {"answer": 1})
    (tmp_path / "mpslint" / "results" / "CACHEDIR.TAG").unlink()
    before = sorted(tmp_path.rglob("*"))
    cache.put(Job("estimate"), {"answer": 2})

    assert cache.get(job) is None
    assert sorted(tmp_path.rglob("*")) == before
