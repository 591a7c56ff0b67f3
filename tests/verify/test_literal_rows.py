"""Rows that the code itself writes: which are computed, and which are left unknown."""

from __future__ import annotations

from pathlib import Path

import pytest

from mpslint.engine import check
from mpslint.source.reader import read
from mpslint.target.target import default_target
from mpslint.verify.from_plan import PlannedRun
from mpslint.verify.reading import runs_of, spec_of
from mpslint.verify.spec import DataSource

GRPO = """from datasets import Dataset
from trl import GRPOConfig, GRPOTrainer

questions = ["What is 2 + 2?", "Name a colour."]
{made}
args = GRPOConfig("out", per_device_train_batch_size=8, num_generations=8, num_train_epochs={epochs})
trainer = GRPOTrainer(model="models/tiny", reward_funcs=len, args=args, train_dataset={used})
trainer.train()
"""


def planned(folder: Path, made: str, used: str = "data", epochs: int = 2) -> PlannedRun:
    """Return the run of a script that makes its own data."""
    document = read(str(folder / "train.py"), GRPO.format(made=made, used=used, epochs=epochs).encode())
    return spec_of(runs_of(check(document, default_target(), ()))[0], "as written")


@pytest.mark.parametrize(
    ("made", "rows", "first"),
    [
        ('data = Dataset.from_dict({"prompt": questions * 32, "answer": ["4", "red"] * 32})', 64, "What is 2 + 2?"),
        ('data = Dataset.from_dict(mapping={"prompt": [f"What is {i} + {i}?" for i in range(50)]})', 50, "What is 0 + 0?"),
        ('data = Dataset.from_list([{"prompt": "q: " + q} for q in questions])', 2, "q: What is 2 + 2?"),
        ('rows = [{"prompt": "a b"}] * 10\ndata = Dataset.from_list(rows)', 10, "a b"),
        ('data = Dataset.from_dict({"prompt": ("a", "b"), "reward": [score(q) for q in questions]})', 2, "a"),
    ],
)
def test_rows_are_computed(tmp_path: Path, made: str, rows: int, first: str) -> None:
    """Repetition, f-strings, comprehensions and concatenation; an unknown column leaves the others known."""
    spec = planned(tmp_path, made).spec
    assert spec.data is not None
    assert (spec.data.kind, len(spec.data.rows["prompt"]), spec.data.rows["prompt"][0]) == ("rows", rows, first)
    assert (spec.train_samples, spec.steps) == (rows, 2 * rows)  # a prompt's eight completions are one batch of eight


def test_known_rows_say_how_long_the_run_is(tmp_path: Path) -> None:
    """Nothing is assumed of its steps then."""
    known = planned(tmp_path, "data = Dataset.from_dict({'prompt': questions * 4})")
    assert not any("how many optimizer steps" in line for line in known.assumptions)
    unknown = planned(tmp_path, "data = Dataset.from_dict({'prompt': questions * count})")
    assert any("how many optimizer steps" in line for line in unknown.assumptions)


@pytest.mark.parametrize(
    "made",
    [
        'rows = []\nfor q in questions:\n    rows.append({"prompt": q})\ndata = Dataset.from_list(rows)',
        'rows = [{"prompt": "a"}]\nrows += more()\ndata = Dataset.from_list(rows)',
        'rows = [{"prompt": "a"}]\nrows[0] = {"prompt": text}\ndata = Dataset.from_list(rows)',
        'questions = load()\ndata = Dataset.from_dict({"prompt": questions})',
        'data = Dataset.from_dict({"prompt": ["a"] * count})',
        'data = Dataset.from_dict({"prompt": ["a"] * 3, "answer": ["b"] * 2})',
        'data = Dataset.from_dict({"prompt": [q for q in questions if q]})',
        'data = Dataset.from_dict({"prompt": ["a"] * 1_000_000_000})',
        'data = Dataset.from_dict({"prompt": ["a"], **more})',
        'data = Dataset.from_dict({"prompt": [f"{i:03}" for i in range(9)]})',
        "data = Dataset.from_dict(more)",
    ],
)
def test_rows_that_are_not_known_are_left_unknown(tmp_path: Path, made: str) -> None:
    """Lists that grow, names with several values, sizes that nothing says or that are too many."""
    found = planned(tmp_path, made)
    assert found.spec.data is None
    assert "the rows of Dataset.from_" in "\n".join(found.assumptions)


@pytest.mark.parametrize(
    ("used", "count"),
    [
        ("data.shuffle(seed=1)", 6),
        ("data.select(range(3))", None),
        ("data.filter(lambda row: row['prompt'])", None),
        ("data.train_test_split(0.5)['train']", None),
    ],
)
def test_rows_that_are_dropped_leave_the_number_unknown(tmp_path: Path, used: str, count: int | None) -> None:
    """Their lengths are still those of the rows that were written."""
    spec = planned(tmp_path, "data = Dataset.from_dict({'prompt': questions * 3})", used).spec
    assert spec.data is not None
    assert spec.train_samples == count


def test_what_map_makes_is_not_known(tmp_path: Path) -> None:
    """A trainer that tokenises by itself sees the columns that map() returns."""
    found = planned(tmp_path, "data = Dataset.from_dict({'prompt': questions * 3})", "data.map(with_system_prompt)")
    assert found.spec.data is None
    assert "what map() makes of Dataset.from_dict is not known before it runs" in found.assumptions


def test_the_child_opens_rows() -> None:
    """As a data set of the columns."""
    pytest.importorskip("torch")
    pytest.importorskip("datasets")
    from mpslint.verify.child.lengths import open_data

    rows = open_data(DataSource("rows", "Dataset.from_dict", "", rows={"prompt": ["a", "b c"], "answer": ["1", "2"]}))
    assert (len(rows), rows.column_names, rows[1]["prompt"]) == (2, ["prompt", "answer"], "b c")
