"""Results that are kept: nothing that was read for one may change without it being worked out again."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

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
    job, cache = Job("values", specs=specs), ResultsCache(tmp_path / "cache")
    write(place(tmp_path), "one")
    cache.put(job, {"answer": 1})
    assert cache.get(job) == {"answer": 1}

    write(place(tmp_path), "another")
    assert cache.get(job) is None
