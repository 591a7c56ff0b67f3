"""What a plan says of the run to verify: models and data beside the file, frozen parts, adapters, what is assumed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from mpslint.core.finding import ReadError
from mpslint.engine import check
from mpslint.source.reader import read
from mpslint.target.target import default_target
from mpslint.verify.from_plan import PlannedRun
from mpslint.verify.reading import runs_of, spec_of
from mpslint.verify.spec import Frozen

HEAD = """from datasets import load_dataset
from transformers import AutoModelForSequenceClassification, AutoTokenizer, DataCollatorWithPadding, Trainer, TrainingArguments

tokenizer = AutoTokenizer.from_pretrained("models/tiny")
model = AutoModelForSequenceClassification.from_pretrained("models/tiny")
"""
TAIL = """
data = load_dataset("json", data_files="data/train.jsonl", split="train")
data = data.map(lambda row: tokenizer(row["text"], truncation=True, max_length=64), batched=True)
trainer = Trainer(model=model, args=TrainingArguments("out"), train_dataset=data, data_collator=DataCollatorWithPadding(tokenizer))
"""
SFT = """from datasets import load_dataset
from trl import SFTConfig, SFTTrainer

trainer = SFTTrainer(
    model="models/tiny", args=SFTConfig("out"), train_dataset=load_dataset("json", data_files="data/train.jsonl", split="train")
)
"""
LORA = """
from peft import LoraConfig, get_peft_model

model = get_peft_model(model, LoraConfig(r=4, target_modules={0}))
"""


def planned(folder: Path, text: str) -> PlannedRun:
    """Return the run of a script in a project with a model and data."""
    (folder / "models" / "tiny").mkdir(parents=True)
    (folder / "models" / "tiny" / "config.json").write_text(json.dumps({"model_type": "bert"}))
    (folder / "data").mkdir()
    (folder / "data" / "train.jsonl").write_text('{"text": "a b"}\n')
    document = read(str(folder / "train.py"), text.encode())
    checked = check(document, default_target(), ())
    return spec_of(runs_of(checked)[0], "as written")


LOOP = """
import torch
device = {0}
model.to(device)
optimizer = torch.optim.AdamW(model.parameters())
data = load_dataset("json", data_files="data/train.jsonl", split="train")
for batch in torch.utils.data.DataLoader(data, batch_size=8, collate_fn=DataCollatorWithPadding(tokenizer)):
    loss = model(**batch.to(device)).loss
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
"""


def test_a_loop_on_the_cpu_says_nothing_of_mps(tmp_path: Path) -> None:
    """Where the code puts its model on the CPU on a Mac too, no run on MPS is made up; where it names no device, that is said."""
    with pytest.raises(ReadError, match="the model is put on the CPU, on a Mac too"):
        planned(tmp_path / "cpu", HEAD + LOOP.format('"cuda" if torch.cuda.is_available() else "cpu"'))
    on_mps = planned(tmp_path / "mps", HEAD + LOOP.format('"mps" if torch.backends.mps.is_available() else "cpu"'))
    unknown = planned(tmp_path / "unknown", (HEAD + LOOP.format("0")).replace("model.to(device)\n", "").replace(".to(device)", ""))

    assert not any("no device is read" in line for line in on_mps.assumptions)
    assert any("no device is read" in line for line in unknown.assumptions)


def test_folders_and_files_beside_the_script_are_found(tmp_path: Path) -> None:
    """Relative paths of the code are meant from its own folder, wherever mpslint runs."""
    spec = planned(tmp_path, HEAD + TAIL).spec

    assert spec.model == str(tmp_path / "models" / "tiny")
    assert spec.data is not None
    assert (spec.data.path, spec.data.column) == (str(tmp_path / "data" / "train.jsonl"), "text")


def test_names_keep_their_capitals(tmp_path: Path) -> None:
    """A folder `Models/Tiny`, or Qwen/Qwen2.5 in the Hugging Face cache, is not there in lower case."""
    code = (HEAD + TAIL).replace("models/tiny", "Qwen/Qwen2.5-0.5B")
    spec = planned(tmp_path, code).spec

    assert spec.model == "Qwen/Qwen2.5-0.5B"
    assert spec.data is not None
    assert spec.data.tokenizer == "Qwen/Qwen2.5-0.5B"


def test_what_is_assumed_for_want_of_data_is_marked(tmp_path: Path) -> None:
    """Lengths and steps are assumed only as long as the data can't be read, and the plan says which lines these are."""
    found = planned(tmp_path, HEAD + TAIL)

    assert set(found.unread) <= set(found.assumptions)
    assert {line.split()[0] for line in found.unread} == {"lengths", "how"}


def test_a_model_given_to_a_trainer_by_name_is_read(tmp_path: Path) -> None:
    """TRL's quick start names the model in the trainer, which tokenises the data itself."""
    spec = planned(tmp_path, SFT).spec

    assert (spec.model, spec.task) == (str(tmp_path / "models" / "tiny"), "causal_lm")
    assert spec.data is not None
    assert spec.data.columns[:2] == ("text", "messages")


@pytest.mark.parametrize(
    ("code", "frozen"),
    [
        ("for param in model.parameters():\n    param.requires_grad = False\n", (Frozen(""),)),
        ("for name, p in model.bert.named_parameters():\n    p.requires_grad = False\n", (Frozen("bert"),)),
        ("model.requires_grad_(False)\nmodel.classifier.requires_grad_(True)\n", (Frozen(""), Frozen("classifier", True))),
        ("for n, p in model.named_parameters():\n    if 'bias' in n:\n        p.requires_grad = False\n", (Frozen("", names=("bias",)),)),
        (
            "for n, p in model.named_parameters():\n    if not n.startswith(('classifier', 'pooler')):\n        p.requires_grad_(False)\n",
            (Frozen("", names=("classifier", "pooler"), begins=True, others=True),),
        ),
        (
            "for n, p in model.named_parameters():\n    p.requires_grad = any(k in n for k in ['classifier'])\n",
            (Frozen("", True, ("classifier",)), Frozen("", False, ("classifier",), others=True)),
        ),
        ("def freeze(m):\n    for p in m.parameters():\n        p.requires_grad = False\nfreeze(model.bert)\n", (Frozen("bert"),)),
        ("model.freeze_feature_encoder()\n", (Frozen("", method="freeze_feature_encoder"),)),
        ("for p in model.parameters():\n    if p.dim() > 1:\n        p.requires_grad = False\n", ()),
        ("for p in model.parameters():\n    print(p.shape)\n", ()),
        ("teacher = AutoModelForSequenceClassification.from_pretrained('x')\nteacher.requires_grad_(False)\n", ()),
        ("for p in other.parameters():\n    p.requires_grad = False\n", ()),
    ],
    ids=[
        "all",
        "a part",
        "all but the head",
        "by name",
        "but by names",
        "by a choice",
        "in a function",
        "by its own method",
        "by something else",
        "a look",
        "a teacher",
        "another model",
    ],
)
def test_frozen_parts_are_those_of_the_trained_model(tmp_path: Path, code: str, frozen: tuple[Frozen, ...]) -> None:
    """Only what is certain counts: the model that the trainer gets, without a choice among its weights."""
    assert planned(tmp_path, HEAD + code + TAIL).spec.frozen == frozen


INSIDE = """
def freeze(net, keep):
    for p in net.parameters():
        p.requires_grad = False
    net.classifier.requires_grad_(True)

def train(net):
    freeze(net, 1)
    Trainer(model=net, args=TrainingArguments("out"), train_dataset=d).train()

def main():
    model = AutoModelForSequenceClassification.from_pretrained("models/tiny")
    model.bert.embeddings.requires_grad_(False)
    train(model)

main()
"""


def test_freezing_is_followed_through_functions(tmp_path: Path) -> None:
    """The function that makes the model, the one that trains it and the one that freezes it."""
    spec = planned(tmp_path, HEAD.partition("model =")[0] + INSIDE).spec

    assert spec.frozen == (Frozen("bert.embeddings"), Frozen(""), Frozen("classifier", True))


def test_freezing_that_is_not_understood_is_said(tmp_path: Path) -> None:
    """All are taken to be trained, which the report tells."""
    found = planned(tmp_path, HEAD + "for p in model.parameters():\n    if p.dim() > 1:\n        p.requires_grad = False\n" + TAIL)

    assert any(line.startswith("which weights line ") for line in found.assumptions)


def test_a_limit_of_its_own_is_read(tmp_path: Path) -> None:
    """PYTORCH_MPS_HIGH_WATERMARK_RATIO says when MPS raises."""
    spec = planned(tmp_path, "import os\nos.environ['PYTORCH_MPS_HIGH_WATERMARK_RATIO'] = '0.0'\n" + HEAD + TAIL).spec

    assert spec.high_watermark == 0.0


def test_freezing_after_the_training_is_no_part_of_it(tmp_path: Path) -> None:
    """A second phase freezes for itself."""
    assert planned(tmp_path, HEAD + TAIL + "model.requires_grad_(False)\n").spec.frozen == ()


@pytest.mark.parametrize(
    ("given", "targets"), [('["query", "value"]', ("query", "value")), ('"all-linear"', ("all-linear",)), ("chosen()", ())]
)
def test_adapters_go_where_the_code_puts_them(tmp_path: Path, given: str, targets: tuple[str, ...]) -> None:
    """target_modules is read; what is not known is said."""
    found = planned(tmp_path, HEAD + LORA.format(given) + TAIL)

    assert (found.spec.lora_rank, found.spec.lora_targets) == (4, targets)
    assert ("which modules get adapters is not known: peft's default ones" in found.assumptions) is (not targets)
