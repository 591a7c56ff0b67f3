"""What rules say of a version is what was read in that version's package: the sentences that were once false, by kind."""

from __future__ import annotations

import pytest

from mpslint.engine import check
from mpslint.rule.loading import load_rules
from mpslint.rule.rule import Example
from mpslint.session.examples import target_of
from mpslint.source.reader import read

HALF = """import torch
from transformers import AutoModelForCausalLM, Trainer

model = AutoModelForCausalLM.from_pretrained("gpt2", dtype=torch.float32, device_map="auto")
Trainer(model, train_dataset=data).train()
"""
UNSLOTH = "from unsloth import FastLanguageModel\n"
ON_CPU = """import os

os.environ["ACCELERATE_USE_CPU"] = "1"
from transformers import Trainer, TrainingArguments

Trainer(model, TrainingArguments("out"{}), train_dataset=data).train()
"""
FA3 = "model_name_or_path: Qwen/Qwen3-0.6B\nstage: sft\nfinetuning_type: lora\nflash_attn: fa3\n"
PADDED = """from transformers import AutoModelForCausalLM, AutoTokenizer, DataCollatorWithPadding, Trainer

tokenizer = AutoTokenizer.from_pretrained("mistralai/Mistral-7B-v0.1")
model = AutoModelForCausalLM.from_pretrained("mistralai/Mistral-7B-v0.1")
Trainer(model, data_collator=DataCollatorWithPadding(tokenizer, padding="max_length"), train_dataset=data).train()
"""
SCALED = """import torch

model = torch.nn.Linear(2, 2).to("mps")
optimizer = torch.optim.AdamW(model.parameters(), fused=True)
scaler = torch.amp.GradScaler("mps")
scaler.scale(model(torch.ones(2, device="mps")).sum()).backward()
scaler.step(optimizer)
"""
HALF_TRAINER = """import lightning as L

L.Trainer(accelerator="mps", precision="16-true").fit(model, loader)
"""
BF16 = """import torch
from transformers import AutoModelForCausalLM

model = AutoModelForCausalLM.from_pretrained("gpt2", torch_dtype=torch.bfloat16).to("mps")
"""
SENTENCES = """from sentence_transformers import SentenceTransformer, losses

model = SentenceTransformer("all-MiniLM-L6-v2")
model.fit(train_objectives=[(loader, losses.CosineSimilarityLoss(model))])
"""
LONG = """from transformers import AutoModelForSeq2SeqLM, AutoTokenizer, Seq2SeqTrainer, Seq2SeqTrainingArguments

tokenizer = AutoTokenizer.from_pretrained("t5-small")
data = data.map(lambda rows: tokenizer(rows["text"], max_length=1024, truncation=True))
args = Seq2SeqTrainingArguments("out", per_device_train_batch_size=8{})
trainer = Seq2SeqTrainer(AutoModelForSeq2SeqLM.from_pretrained("t5-small"), args, train_dataset=data)
"""


def said(rule: str, text: str, file: str, versions: dict[str, str]) -> str:
    """Return what a rule says of a file for some versions, or nothing."""
    target = target_of(Example(bad=text, file=file, target=versions))
    found = check(read(file, text.encode()), target, [one for one in load_rules() if one.id == rule]).findings
    return " ".join(finding.message for finding in found)


@pytest.mark.parametrize(
    ("rule", "text", "file", "versions", "words"),
    [
        ("MPS524", HALF, "a.py", {"transformers": "5.13.0"}, "converts it to float32 there, in threads"),
        ("MPS511", UNSLOTH, "a.py", {"unsloth": "2025.1.5"}, "raises AssertionError"),
        ("MPS511", UNSLOTH, "a.py", {"unsloth": "2025.1.6"}, "NotImplementedError up to unsloth_zoo"),
        ("MPS558", FA3, "sft.yaml", {"llamafactory": "0.9.3"}, "raises NotImplementedError"),
        ("MPS713", ON_CPU.format(""), "a.py", {"transformers": "4.43.0"}, "still puts its batches on the Mac's GPU"),
        ("MPS713", ON_CPU.format(", use_cpu=True"), "a.py", {"transformers": "4.43.0"}, "selects the CPU, and"),
        ("MPS303", PADDED, "a.py", {"transformers": "5.24.0"}, "pads nothing and raises ValueError"),
        ("MPS113", SCALED, "a.py", {"torch": "2.7.1"}, "no kernel on MPS"),
        ("MPS113", SCALED.replace("fused=True", ""), "a.py", {"torch": "2.7.1"}, "computes in float64"),
    ],
)
def test_it_is_said(rule: str, text: str, file: str, versions: dict[str, str], words: str) -> None:
    assert words in said(rule, text, file, versions)


@pytest.mark.parametrize(
    ("rule", "text", "true", "false"),
    [
        ("MPS121", HALF_TRAINER, {"lightning": "2.1.0"}, {"lightning": "2.0.9"}),
        ("MPS135", BF16, {"torch": "2.8.0", "macos": "13.6"}, {"torch": "2.9.1", "macos": "13.6"}),
        ("MPS309", SENTENCES, {"sentence-transformers": "2.3.0", "torch": "2.5.1"}, {"sentence-transformers": "2.2.2", "torch": "2.5.1"}),
    ],
)
def test_it_is_said_of_these_versions_only(rule: str, text: str, true: dict[str, str], false: dict[str, str]) -> None:
    assert said(rule, text, "a.py", true)
    assert said(rule, text, "a.py", false) == ""


def test_a_scaler_beside_autocast_for_float32_loses_nothing() -> None:
    text = 'import torch\n\nscaler = torch.cuda.amp.GradScaler()\nwith torch.autocast("mps", dtype=torch.{}):\n    pass\n'

    assert said("MPS112", text.format("float16"), "a.py", {})
    assert said("MPS112", text.format("float32"), "a.py", {}) == ""


def test_recomputed_attention_keeps_no_scores() -> None:
    assert said("MPS308", LONG.format(""), "a.py", {})
    assert said("MPS308", LONG.format(", gradient_checkpointing=True"), "a.py", {}) == ""


def test_a_crash_is_not_said_of_versions_before_its_cause() -> None:
    """transformers 5.12 reads weights to the CPU and converts them there."""
    assert "segmentation fault" not in said("MPS524", HALF, "a.py", {"transformers": "5.12.1"})


def test_quantized_weights_that_the_program_moves_are_not_left_on_the_cpu() -> None:
    code = """from transformers import AutoModelForCausalLM, BitsAndBytesConfig, Trainer

model = AutoModelForCausalLM.from_pretrained("gpt2", quantization_config=BitsAndBytesConfig(load_in_4bit=True))
Trainer(model, train_dataset=data).train()
"""
    versions = {"transformers": "4.57.6", "accelerate": "1.15.0"}
    assert "on the CPU" in said("MPS508", code, "a.py", versions)
    assert "on the CPU" not in said("MPS508", code.replace("Trainer(model,", 'Trainer(model.to("mps"),'), "a.py", versions)


def test_an_optimizer_of_torchao_needs_no_bitsandbytes() -> None:
    text = "base_model: HuggingFaceTB/SmolLM2-135M\nsequence_len: 1024\nbf16: false\noptimizer: {}\n"

    assert "needs bitsandbytes" in said("MPS507", text.format("adamw_8bit"), "config.yml", {})
    assert said("MPS507", text.format("ao_adamw_8bit"), "config.yml", {}) == ""


@pytest.mark.parametrize(("macos", "torch"), [("14.5", "2.14"), ("13.2", "2.8"), ("12.6", "2.5")])
def test_the_torch_that_is_advised_supports_that_macos(macos: str, torch: str) -> None:
    """The strings of libtorch_cpu.dylib: 2.15 asks for macOS 15, 2.9 to 2.14 for 14, 2.6 to 2.8 for 13."""
    target = target_of(Example(bad="", file="a.py", target={"torch": "2.15.0", "macos": macos}))
    found = check(
        read("a.py", b'import torch\ntorch.zeros(2).to("mps")\n'), target, [one for one in load_rules() if one.id == "MPS715"]
    ).findings

    assert [one.fix is not None and f"{torch} on macOS {macos.split('.')[0]}" in one.fix.summary for one in found] == [True]


def test_what_is_written_to_and_what_by_are_named_apart() -> None:
    """`mask[x > 0] = 1` has two tensors, and not one that is on two devices."""
    code = 'import torch\nx = torch.randn(8, device="mps")\nmask = torch.zeros(8)\nmask[x > 0] = 1.0\n'

    assert "`mask` is on the CPU, and `x > 0` is on MPS" in said("MPS576", code, "a.py", {})
