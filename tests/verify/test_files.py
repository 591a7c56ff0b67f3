"""`mpslint verify --plan FILE`: the run that a file means, as it is written and as fix rewrites it; estimates from the same plan."""

from __future__ import annotations

import hashlib
import json
import re
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from mpslint.cli import group
from mpslint.verify import work

TINY = """\
from transformers import (
    DataCollatorForSeq2Seq, Seq2SeqTrainer, Seq2SeqTrainingArguments, T5Config, T5ForConditionalGeneration, T5TokenizerFast,
)

tokenizer = T5TokenizerFast.from_pretrained("t5-small")
config = T5Config(vocab_size=512, d_model=32, d_kv=8, d_ff=64, num_layers=2, num_heads=4, decoder_start_token_id=0)
model = T5ForConditionalGeneration(config)


def prepare(rows):
    encoded = tokenizer(rows["text"], max_length=1024, truncation=True)
    encoded["labels"] = tokenizer(text_target=rows["summary"], max_length=64, truncation=True)["input_ids"]
    return encoded


data = raw.map(prepare, batched=True)
args = Seq2SeqTrainingArguments("out", per_device_train_batch_size=16, max_steps=4000, fp16=True)  # lesson
trainer = Seq2SeqTrainer(model, args, train_dataset=data, data_collator=DataCollatorForSeq2Seq(tokenizer, model=model))
trainer.train()
"""
CHOICE = """\
from transformers import AutoModelForMultipleChoice, Trainer, TrainingArguments
Trainer(AutoModelForMultipleChoice.from_pretrained("bert-base-uncased"), TrainingArguments("out"), train_dataset=data).train()
"""
REWARDED = """\
from trl import RLOOConfig, RLOOTrainer
RLOOTrainer("gpt2", args=RLOOConfig("out", fp16=True), reward_funcs=len, train_dataset=data).train()
"""
OLD = ("--torch", "2.13", "--transformers", "4.57", "--accelerate", "1.10", "--memory", "16GB", "--isolated")


@pytest.fixture(autouse=True)
def own_cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep no result of these tests in the user's cache; share them between the tests."""
    monkeypatch.setenv("MPSLINT_CACHE_DIR", str(tmp_path_factory.getbasetemp() / "verify-files"))


def call(*arguments: object) -> Result:
    """Call mpslint."""
    return CliRunner().invoke(group, [str(argument) for argument in arguments])


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a training run, a file without one, and one that no plan describes."""
    folder = tmp_path_factory.mktemp("files")
    (folder / "train.py").write_text(TINY)
    (folder / "helper.py").write_text("import torch\n\n\ndef device():\n    return torch.device('cuda')\n")
    (folder / "rewarded.py").write_text(REWARDED)
    return folder


@pytest.fixture(scope="module")
def lesson(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Return the report on the training run, and the page and CSV that go with it."""
    pytest.importorskip("transformers")
    out = tmp_path_factory.mktemp("out")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MPSLINT_CACHE_DIR", str(tmp_path_factory.getbasetemp() / "verify-files"))
        before = hashlib.sha256((folder / "train.py").read_bytes()).hexdigest()
        result = call("verify", "--plan", folder / "train.py", *OLD, "--format", "json", "--html", out / "r.html", "--csv", out / "r.csv")
    assert result.exit_code == 1, result.output + result.stderr
    assert hashlib.sha256((folder / "train.py").read_bytes()).hexdigest() == before
    report: dict[str, Any] = json.loads(result.stdout)
    return {**report, "page": (out / "r.html").read_text(encoding="utf-8"), "csv": (out / "r.csv").read_text(encoding="utf-8")}


def check_of(report: dict[str, Any], run: str, name: str) -> dict[str, Any]:
    """Return one check of one run."""
    verdict = next(verdict for verdict in report["verdicts"] if verdict["name"] == run)
    return next(check for check in verdict["checks"] if check["name"] == name)


def test_a_file_fails_as_written_and_passes_as_rewritten(lesson: dict[str, Any]) -> None:
    """fp16 raises with these versions, and compiled graphs don't settle with two distributions of lengths; both findings are named."""
    assert [(verdict["name"], verdict["status"]) for verdict in lesson["verdicts"]] == [("as written", "fail"), ("as rewritten", "pass")]
    graphs = check_of(lesson, "as written", "compiled graphs")
    assert graphs["status"] == "fail"
    assert graphs["reason"].endswith("also with drawn lengths of median 152 and 606")
    assert any(item["label"] == "predicted by" and item["value"].startswith("MPS301") for item in graphs["evidence"])
    precision = check_of(lesson, "as written", "precision")
    assert precision["status"] == "fail"
    assert "fp16 mixed precision requires a GPU" in precision["reason"]
    assert [check["status"] for check in lesson["comparison"]] == ["pass"]


def test_the_keys_of_the_rewrite_settle(lesson: dict[str, Any]) -> None:
    """The written run makes new graphs to its end, the rewritten one after its first hundred steps none."""
    before, after = (run for run in lesson["runs"] if run["backend"] == "emulated")
    assert sum(step["new_graph_keys"] for step in before["steps"][100:]) > 300
    assert sum(step["new_graph_keys"] for step in after["steps"][100:]) < 40
    assert after["largest_peak"] <= before["largest_peak"]


def test_the_report_says_what_was_read_and_assumed(lesson: dict[str, Any]) -> None:
    """Which run of the file, for which Mac, what the code leaves open, what is found, and the rewrite as a diff."""
    reading = lesson["reading"]
    assert reading["run"] == "Seq2SeqTrainer (trainer) at line 18"
    assert "torch 2.13" in reading["target"]
    assert any(line.startswith("lengths of the input are drawn") for line in reading["assumptions"])
    assert {"MPS101", "MPS301"} <= {found["rule"] for found in reading["findings"]}
    assert any(line.startswith("+") and "pad_to_multiple_of=64" in line for _, lines in reading["diff"] for line in lines)


def test_page_and_csv_hold_both_runs(lesson: dict[str, Any]) -> None:
    """The page has verdicts, findings, the diff and curves; the CSV a line for each step."""
    page, rows = lesson["page"], lesson["csv"].splitlines()
    for text in ("as written", "as rewritten", "MPS101 fp16-mixed-precision", "pad_to_multiple_of=64", "<svg", "log-normal"):
        assert text in page
    assert sum(",as rewritten,emulated," in row for row in rows) == 200


def test_text_names_the_rewrite_and_the_way_to_write_it(folder: Path, lesson: dict[str, Any]) -> None:
    """The last line gives both verdicts and the command; the numbers stand side by side."""
    del lesson  # its runs are in the cache by now
    result = call("verify", "--plan", folder / "train.py", *OLD)
    assert f"FAIL as written, PASS as rewritten; the rewrite: mpslint fix {folder / 'train.py'}" in result.stdout
    assert "rewritten     MPS301 dynamic-padding: pad_to_multiple_of=64" in result.stdout
    assert "peak, longest samples" in result.stdout


def test_a_folder_gives_a_report_for_each_run(folder: Path, lesson: dict[str, Any]) -> None:
    """A file without a training run is passed over, one that no plan describes is reported as not run; the worst exit code counts."""
    del lesson
    result = call("verify", "--plan", "--all", folder, *OLD, "--format", "json")
    reports = {Path(report["subject"]).name: report for report in json.loads(result.stdout)}
    assert {name: report["status"] for name, report in reports.items()} == {"rewarded.py": "not run", "train.py": "fail"}
    assert "generates while it trains" in reports["rewarded.py"]["problem"]
    assert result.exit_code == 1


def test_findings_are_told_where_nothing_can_be_run(folder: Path) -> None:
    """A run that no plan describes: exit 3, the way to run its code, and what check finds all the same."""
    pytest.importorskip("torch")
    result = call("verify", "--plan", folder / "rewarded.py", *OLD)
    assert result.exit_code == 3
    said = "".join(result.stdout.split())  # the terminal's width decides where lines break
    assert re.search(r"mpslintverify\S{0,200}rewarded\.py", said)
    assert "MPS101" in result.stdout


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("empty.py", "", "no training run that mpslint can read"),
        ("broken.py", "def broken(:\n", "does not parse"),
        ("broken.ipynb", "{", "not valid JSON"),
        ("choice.py", CHOICE, "AutoModelForMultipleChoice takes several texts for each sample"),
        ("odd.py", "from transformers import Trainer\nTrainer(make(), train_dataset=d).train()\n", "which model is trained cannot be read"),
    ],
)
def test_what_cannot_be_read_is_one_line(tmp_path: Path, name: str, text: str, said: str) -> None:
    """Exit 3 and the reason, never a traceback."""
    pytest.importorskip("torch")
    (tmp_path / name).write_text(text)
    result = call("verify", "--plan", tmp_path / name, "--isolated")
    assert result.exit_code == 3, result.output
    assert said in " ".join(result.stdout.split())


def test_an_estimate_lists_macs_and_what_the_peak_is_made_of(folder: Path) -> None:
    """`mpslint plan --estimate`: the peak by category, and a batch for each Mac; more memory never takes less."""
    pytest.importorskip("transformers")
    result = call("plan", folder / "train.py", "--estimate", "--format", "json", *OLD)
    assert result.exit_code == 0, result.output
    (found,) = json.loads(result.stdout)
    estimate = found["known"]["estimates"][0]
    assert sum(estimate["composition"]["parts"].values()) == estimate["composition"]["peak"]
    assert {"weights", "activations", "attention scores", "optimizer"} <= set(estimate["composition"]["parts"])
    assert [fit["memory_gb"] for fit in estimate["fits"]] == [8, 16, 24, 32, 64, 128]
    assert [fit["bound"] for fit in estimate["fits"]] == ["at most ", "at least ", *["at most "] * 4]  # torch 2.13 keeps buffers
    batches = [fit["largest_batch"] for fit in estimate["fits"] if fit["bound"] == "at most "]
    assert batches == sorted(batches)
    assert batches[0] >= 1
    shown = call("plan", folder / "train.py", "--estimate", *OLD)
    assert "made of       " in shown.stdout
    assert "128 GB" in shown.stdout


def test_an_estimate_of_nothing_says_so(tmp_path: Path) -> None:
    """A folder without a training run: exit 3 and the reason, beside an empty list; the way out names the file."""
    pytest.importorskip("transformers")
    (tmp_path / "model.py").write_text("from transformers import AutoModel\nmodel = AutoModel.from_pretrained('gpt2')\n")
    result = call("plan", tmp_path, "--estimate", "--format", "json", *OLD)
    assert (result.exit_code, result.stdout.strip()) == (3, "[]")
    assert f"{tmp_path}: no training run that mpslint can read" in result.stderr
    assert f"mpslint verify {tmp_path / 'model.py'}" in call("plan", tmp_path / "model.py", "--estimate", *OLD).stderr


def test_fit_takes_the_largest_batch_that_fits(folder: Path) -> None:
    """`fix --fit`: the Mac takes the whole batch of a tiny model, so it is not split; without --fit its tokens decide."""
    pytest.importorskip("transformers")
    known = ("--torch", "2.15", "--memory", "16GB", "--isolated", "--diff")
    assert "per_device_train_batch_size=4 if torch.backends.mps.is_available() else 16" in call("fix", folder / "train.py", *known).stdout
    fitted = call("fix", folder / "train.py", "--fit", *known)
    assert "per_device_train_batch_size" not in fitted.stdout.replace("-args = ", "").replace("per_device_train_batch_size=16", "")
    assert "largest micro-batch on a 16 GB Mac" in fitted.stderr


def test_without_torch_fit_keeps_the_static_number(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`--fit` without the extra says so in one line and goes on; `--estimate` ends with exit 3."""
    monkeypatch.setenv("MPSLINT_CACHE_DIR", str(folder / "cache"))
    monkeypatch.setattr(work, "has_torch", lambda: False)
    result = call("fix", folder / "train.py", "--fit", "--torch", "2.15", "--isolated", "--diff")
    assert "pip install 'mpslint[verify]'" in result.stderr
    assert "per_device_train_batch_size=4 if torch.backends.mps.is_available() else 16" in result.stdout
