"""What a rule finds several times in one training run."""

from __future__ import annotations

import pytest

from mpslint.api import check, fix

BOTH = """from transformers import AutoModelForSeq2SeqLM, Seq2SeqTrainer, Seq2SeqTrainingArguments

model = AutoModelForSeq2SeqLM.from_pretrained("t5-small")
model.gradient_checkpointing_enable()
args = Seq2SeqTrainingArguments("out", gradient_checkpointing=True)
trainer = Seq2SeqTrainer(model, args, train_dataset=data)
"""
OTHER = """
other = AutoModelForSeq2SeqLM.from_pretrained("t5-small")
trainer = Seq2SeqTrainer(other, Seq2SeqTrainingArguments("out", gradient_checkpointing=True), train_dataset=data)
"""


def test_what_one_run_says_twice_is_one_finding_that_names_both_places() -> None:
    """The argument comes first, as it can be rewritten; another run is another finding."""
    one = check(BOTH, select=["MPS801"]).findings
    two = check(BOTH + OTHER, select=["MPS801"]).findings

    assert [finding.line for finding in one] == [5]
    assert [place.line for _, place in one[0].related] == [4]
    assert len(two) == 2


@pytest.mark.parametrize(
    ("versions", "said"),
    [
        ({"transformers": "4.25.1"}, "the Trainer of transformers 4.25.1 and scripts that initialize NCCL themselves raise"),
        ({"transformers": "4.30.2", "accelerate": "0.20.3"}, "accelerate 0.20.3, the Trainer and scripts"),
        ({"transformers": "5.0.0"}, "under accelerate or the Trainer each process trains its own copy"),
    ],
)
def test_the_versions_decide_whether_several_processes_raise(versions: dict[str, str], said: str) -> None:
    """Up to transformers 4.28 the Trainer asks for NCCL itself, later accelerate does, which leaves it alone from 0.21."""
    found = check("torchrun --nproc_per_node 4 train.py\n", filename="run.sh", target=versions, select=["MPS552"]).findings

    assert [said in one.message for one in found] == [True]


@pytest.mark.parametrize(("dtype", "is_fixed"), [("torch.float16", False), ("'float16'", False), ("torch.float32", True)])
def test_fp16_stays_on_where_the_weights_are_float16(dtype: str, is_fixed: bool) -> None:
    """Without it the run would compute in float16 without loss scaling."""
    text = (
        "import torch\nfrom peft import LoraConfig, get_peft_model\n"
        "from transformers import AutoModelForCausalLM, Trainer, TrainingArguments\n"
        f"model = AutoModelForCausalLM.from_pretrained('gpt2', torch_dtype={dtype})\n"
        "trainer = Trainer(get_peft_model(model, LoraConfig()), TrainingArguments('out', fp16=True), train_dataset=data)\n"
    )

    assert fix(text, select=["MPS101"]).is_changed is is_fixed


LORA = (
    "from peft import LoraConfig, get_peft_model\n"
    "from transformers import AutoModelForCausalLM, Trainer, TrainingArguments\n"
    "model = AutoModelForCausalLM.from_pretrained('gpt2')\n{line}"
    "trainer = Trainer(model, TrainingArguments('out', optim='{optimizer}'), train_dataset=data)\n"
)


@pytest.mark.parametrize(
    ("line", "optimizer", "severity", "said"),
    [
        ("model = get_peft_model(model, LoraConfig(r=16))\n", "paged_adamw_32bit", "warning", "LoRA of rank 16"),
        ("model = get_peft_model(model, LoraConfig())\n", "paged_adamw", "warning", "LoRA of rank 8"),
        ("model = get_peft_model(model, LoraConfig(r=16))\n", "paged_adamw_8bit", "error", "no 8-bit optimizer kernel"),
        ("", "paged_adamw_32bit", "error", "allocates their paged state with a function"),
    ],
)
def test_only_large_tensors_have_paged_state(line: str, optimizer: str, severity: str, said: str) -> None:
    """Adapters of a low rank are often smaller than what bitsandbytes pages; a model trained whole isn't."""
    found = check(LORA.format(line=line, optimizer=optimizer), select=["MPS507"]).findings

    assert [(str(one.severity), said in one.message) for one in found] == [(severity, True)]


SFT = """from peft import LoraConfig
from transformers import AutoModelForCausalLM
from trl import SFTConfig, SFTTrainer

model = AutoModelForCausalLM.from_pretrained("mistralai/Mistral-7B-v0.1", torch_dtype="{dtype}")
args = SFTConfig("out", fp16=True, per_device_train_batch_size=8, max_length=2048, packing=True, gradient_checkpointing={checkpointing})
SFTTrainer(model, args, train_dataset=data{more}).train()
"""


@pytest.mark.parametrize(
    ("checkpointing", "said"), [(True, "keeps only the input of each layer"), (False, "activations of all tokens are kept")]
)
def test_a_checkpointed_step_keeps_less_than_all_activations(checkpointing: bool, said: str) -> None:
    """What a large batch fills the memory with is said as the run is."""
    (found,) = check(SFT.format(dtype="float32", checkpointing=checkpointing, more=""), select=["MPS201"]).findings

    assert said in found.message


@pytest.mark.parametrize(("more", "is_said"), [("", True), (", peft_config=LoraConfig()", False)])
def test_the_weights_under_adapters_are_not_called_trained(more: str, is_said: bool) -> None:
    """The adapters are float32, whatever the weights under them are."""
    (found,) = check(SFT.format(dtype="float16", checkpointing=False, more=more), select=["MPS101"]).findings

    assert ("float16 weights are trained" in found.message) is is_said
