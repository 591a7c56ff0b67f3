"""What goes wrong only once something else is fixed is said beside it, as a note, and fixes are judged by what goes wrong now."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

import mpslint
from mpslint.cli.check import command
from mpslint.core.finding import Safety, Severity
from mpslint.engine import check
from mpslint.rewrite.apply import fix
from mpslint.rule.loading import load_rules
from mpslint.source.reader import read
from mpslint.target.target import default_target, with_versions

CHOICE = 'device = torch.device("cuda" if torch.cuda.is_available() else "cpu")\n'
LOOP = "model.to(device)\nfor x in loader:\n    x = x.to(device, non_blocking=True)\n    model(x).sum().backward()\n"
RULES = tuple(rule for rule in load_rules() if rule.id in ("MPS501", "MPS502", "MPS503", "MPS803"))


def said(text: str) -> list[tuple[str, Severity, str]]:
    """Return the rule, the severity and what it awaits of each finding in a script."""
    return [(one.rule, one.severity, one.awaits) for one in check(read("train.py", text.encode()), default_target(), RULES).findings]


CHOICES = [
    CHOICE,
    'device = "cuda" if torch.cuda.is_available() else "cpu"\n',
    'if torch.cuda.is_available():\n    device = "cuda"\nelse:\n    device = "cpu"\n',
    'device = torch.device("cpu")\nif torch.cuda.is_available():\n    device = torch.device("cuda:0")\n',
    'device = torch.cuda.is_available() and "cuda" or "cpu"\n',
    'device = torch.device(["cpu", "cuda"][torch.cuda.is_available()])\n',
    'device = {True: "cuda", False: "cpu"}[torch.cuda.is_available()]\n',
    'def pick():\n    if torch.cuda.is_available():\n        return "cuda"\n    return "cpu"\n\ndevice = pick()\n',
]


@pytest.mark.parametrize("choice", CHOICES)
def test_a_note_says_what_the_gpu_brings(choice: str) -> None:
    """However the device is chosen: the copy goes wrong on MPS only, which the fix of the choice selects."""
    assert said(f"import torch\n{choice}{LOOP}") == [("MPS503", Severity.WARNING, ""), ("MPS803", Severity.NOTE, "MPS503")]


WRITTEN = [
    ('device = torch.device("cuda")\nmodel = model.to(device)\n', "MPS501"),
    ('device = "cuda:0"\nmodel = torch.nn.Linear(2, 2).to(device)\n', "MPS501"),
    (
        'parser = argparse.ArgumentParser()\nparser.add_argument("--device", default="cuda")\ndevice = parser.parse_args().device\nmodel = model.to(device)\n',
        "MPS502",
    ),
]


@pytest.mark.parametrize(("choice", "first"), WRITTEN)
def test_what_a_cuda_device_hides_is_said_too(choice: str, first: str) -> None:
    """A device that is written out raises before the copy goes wrong."""
    found = said(f"import argparse\nimport torch\n{choice}{LOOP}")

    assert {(rule, awaits) for rule, _, awaits in found} == {(first, ""), ("MPS803", first)}


def test_what_awaits_several_names_them() -> None:
    """One of them alone may not be enough."""
    text = f'import torch\nother = model.to("cuda")\n{CHOICE}{LOOP}'
    notes = [one for one in check(read("train.py", text.encode()), default_target(), RULES).findings if one.awaits]

    assert [one.message.split(":")[0] for one in notes] == ['Once "mps" is selected (MPS501, MPS503)']


def test_the_note_names_what_comes_first_and_changes_nothing() -> None:
    """Its fix would be wrong for the code as it is."""
    note = check(read("train.py", f"import torch\n{CHOICE}{LOOP}".encode()), default_target(), RULES).findings[-1]

    assert note.message.startswith('Once "mps" is selected (MPS503): The copy to MPS')
    assert note.fix is not None
    assert note.fix.safety is Safety.MANUAL
    assert not note.fix.edits


def test_what_holds_only_before_the_fix_is_not_said() -> None:
    """The run ends before the autocast with the default as it is written, and with its fix it's none of CUDA."""
    option = "import argparse\nimport torch\nparser = argparse.ArgumentParser()\nparser.add_argument('--device', default='cuda')\nargs = parser.parse_args()\n"
    net = "net = torch.nn.Linear(4, 4).to(args.device)\nwith torch.autocast(args.device.split(':')[0]):\n    net(torch.ones(4, 4).to(args.device))\n"

    assert [one.rule for one in mpslint.check(option + net, select=["MPS502", "MPS111"]).findings] == ["MPS502"]


def test_what_is_selected_now_is_an_error_now() -> None:
    """Nothing has to be fixed first, and it is said once."""
    text = f'import torch\ndevice = "cuda" if torch.cuda.is_available() else "mps"\n{LOOP}'

    assert said(text) == [("MPS803", Severity.ERROR, "")]


def test_nothing_is_said_of_the_gpu_where_the_choice_is_not_asked_about() -> None:
    """Without the rule that leads to them."""
    only = tuple(rule for rule in RULES if rule.id == "MPS803")

    assert not check(read("train.py", f"import torch\n{CHOICE}{LOOP}".encode()), default_target(), only).findings


def test_a_fix_makes_both() -> None:
    """The second one in the next round, when it is an error."""
    fixed = fix(read("train.py", f"import torch\n{CHOICE}{LOOP}".encode()), default_target(), RULES)

    assert [one.rule for one in fixed.applied] == ["MPS503", "MPS803"]
    assert not fixed.before.findings[-1].awaits


def found_in_loop(folder: Path) -> list[tuple[str, str, int]]:
    """Return the rule, severity and line of what `mpslint check .` says of loop.py."""
    ran = CliRunner().invoke(command, [".", "--isolated", "--no-cache", "--select", "MPS503,MPS803", "--output-format", "json"])
    (loop,) = [one for one in json.loads(ran.output)["files"] if one["path"] == "loop.py"]
    return [(one["rule"], one["severity"], one["place"]["line"]) for one in loop["findings"]]


def test_the_choice_may_stand_in_another_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And where one run goes wrong now, that counts more than what a fix of another would bring."""
    monkeypatch.chdir(tmp_path)
    Path("loop.py").write_text(
        "def train(model, loader, device):\n    for x in loader:\n        model(x.to(device, non_blocking=True)).sum().backward()\n"
    )
    Path("first.py").write_text(f"import torch\nfrom loop import train\n{CHOICE}train(model, loader, device)\n")
    assert found_in_loop(tmp_path) == [("MPS803", "note", 3)]

    Path("second.py").write_text('import torch\nfrom loop import train\ntrain(model, loader, "mps")\n')
    assert found_in_loop(tmp_path) == [("MPS803", "error", 3)]


LSTM = f"""import torch
{CHOICE}model = torch.nn.LSTM(8, 8, num_layers=2, dropout=0.5).to(device)
optimizer = torch.optim.Adam(model.parameters())
for x in data:
    model(x.to(device))[0].sum().backward()
    optimizer.step()
"""


def test_a_fix_that_would_cause_an_error_is_advice() -> None:
    """No safe fix mends the gradients of an LSTM with dropout: `fix` keeps the CPU then, and `check` promises nothing else."""
    rules = tuple(rule for rule in load_rules() if rule.id in ("MPS503", "MPS802"))
    document = read("train.py", LSTM.encode())
    target = with_versions(default_target(), {"torch": "2.13"}, "test")
    (choice,) = (one for one in check(document, target, rules).findings if one.rule == "MPS503")

    assert choice.fix is not None
    assert (choice.fix.safety, choice.fix.edits) == (Safety.MANUAL, ())
    assert choice.fix.summary.startswith("First fix MPS802, then: ")
    assert not fix(document, target, rules).is_changed


LOSS = """import torch


class Loss(torch.nn.Module):
    def forward(self, a, b):
        mask = torch.eye(2).cuda() if a.is_cuda else torch.eye(2)
        return (a @ mask - b).mean()
"""
WITH_LOSS = f"""import torch
from losses import Loss

{CHOICE}model, criterion = torch.nn.Linear(2, 2).to(device), Loss()
for x, y in loader:
    criterion(model(x.to(device)), y.to(device)).backward()
"""


def test_a_fix_that_needs_a_change_in_another_file_is_advice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It names the tensor that stays behind, its line and its file, whichever file is asked about."""
    monkeypatch.chdir(tmp_path)
    Path("losses.py").write_text(LOSS)
    Path("train.py").write_text(WITH_LOSS)
    for name in ("train.py", "."):
        said = CliRunner().invoke(command, [name, "--isolated", "--no-cache"]).output

        assert "but `mask` in line 7 of losses.py stays on the CPU: move it too" in said
        assert "fixed safely" not in said


def test_what_lightning_moves_to_the_gpu_is_looked_at_before_auto_is_safe(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("model.py").write_text(
        "import lightning as L\nfrom torchmetrics.image.fid import FrechetInceptionDistance\n\n\nclass Gan(L.LightningModule):\n"
        "    def __init__(self):\n        super().__init__()\n        self.fid = FrechetInceptionDistance()\n"
    )
    Path("train.py").write_text(
        "import lightning as L\nimport torch\nfrom model import Gan\n\n"
        'trainer = L.Trainer(accelerator="gpu" if torch.cuda.is_available() else "cpu", devices=1)\ntrainer.fit(Gan(), loader)\n'
    )
    before = CliRunner().invoke(command, [".", "--isolated", "--no-cache"]).output
    Path("model.py").write_text(Path("model.py").read_text().replace("FrechetInceptionDistance()", "torch.nn.Linear(2, 2)"))
    after = CliRunner().invoke(command, [".", "--isolated", "--no-cache"]).output

    assert "First fix MPS126, then" in before
    assert "mpslint fix" not in before
    assert "mpslint fix train.py" in after


FLOAT64 = [
    "w = torch.from_numpy(np.random.randn(3)).to(x.device)",
    "w = torch.tensor(np.random.randn(3), device=model(x).device)",
    "dev = x.device\n    w = torch.from_numpy(np.array([0.5, 1.5])).to(dev)",
    "w = torch.zeros(3, dtype=wide, device=next(model.parameters()).device)",
    "w = torch.zeros_like(x, dtype=wide)",
    "w = x.new_zeros(3, dtype=wide)",
    "w = torch.DoubleTensor([0.5]).to(x.device)",
]
FLOAT32 = [
    "w = torch.from_numpy(np.random.randn(3)).float().to(x.device)",
    "w = torch.tensor(np.random.randn(3), device=y.device)",
    "dev = y.device\n    w = torch.from_numpy(np.array([0.5, 1.5])).to(dev)",
    "w = torch.zeros(3, dtype=torch.float32, device=next(model.parameters()).device)",
    "w = torch.zeros_like(y, dtype=wide)",
    "w = x.new_tensor(np.random.randn(3))",
    "w = torch.FloatTensor([0.5]).to(x.device)",
]


@pytest.mark.parametrize(("line", "safety"), [*((line, Safety.MANUAL) for line in FLOAT64), *((line, Safety.SAFE) for line in FLOAT32)])
def test_a_device_is_advice_where_float64_follows_it(line: str, safety: Safety) -> None:
    """A tensor's device is the one that the fix selects: what is float64 there raises once the Mac's GPU is selected."""
    start = f"import numpy as np\nimport torch\nfrom torch import float64 as wide\n{CHOICE}model = torch.nn.Linear(4, 2).to(device)\n"
    text = f"{start}for x, y in loader:\n    x = x.to(device)\n    {line}\n    model(x).sum().backward()\n"
    rules = [rule for rule in load_rules() if rule.id in ("MPS503", "MPS116")]
    choice = next(one for one in check(read("train.py", text.encode()), default_target(), rules).findings if one.rule == "MPS503")

    assert choice.fix is not None
    assert choice.fix.safety is safety


SCALED = """import torch

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
scaler = torch.cuda.amp.GradScaler()
model = torch.nn.Linear(2, 2).to(device)
with torch.autocast(device_type=device.type):
    scaler.scale(model(torch.ones(2, 2).to(device)).sum()).backward()
"""


def test_a_fix_that_makes_training_worse_is_held_back() -> None:
    """What trains in float32 on the CPU isn't moved to where float16 has no loss scaling, though that is a warning only."""
    rules = tuple(rule for rule in load_rules() if rule.id in ("MPS503", "MPS112"))
    document = read("train.py", SCALED.encode())
    found = {one.rule: one for one in check(document, default_target(), rules).findings}

    assert found["MPS112"].awaits == "MPS503"
    assert found["MPS503"].fix is not None
    assert found["MPS503"].fix.safety is Safety.MANUAL
    assert not fix(document, default_target(), rules).is_changed


TRAINED = """import torch
from transformers import {model}, Trainer, TrainingArguments
model = {model}.from_pretrained("facebook/wav2vec2-base")
Trainer(model, TrainingArguments("out"), train_dataset=data).train()
"""
GPUS = 'import sys\nimport pytorch_lightning as pl\nif sys.argv[1] == "train":\n    pl.Trainer(gpus={count})\n'
FABRIC = 'import lightning as L\nfabric = L.Fabric(accelerator="cuda", precision="{precision}")\nfabric.backward(loss)\n'


@pytest.mark.parametrize(
    ("text", "rule", "leads_to"),
    [
        (GPUS.format(count=2), "MPS901", "MPS518"),
        (GPUS.format(count=1), "MPS901", ""),
        (TRAINED.format(model="Wav2Vec2ForCTC"), "MPS526", "MPS910"),
        (TRAINED.format(model="BertForSequenceClassification"), "MPS526", ""),
        (FABRIC.format(precision="16-true"), "MPS517", "MPS121"),
        (FABRIC.format(precision="32-true"), "MPS517", ""),
    ],
)
def test_a_fix_is_called_safe_only_if_it_is_made(text: str, rule: str, leads_to: str) -> None:
    """A Mac has one GPU; there the CTC loss of Wav2Vec2 isn't implemented, and weights in fp16 become NaN. Both say the same of it."""
    document, target = (
        read("train.py", text.encode()),
        with_versions(default_target(), {"transformers": "4.24.0", "torch": "2.13.0"}, "test"),
    )

    found = next(one for one in check(document, target).findings if one.rule == rule)
    fixed = fix(document, target)

    assert found.fix is not None
    assert (found.fix.safety is Safety.SAFE, rule in {one.rule for one in fixed.applied}) == (not leads_to, not leads_to)
    assert (f"it would cause {leads_to} in line" in found.fix.summary) == bool(leads_to)
    assert not leads_to or found.fix in [one.fix for one in fixed.after.findings if one.rule == rule]


LARGE = """import torch
from transformers import AutoModelForCausalLM, AutoTokenizer
device = {device}
tokenizer = AutoTokenizer.from_pretrained("gpt2")
model = AutoModelForCausalLM.from_pretrained("gpt2").to(device)
optimizer = torch.optim.AdamW(model.parameters())
data = data.map(lambda rows: tokenizer(rows["text"], truncation=True, max_length=1024, padding="max_length"))
for batch in torch.utils.data.DataLoader(data, batch_size=32):
    loss = model(input_ids=batch["input_ids"].to(device), labels=batch["input_ids"].to(device)).loss
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
"""


@pytest.mark.parametrize(
    ("device", "severity"),
    [('"cuda" if torch.cuda.is_available() else "cpu"', Severity.NOTE), ('"mps"', Severity.WARNING)],
)
def test_a_run_on_the_cpu_has_no_memory_of_mps(device: str, severity: Severity) -> None:
    """What the batch costs on the GPU is said as what comes once it is used."""
    rules = [rule for rule in load_rules() if rule.id in ("MPS201", "MPS503")]

    found = check(read("train.py", LARGE.format(device=device).encode()), default_target(), rules).findings

    large = next(one for one in found if one.rule == "MPS201")
    assert (large.severity, large.message.startswith('Once "mps" is selected')) == (severity, severity is Severity.NOTE)


def test_a_loss_that_mps_lacks_holds_the_fix_back() -> None:
    """An evaluation with labels computes the CTC loss, which works on the CPU."""
    text = (
        "import torch\nfrom transformers import Wav2Vec2ForCTC\n"
        f"{CHOICE}model = Wav2Vec2ForCTC.from_pretrained('facebook/wav2vec2-base-960h').to(device)\n"
        "with torch.inference_mode():\n    loss = model(x.to(device), labels=y.to(device)).loss\n"
    )
    rules = tuple(rule for rule in load_rules() if rule.id in ("MPS503", "MPS910"))
    found = check(read("evaluate.py", text.encode()), with_versions(default_target(), {"torch": "2.13.0"}, "test"), rules).findings

    assert [(one.rule, one.awaits, one.fix is not None and one.fix.safety) for one in found] == [
        ("MPS503", "", Safety.MANUAL),
        ("MPS910", "MPS503", Safety.MANUAL),
    ]
