"""What a plan says of the run to verify: models and data beside the file, frozen parts, adapters, what is assumed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from mpslint.core.finding import ReadError
from mpslint.engine import check
from mpslint.source.reader import read
from mpslint.target.target import default_target
from mpslint.verify.from_plan import PlannedRun, spec_of
from mpslint.verify.reading import runs_of

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


def test_folders_beside_the_script_are_found(tmp_path: Path) -> None:
    """Relative paths of the code are meant from its own folder, wherever mpslint runs."""
    spec = planned(tmp_path, HEAD + TAIL).spec

    assert spec.model == str(tmp_path / "models" / "tiny")


def test_names_keep_their_capitals(tmp_path: Path) -> None:
    """A folder `Models/Tiny`, or Qwen/Qwen2.5 in the Hugging Face cache, is not there in lower case."""
    code = (HEAD + TAIL).replace("models/tiny", "Qwen/Qwen2.5-0.5B")
    spec = planned(tmp_path, code).spec

    assert spec.model == "Qwen/Qwen2.5-0.5B"


def test_trainers_with_losses_of_their_own_are_not_read(tmp_path: Path) -> None:
    """TRL makes the logits of SFT in tiles since 1.15: a run with whole ones says nothing about it."""
    with pytest.raises(ReadError, match=r"SFTTrainer makes its logits in tiles since TRL 1\.15.*mpslint verify FILE"):
        planned(tmp_path, SFT)


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("for param in model.parameters():\n    param.requires_grad = False\n", "requires_grad"),
        ("model.bert.requires_grad_(False)\n", "requires_grad_"),
        ("model.freeze_feature_encoder()\n", "freeze_feature_encoder"),
        ("for p in model.parameters():\n    print(p.shape)\n", ""),
    ],
)
def test_code_that_chooses_its_weights_is_not_read(tmp_path: Path, code: str, said: str) -> None:
    """A run that trains all of them would need more than the code's own, which is what settles it; adapters choose for themselves."""
    if not said:
        assert planned(tmp_path, HEAD + code + TAIL).spec.lora_rank == 0
        return
    with pytest.raises(ReadError, match=rf"chooses which weights are trained \({said}\).*mpslint verify FILE"):
        planned(tmp_path / "all", HEAD + code + TAIL)
    assert planned(tmp_path / "lora", HEAD + code + LORA.format("None") + TAIL).spec.lora_rank == 4


def test_a_limit_of_its_own_is_read(tmp_path: Path) -> None:
    """PYTORCH_MPS_HIGH_WATERMARK_RATIO says when MPS raises."""
    spec = planned(tmp_path, "import os\nos.environ['PYTORCH_MPS_HIGH_WATERMARK_RATIO'] = '0.0'\n" + HEAD + TAIL).spec

    assert spec.high_watermark == 0.0


@pytest.mark.parametrize(
    ("given", "targets"), [('["query", "value"]', ("query", "value")), ('"all-linear"', ("all-linear",)), ("chosen()", ())]
)
def test_adapters_go_where_the_code_puts_them(tmp_path: Path, given: str, targets: tuple[str, ...]) -> None:
    """target_modules is read; what is not known is said."""
    found = planned(tmp_path, HEAD + LORA.format(given) + TAIL)

    assert (found.spec.lora_rank, found.spec.lora_targets) == (4, targets)
    assert ("which modules get adapters is not known: peft's default ones" in found.assumptions) is (not targets)
