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
FA3 = "model_name_or_path: Qwen/Qwen3-0.6B\nstage: sft\nfinetuning_type: lora\nflash_attn: fa3\n"
PADDED = """from transformers import AutoModelForCausalLM, AutoTokenizer, DataCollatorWithPadding, Trainer

tokenizer = AutoTokenizer.from_pretrained("mistralai/Mistral-7B-v0.1")
model = AutoModelForCausalLM.from_pretrained("mistralai/Mistral-7B-v0.1")
Trainer(model, data_collator=DataCollatorWithPadding(tokenizer, padding="max_length"), train_dataset=data).train()
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
        ("MPS303", PADDED, "a.py", {"transformers": "5.24.0"}, "pads nothing and raises ValueError"),
    ],
)
def test_it_is_said(rule: str, text: str, file: str, versions: dict[str, str], words: str) -> None:
    assert words in said(rule, text, file, versions)


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
