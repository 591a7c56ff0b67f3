"""How big the gradient of the embedding is that each new batch length keeps, where the checkpoint is known."""

from __future__ import annotations

import pytest

from mpslint.core.finding import Finding
from mpslint.engine import check
from mpslint.rule.loading import load_rules
from mpslint.source.reader import read
from mpslint.target.target import default_target, with_versions

CODE = """import torch
from transformers import AutoModelForCausalLM, AutoTokenizer, DataCollatorForSeq2Seq, Trainer, TrainingArguments

tokenizer = AutoTokenizer.from_pretrained("{name}")
model = AutoModelForCausalLM.from_pretrained("{name}"{dtype})
{more}data = data.map(lambda rows: tokenizer(rows["text"], truncation=True, max_length=512), batched=True)
trainer = Trainer(model, TrainingArguments("out"), train_dataset=data, data_collator=DataCollatorForSeq2Seq(tokenizer{collator}))
"""


def found(name: str, torch: str = "2.12", dtype: str = ', torch_dtype="float32"', more: str = "", collator: str = "") -> list[Finding]:
    """Return what MPS301 says of a run with one checkpoint."""
    text = CODE.format(name=name, dtype=dtype, more=more, collator=collator)
    target = with_versions(default_target(), {"torch": torch, "transformers": "4.57"}, "test")
    rules = tuple(rule for rule in load_rules() if rule.id == "MPS301")
    return list(check(read("train.py", text.encode()), target, rules).findings)


@pytest.mark.parametrize(
    ("name", "dtype", "said"),
    [
        (
            "openai-community/gpt2",
            ', torch_dtype="float32"',
            "keeps an estimated 147 MiB, as much as the gradient of the embedding",
        ),
        ("distilgpt2", ", torch_dtype=torch.bfloat16", "keeps an estimated 74 MiB, as much as the gradient of the embedding"),
    ],
)
def test_the_number_is_said_where_it_is_known(name: str, dtype: str, said: str) -> None:
    """Vocabulary x width x bytes of the weights."""
    (finding,) = found(name, dtype=dtype)

    assert said in finding.message


FROZEN = (
    "from peft import LoraConfig, get_peft_model\nmodel = get_peft_model(model, LoraConfig(r=8))\n",
    "from peft import PeftModel\nmodel = PeftModel.from_pretrained(model, 'adapter', is_trainable=True)\n",
    "import peft\nmodel = peft.get_peft_model(model, peft.PrefixTuningConfig(num_virtual_tokens=8))\n",
    "model.load_adapter('adapter', is_trainable=True)\n",
    "for parameter in model.parameters():\n    parameter.requires_grad = False\nmodel.lm_head.requires_grad_(True)\n",
    "model.get_input_embeddings().requires_grad_(False)\n",
    "from project import freeze_embeddings\nfreeze_embeddings(model)\n",
)


@pytest.mark.parametrize(
    ("name", "torch", "more"),
    [
        ("someone/unknown", "2.12", ""),
        ("gpt2", "2.13", ""),
        *(("gpt2", "2.12", more) for more in FROZEN),
    ],
    ids=["unknown checkpoint", "torch that keeps nothing", *FROZEN],
)
def test_no_number_is_made_up(name: str, torch: str, more: str) -> None:
    """An unknown checkpoint, a torch that keeps nothing, an embedding that isn't trained: the finding says no number."""
    assert all("embedding" not in finding.message for finding in found(name, torch, more=more))


def test_bounded_shapes_need_no_number() -> None:
    """Padding to a multiple is no finding at all."""
    assert found("gpt2", collator=", pad_to_multiple_of=64") == []
