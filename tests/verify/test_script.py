"""The user's own code: Trainer, Lightning, notebooks, arguments, and code that misbehaves;
the user's files stay as they were."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest

from mpslint.verify.process import ChildLimits
from mpslint.verify.report import VerifyReport
from mpslint.verify.script import ScriptOptions, verify_script

pytest.importorskip("torch")

SAMPLES = Path(__file__).parents[2] / "samples"
LOOP = """
import torch
from torch import nn
device = torch.device("mps" if torch.backends.mps.is_available() else "cpu")
model = nn.Linear(8, 1).to(device)
optimizer = torch.optim.AdamW(model.parameters())
for step in range(100):
    loss = model(torch.ones(4, 8, device=device)).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""

NEEDS_DATA = """
import argparse
parser = argparse.ArgumentParser()
parser.add_argument("--data", required=True)
data = parser.parse_args().data
"""
FOR_EVER = "while True: time.sleep(0.1)"

TRAINER = (
    NEEDS_DATA
    + """
import numpy as np
import torch
from transformers import BertConfig, BertForSequenceClassification, Trainer, TrainingArguments

class Rows(torch.utils.data.Dataset):
    def __len__(self): return 400
    def __getitem__(self, i):
        return {"input_ids": torch.arange(16) + 1, "attention_mask": torch.ones(16).long(), "labels":
        torch.tensor(i % 2)}

model = BertForSequenceClassification(BertConfig(vocab_size=64, hidden_size=32, num_hidden_layers=1,
num_attention_heads=2, intermediate_size=32))
arguments = TrainingArguments("out", per_device_train_batch_size=8, num_train_epochs=3, eval_strategy="epoch",
save_strategy="epoch",
                              load_best_model_at_end=True, report_to="none")
trainer = Trainer(model, arguments, train_dataset=Rows(), eval_dataset=Rows(), compute_metrics=lambda p: {"n":
float(np.mean(p.predictions))})
assert trainer.args.device.type == next(model.parameters()).device.type, (trainer.args.device,
next(model.parameters()).device)
trainer.train()
trainer.save_model("final")
"""
)

LIGHTNING = """
import lightning as L
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

class Net(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(8, 2)
    def training_step(self, batch, number):
        return nn.functional.cross_entropy(self.layer(batch[0]), batch[1])
    def validation_step(self, batch, number):
        self.log("loss", nn.functional.cross_entropy(self.layer(batch[0]), batch[1]))
    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters())

if __name__ == "__main__":
    data = TensorDataset(torch.randn(640, 8), torch.zeros(640).long())
    L.Trainer(max_epochs=50, accelerator="mps", devices=1).fit(Net(), DataLoader(data, 16), DataLoader(data, 16))
"""


def verify(folder: Path, code: str, backend: str = "emulated", arguments: tuple[str, ...] = (), seconds: float = 180) -> VerifyReport:
    """Verify code as a script."""
    path = folder / "train.py"
    path.write_text(code, encoding="utf-8")
    options = ScriptOptions(backend=backend, arguments=arguments, limits=ChildLimits(seconds=seconds))  # type: ignore[arg-type]
    return verify_script(path, options)


def reasons(report: VerifyReport) -> str:
    """Return all that a report says, for messages of failed tests."""
    return "\n".join([report.problem, *(f"{c.status} {c.name}: {c.reason}" for v in report.verdicts for c in v.checks)])


def test_a_plain_loop_runs_emulated_and_on_the_cpu(tmp_path: Path) -> None:
    """A loop of 100 steps is ended after 20, its memory emulated and played on, its losses real."""
    report = verify(tmp_path, LOOP, "auto")

    assert report.status == "pass", reasons(report)
    assert [run.backend for run in report.runs] == ["emulated", "cpu"]
    assert [len(run.steps) for run in report.runs] == [200, 20]
    assert all(record.loss is not None for record in report.runs[1].steps)
    assert "20 optimizer steps emulated, and 180 more played from their recordings, without an exception" in reasons(report)


def test_an_epoch_that_is_played_on_is_not_called_cut(tmp_path: Path) -> None:
    """The steps that are played after those that ran are more than its batches."""
    head, _, steps = LOOP.partition("for step in range(100):\n")
    loop = "for batch in torch.utils.data.DataLoader(torch.ones(80, 8), batch_size=4):\n"
    report = verify(tmp_path, head + loop + steps.replace("torch.ones(4, 8, device=device)", "batch.to(device)"), "emulated")

    assert any(note.startswith("an epoch of 20 batches drawn out to ") for note in report.runs[0].changes)


def test_trainer_is_shortened_and_says_how(tmp_path: Path) -> None:
    """Trainer with its arguments: few steps, an evaluation, nothing saved, each change listed,
    the device as on a Mac."""
    pytest.importorskip("transformers")
    report = verify(tmp_path, TRAINER, arguments=("--data", "x"))

    assert report.status == "pass", reasons(report)
    (run,) = report.runs
    assert [record.what for record in run.steps].count("train") == 150
    assert [record.what for record in run.steps].count("evaluate") == 2
    assert run.settings_steps == 150
    for change in (
        "max_steps -1 → 20",
        "save_strategy epoch → no",
        ("load_best_model_at_end True → False"),
        "evaluation samples 400 → 32",
    ):
        assert change in run.changes
    assert sorted(path.name for path in tmp_path.iterdir()) == ["train.py"]


def test_lightning_is_shortened(tmp_path: Path) -> None:
    """Lightning gets its own flags for a short run."""
    pytest.importorskip("lightning")
    report = verify(tmp_path, LIGHTNING)

    assert report.status == "pass", reasons(report)
    assert "Trainer(max_steps=20)" in report.runs[0].changes
    assert "20 optimizer steps emulated, and 180 more played from their recordings, without an exception" in reasons(report)


def test_what_lightning_keeps_until_an_epoch_ends_grows(tmp_path: Path) -> None:
    """A validation is reached without an end of the epoch, which would free it; the statement that keeps it is named."""
    pytest.importorskip("lightning")
    kept = LIGHTNING.replace("640, 8", "160000, 4096").replace("640)", "160000)").replace("(8, 2)", "(4096, 2)")
    kept = kept.replace("torch.randn(160000, 4096)", "torch.randn(1, 4096).expand(160000, 4096)").replace(", 16)", ", 512)")
    kept = kept.replace("        return nn.f", "        self.seen.append(batch[0] * 2)\n        return nn.f", 1)
    kept = kept.replace("        self.layer =", "        self.seen = []\n        self.layer =")
    kept = kept.replace("    def configure", "    def on_train_epoch_end(self):\n        self.seen.clear()\n    def configure")
    report = verify(tmp_path, kept)

    (check,) = (check for check in report.verdicts[0].checks if check.name == "live memory")
    assert check.status == "fail", reasons(report)
    assert "`self.seen.append(batch[0] * 2)`" in check.reason
    assert check.line.endswith(":13")
    assert "evaluate" in {record.what for record in report.runs[0].steps}


def test_losses_are_those_of_the_code(tmp_path: Path) -> None:
    """Once a gradient isn't finite, the CPU goes on without it to find out why; those losses are nobody's."""
    report = verify(tmp_path, (Path(__file__).parent / "cases" / "root_of_zero.py").read_text(), "cpu")

    known = [record.loss is not None for record in report.runs[0].steps]
    assert known[:3] == [True] * 3, reasons(report)
    assert not any(known[3:])
    assert len(known) > 3


def test_the_sample_with_a_trainer_runs_with_local_model_and_data(tmp_path: Path) -> None:
    """samples/pegasus_finetune.py as it stands, on a tiny model and data set of the user's, which stay as they were."""
    transformers = pytest.importorskip("transformers")
    datasets, tokenizers = pytest.importorskip("datasets"), pytest.importorskip("tokenizers")
    words = {"<pad>": 0, "</s>": 1, "<unk>": 2, **{f"w{number}": number + 3 for number in range(60)}}
    core = tokenizers.Tokenizer(tokenizers.models.WordLevel(words, unk_token="<unk>"))
    core.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    special = {"pad_token": "<pad>", "eos_token": "</s>", "unk_token": "<unk>"}
    transformers.PreTrainedTokenizerFast(tokenizer_object=core, **special).save_pretrained(tmp_path / "model")
    sizes = {"d_model": 16, "encoder_ffn_dim": 32, "decoder_ffn_dim": 32, "encoder_layers": 1, "decoder_layers": 1}
    heads = {"encoder_attention_heads": 2, "decoder_attention_heads": 2, "max_position_embeddings": 64}
    transformers.PegasusConfig(vocab_size=64, **sizes, **heads, architectures=["PegasusForConditionalGeneration"]).save_pretrained(
        tmp_path / "model"
    )
    rows = [
        {"dialogue": " ".join(f"w{(7 * row + word) % 60}" for word in range(5 + row % 40)), "summary": f"w{row % 60}"} for row in range(64)
    ]
    splits = {name: datasets.Dataset.from_list(rows) for name in ("train", "validation", "test")}
    datasets.DatasetDict(splits).save_to_disk(tmp_path / "data")
    before = digest(tmp_path)
    given = ("--model", str(tmp_path / "model"), "--data", str(tmp_path / "data"))
    report = verify_script(SAMPLES / "pegasus_finetune.py", ScriptOptions(backend="emulated", steps=2, arguments=given))

    assert report.verdicts[0].checks, report.problem
    assert not [check for check in report.verdicts[0].checks if check.status == "fail" and check.name != "precision"], reasons(report)
    (run,) = report.runs
    assert [record.what for record in run.steps].count("train") == 2
    for change in ("max_steps -1 → 2", "DataLoader workers 4 → 0", "PegasusForConditionalGeneration.save_pretrained wrote nothing"):
        assert change in run.changes
    assert digest(tmp_path) == before


def test_a_notebook_runs_by_its_code_cells(tmp_path: Path) -> None:
    """Magics are left out, cells share one namespace, and a failure names its cell and line."""
    path = tmp_path / "train.ipynb"
    head, rest = LOOP.split("optimizer =", 1)
    cells = [
        {"cell_type": "markdown", "source": ["# Title"]},
        {"cell_type": "code", "source": ["!pip install x\n", "%matplotlib inline\n", "files = !ls\n", head]},
        {"cell_type": "code", "source": "%%bash\nrm -rf nothing"},
        {"cell_type": "code", "source": "optimizer =" + rest},
        {"cell_type": "code", "source": ["import asyncio\n", "await asyncio.sleep(0)\n", "unknown_name"]},
    ]
    path.write_text(json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}))
    report = verify_script(path, ScriptOptions(backend="emulated", steps=200))

    assert report.verdicts[0].checks[0].reason.startswith("NameError"), reasons(report)
    assert report.verdicts[0].checks[0].line == "train.ipynb cell 5:3"
    assert len(report.runs[0].steps) == 100


@pytest.mark.parametrize(
    ("code", "said"),
    [
        (NEEDS_DATA, "the following arguments are required: --data); if it needs arguments, give them after --"),
        ("import sys\nif len(sys.argv) < 2:\n    print('Usage: train.py DATA')\n    sys.exit(1)", "(it printed: Usage: train.py DATA)"),
        ("import sys\nsys.exit(0)", "before the first training step"),
        ("name = input('name? ')", "asks for input ('name? ') (train.py:1)"),
        ("while True:\n    try:\n        int(input('n? '))\n    except:\n        pass", "asks for input ('n? ')"),
        ("import not_installed_anywhere", "imports not_installed_anywhere, which is not installed here (train.py:1): install it"),
        ("from json import nothing_of_it", "an import fails with the versions installed here: cannot import name 'nothing_of_it'"),
        ("import numpy\nnumpy.genfromtxt('data/of_theirs.csv')", "reads 'data/of_theirs.csv', which isn't on this machine (train.py:2)"),
        ("open('../../outside.txt', 'w')", "writes nothing outside"),
        ("import os\nos.remove('/etc/hostname')", "changes nothing outside"),
        ("import socket\nsocket.create_connection(('127.0.0.1', 9))", "does not use the network"),
        ("import os\nos.environ['OF_THE_USER']", "--pass-env OF_THE_USER passes it"),
        ("open('/etc/issue')", "--allow-read /etc/issue allows it"),
        ("open('data/of_theirs.csv')", "reads 'data/of_theirs.csv', which isn't on this machine (train.py:1)"),
        ("import subprocess\nsubprocess.run(['pip', 'install', 'x'])", "does not run 'pip install x'"),
        ("def broken(:", "does not parse"),
        (f"import time\n{FOR_EVER}", "2 seconds"),
        ("import os\nos._exit(3)", "os._exit(3), after no optimizer steps"),
    ],
)
def test_code_that_cannot_be_run_is_explained(tmp_path: Path, code: str, said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """One line says why nothing was run."""
    monkeypatch.setenv("OF_THE_USER", "1")
    report = verify(tmp_path, code, seconds=2 if FOR_EVER in code else 120)

    assert report.status == "not run", reasons(report)
    assert said in report.problem


@pytest.mark.cold
def test_modules_beside_a_script_are_not_run_before_it_is_confined(tmp_path: Path) -> None:
    """A folder may hold files with the names of modules that mpslint or Python load first."""
    marker = Path.home() / ".mpslint-test-marker"
    hostile = f"open({str(marker)!r}, 'w').write('x')\n"
    (tmp_path / "mpslint").mkdir()
    for name in ("json.py", "sitecustomize.py", "usercustomize.py", "typing.py", "torch.py", "mpslint/__init__.py"):
        (tmp_path / name).write_text(hostile)
    report = verify(tmp_path, LOOP)

    assert not marker.exists()
    assert report.status == "pass", reasons(report)


@pytest.mark.parametrize(
    "line",
    ['{"event": "result", "data": [1]}', '{"event": "result", "data": {"name": 5}}', '{"event": "result", "data": {}}', "[" * 100_000],
)
def test_a_forged_result_is_one_line(tmp_path: Path, line: str) -> None:
    """Code that finds the channel of its results and writes there gets no verdict and makes no traceback."""
    code = f"import os\nfor number in range(3, 64):\n    try: os.write(number, {line!r}.encode() + b'\\n')\n    except OSError: pass\nos._exit(0)\n"
    report = verify(tmp_path, code)

    assert report.status == "not run", reasons(report)
    assert "\n" not in report.problem


def test_a_signal_handler_does_not_keep_it_running(tmp_path: Path) -> None:
    """Code that handles SIGTERM itself is ended all the same."""
    report = verify(tmp_path, f"import signal, time\nsignal.signal(signal.SIGTERM, lambda *a: None)\n{FOR_EVER}", seconds=3)

    assert "3 seconds" in report.problem


def test_a_missing_model_names_what_to_download(tmp_path: Path) -> None:
    """Without network an unknown model is one clear line; a known one is built from our own table."""
    pytest.importorskip("transformers")
    report = verify(tmp_path, "from transformers import AutoTokenizer\nAutoTokenizer.from_pretrained('nobody/nothing')")
    assert "hf download nobody/nothing" in report.problem

    code = "from transformers import AutoModelForCausalLM\nmodel = AutoModelForCausalLM.from_pretrained('gpt2')\n"
    known = verify(tmp_path, code + LOOP.replace("model = nn.Linear(8, 1).to(device)", "model = nn.Linear(8, 1).to(device)\n"))
    assert known.status == "pass", reasons(known)
    assert any("'gpt2'" in change for change in known.runs[0].changes)


def test_the_users_folder_is_as_it_was(tmp_path: Path) -> None:
    """Whatever the code writes goes to a copy; its own data can be read."""
    (tmp_path / "data.txt").write_text("8")
    code = ("open('data.txt', 'a').write('9')\nwidth = int(open('data.txt').read()[0])\nopen('new.txt', 'w').write('x')\n") + LOOP
    (tmp_path / "train.py").write_text(code)
    before = digest(tmp_path)
    report = verify(tmp_path, code)

    assert report.status == "pass", reasons(report)
    assert digest(tmp_path) == before


def digest(folder: Path) -> list[tuple[str, str, int]]:
    """Return names, contents and times of a folder's files."""
    paths = sorted(path for path in folder.rglob("*") if path.name != "train.py")
    return [(str(path), hashlib.sha256(path.read_bytes()).hexdigest(), path.stat().st_mtime_ns) for path in paths if path.is_file()]


@pytest.mark.cold
def test_a_module_of_ones_own_may_have_the_name_of_a_library(tmp_path: Path) -> None:
    """`datasets.py` beside the script is the user's, not the library, and is left alone."""
    (tmp_path / "datasets.py").write_text("width = 8\n")
    report = verify(tmp_path, "import datasets\n" + LOOP.replace("nn.Linear(8", "nn.Linear(datasets.width"))

    assert report.status == "pass", reasons(report)


def test_tensors_are_pickled_and_saved_into_memory(tmp_path: Path) -> None:
    """Copies made by pickle, and by torch.save() to a buffer, can be read back; only files aren't written."""
    code = """
import io, pickle
buffer = io.BytesIO()
torch.save(model.state_dict(), buffer)
buffer.seek(0)
model.load_state_dict(torch.load(buffer))
state = pickle.loads(pickle.dumps({name: value.cpu() for name, value in model.state_dict().items()}))
model.load_state_dict(state)
model = pickle.loads(pickle.dumps(model))
"""
    report = verify(tmp_path, LOOP.replace("optimizer =", code + "optimizer =", 1))

    assert report.status == "pass", reasons(report)
    assert not report.runs[0].changes


def test_a_failure_on_the_users_line(tmp_path: Path) -> None:
    """What MPS refuses is raised at the user's line, and the report names it."""
    report = verify(tmp_path, LOOP.replace("torch.ones(4, 8, device=device)", "torch.ones(4, 8)"))

    assert report.status == "fail"
    check = report.verdicts[0].checks[0]
    assert "Placeholder storage has not been allocated" in check.reason
    assert check.line == "train.py:8"


def test_float16_without_a_scaler_is_named_with_the_line_of_its_autocast() -> None:
    """It shows only as the run ends, when no line of the code is running any more."""
    report = verify_script(Path(__file__).parent / "cases" / "fp16_without_scaler.py", ScriptOptions(backend="emulated"))
    (found,) = (check for check in report.verdicts[0].checks if check.status == "fail")
    assert found.line == "fp16_without_scaler.py:11"
