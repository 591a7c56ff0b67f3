"""Data sets of the Hub and metrics that this machine doesn't have: rows are drawn, as many as the set has, and transformed once each."""

from __future__ import annotations

import json
import types
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from mpslint.cli import group

pytest.importorskip("torch")
datasets = pytest.importorskip("datasets")

from mpslint.verify.child.drawn_rows import columns_read, draw_missing_sets  # noqa: E402
from mpslint.verify.child.torch_patches import Shortened  # noqa: E402

CODE = """\
def tokenize(batch):
    made = tokenizer(batch["document"], text_target=batch["summary"])
    made["labels"] = made["input_ids"]
    return made
data = raw["train"].rename_column("stars", "rating")
model = AutoModelForTokenClassification.from_pretrained(options["name"])
"""
TRAIN = """\
import evaluate
import torch
from datasets import load_dataset

metric = evaluate.load("rouge")
data = load_dataset("someone/reviews", split="train[:400]")
data = data.map(lambda row: {{"size": len(row["review"].split())}}).filter(lambda row: row["size"] > 1)
model = torch.nn.Sequential(torch.nn.Embedding(50, 4096), torch.nn.Linear(4096, 4096)).to("mps")
optimizer = torch.optim.Adam(model.parameters())


def collate(rows):
    return torch.zeros(len(rows), max(row["size"] for row in rows), dtype=torch.long)


for batch in torch.utils.data.DataLoader(data, batch_size={batch}, collate_fn=collate):
    model(batch.to("mps")).sum().backward()
    optimizer.step()
    optimizer.zero_grad()
{more}
"""


@pytest.fixture
def library(monkeypatch: pytest.MonkeyPatch) -> Any:
    """A copy of the library's module that finds no data set."""
    for name in ("map", "filter"):
        monkeypatch.setattr(datasets.Dataset, name, getattr(datasets.Dataset, name))  # put back after the test
    made = types.SimpleNamespace(**{**vars(datasets), "load": types.SimpleNamespace()})

    def missing(*args: object, **kwargs: object) -> None:
        raise ConnectionError("offline")

    made.load_dataset = missing
    return made


def drawn(library: Any, *asked: Any, code: str = CODE, **options: Any) -> tuple[Any, Shortened]:
    """Return a data set that is drawn, and what is said of it."""
    shortened = Shortened()
    draw_missing_sets(library, shortened, [code], 1.0)
    return library.load_dataset(*asked, **options), shortened


def test_columns_are_those_that_the_code_reads_and_doesnt_write() -> None:
    """Splits, what tokenizers make and what is assigned are none; what methods and models need is."""
    assert {"document", "summary", "stars", "ner_tags"} <= set(columns_read([CODE]))
    assert {"train", "labels", "input_ids", "rating"}.isdisjoint(columns_read([CODE]))


def test_a_known_set_has_its_columns_lengths_and_size(library: Any) -> None:
    """XSum is as long as it is; its size is capped, and how much larger it really is is kept."""
    data, shortened = drawn(library, "xsum")
    assert set(data) == {"train", "validation", "test"}
    assert data["train"].column_names == ["document", "summary", "id"]
    assert len(data["train"]) == 20_000
    assert round(shortened.times * 20_000) == 204_045
    assert not shortened.has_assumed_lengths
    lengths = sorted(len(text.split()) for text in data["train"].select(range(1000))["document"])
    assert 330 < lengths[500] < 430


@pytest.mark.parametrize(("split", "count"), [("train", 10_000), ("train[:400]", 400), ("train[10%:20%]", 1000), ("train+dev", 20_000)])
def test_a_split_has_its_rows(library: Any, split: str, count: int) -> None:
    """Slices in rows and in percent, several splits, and splits that no table knows."""
    assert len(drawn(library, "someone/reviews", split=split)[0]) == count


def test_rows_that_repeat_are_transformed_once(library: Any) -> None:
    """The function sees each different row once; every repetition gets what came of it, in its order."""
    data, _ = drawn(library, "someone/reviews", split="train")
    seen = []
    made = data.shuffle(seed=1).map(lambda row: seen.append(1) or {"copy": row["document"]})
    assert len(seen) == 1000
    assert len(made) == 10_000
    assert all(row["copy"] == row["document"] for row in made.select(range(0, 10_000, 501)))


def verify(path: Path, *options: str) -> dict[str, Any]:
    """Return the report on a script."""
    line = ["verify", "--isolated", "--torch", "2.13", "--memory", "8GB", "--yes", "--backend", "emulated", "--format", "json", str(path)]
    report: dict[str, Any] = json.loads(CliRunner().invoke(group, [*line, *options]).stdout)
    return report


@pytest.mark.parametrize(("batch", "status"), [(4, "pass"), (120, "inconclusive"), (4000, "fail")])
def test_a_run_fails_by_assumed_lengths_only_with_all_of_them(tmp_path: Path, batch: int, status: str) -> None:
    """What fails with some lengths and not with others can't be judged; the report says that they are assumed."""
    path = tmp_path / "train.py"
    path.write_text(TRAIN.format(batch=batch, more=""))
    report = verify(path)
    told = {verdict["name"]: verdict for verdict in report["verdicts"]}["as written"]
    assert told["status"] == status, told
    assert any("texts have about 190 tokens, which is assumed" in line for line in report["runs"][0]["changes"])
    assert any("the metric 'rouge' isn't on this machine" in line for line in report["runs"][0]["changes"])


def test_code_that_stops_on_guessed_columns_is_not_run(tmp_path: Path) -> None:
    """An exception before the first step says nothing about the code."""
    path = tmp_path / "train.py"
    path.write_text(TRAIN.format(batch=4, more="").replace("torch.zeros(len", "rows[0].missing + torch.zeros(len"))
    report = verify(path)
    assert report["status"] == "not run"
    assert "with drawn rows in place of the data set 'someone/reviews'" in report["problem"]
