"""Reward models and DPO: the values of their losses, what they keep in memory, and what a plan says of them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")

import torch

from mpslint.core.finding import ReadError
from mpslint.engine import check
from mpslint.source.reader import read
from mpslint.target.target import Target, default_target
from mpslint.verify.child import preference
from mpslint.verify.child.batches import train_shapes
from mpslint.verify.child.emulate import emulate
from mpslint.verify.child.preference import Preferring, Tiled
from mpslint.verify.child.rig import Rig
from mpslint.verify.child.values import train
from mpslint.verify.from_plan import PlannedRun
from mpslint.verify.reading import runs_of, spec_of
from mpslint.verify.spec import Lengths, RunSpec, VerifiedMac

# Libraries beside torch deprecate each other; that is not ours to fix.
pytestmark = pytest.mark.filterwarnings("ignore::FutureWarning")

LLAMA = {
    "model_type": "llama", "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2,
    "intermediate_size": 64, "vocab_size": 300,
}  # fmt: skip
PAIRS = RunSpec("x", "preference", Lengths(24, 12), config=LLAMA, train_batch=2, has_reference=True)
DPO = """
from datasets import load_dataset
from transformers import AutoModelForCausalLM
from trl import DPOConfig, DPOTrainer

model = AutoModelForCausalLM.from_pretrained("Qwen/Qwen2.5-0.5B-Instruct")
trainer = DPOTrainer(model=model, args=DPOConfig("out"{more}), train_dataset=load_dataset("a/b", split="train"))
"""
GRPO = """
from datasets import load_dataset
from trl import GRPOConfig, GRPOTrainer

trainer = GRPOTrainer(
    model="Qwen/Qwen2.5-0.5B-Instruct", reward_funcs=len, args=GRPOConfig("out"{more}), train_dataset=load_dataset("a/b", split="train")
)
"""
REWARD = """
from datasets import load_dataset
from trl import RewardConfig, RewardTrainer

trainer = RewardTrainer(
    model="Qwen/Qwen2.5-0.5B-Instruct", args=RewardConfig("out", max_length=256), train_dataset=load_dataset("a/b", split="train")
)
"""


def planned(folder: Path, text: str, trl: tuple[int, ...] = (1, 16)) -> PlannedRun:
    """Return the run of a script with a version of TRL."""
    choices = default_target().choices
    target = Target({**choices, "trl": replace(choices["trl"], version=trl)})
    checked = check(read(str(folder / "train.py"), text.encode()), target, ())
    return spec_of(runs_of(checked)[0], "as written")


def test_tiles_give_the_values_and_gradients_of_whole_logits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tiles of 4 tokens and 7 words, the last ones cut."""
    monkeypatch.setattr(preference, "TOKENS", 4)
    monkeypatch.setattr(preference, "WORDS", 7)
    torch.manual_seed(0)
    hidden, weight = torch.randn(10, 8, requires_grad=True), torch.randn(17, 8, requires_grad=True)
    targets, scale = torch.randint(17, (10,)), torch.randn(10)
    found = Tiled.apply(hidden, weight, targets, torch.float32)
    gradients = torch.autograd.grad((found * scale).sum(), (hidden, weight))
    wanted = (hidden @ weight.T).log_softmax(-1).gather(-1, targets.unsqueeze(-1)).squeeze(-1)

    torch.testing.assert_close(found, wanted)
    torch.testing.assert_close(gradients, torch.autograd.grad((wanted * scale).sum(), (hidden, weight)))


@pytest.mark.parametrize("tiled", [False, True])
@pytest.mark.parametrize("rank", [0, 4])
def test_dpo_starts_where_the_model_is_its_reference(tiled: bool, rank: int) -> None:
    """Neither answer is preferred at first: the loss is log 2, and it moves the weights."""
    if rank:
        pytest.importorskip("peft")
    result = train(replace(PAIRS, has_tiled_head=tiled, lora_rank=rank), VerifiedMac(), 2, lambda *_: None)

    assert result.steps[0].loss == pytest.approx(0.6931, abs=1e-4)
    assert result.moved


def test_the_reference_is_a_copy_that_is_not_trained() -> None:
    """Full training keeps the weights twice, adapters don't, and the copy never leaves evaluation mode."""
    alone = Rig(replace(PAIRS, has_reference=False), VerifiedMac())
    both = Rig(PAIRS, VerifiedMac())

    assert both.weight_bytes == 2 * alone.weight_bytes
    assert len(both.trained) == len(alone.trained)
    assert isinstance(both.model, Preferring)
    assert both.model.reference is not None
    assert not both.model.train().reference.training


def test_a_batch_holds_both_answers() -> None:
    """Padded to the longest of all: longer than single samples on average."""
    rig = Rig(replace(PAIRS, task="reward", has_reference=False), VerifiedMac())
    assert rig.batch((2, 9))["input_ids"].shape == (4, 9)
    rig.micro_batch((2, 9))

    single = replace(PAIRS, task="causal_lm", source=Lengths(500, 100))
    paired = replace(PAIRS, source=Lengths(500, 100))
    assert sum(shape[0][1] for shape in train_shapes(paired, 50)) > sum(shape[0][1] for shape in train_shapes(single, 50))


@pytest.mark.parametrize(
    ("trl", "more", "reference", "tiled"),
    [
        ((1, 16), "", True, True),
        ((1, 14), "", True, False),
        ((1, 16), ", precompute_ref_log_probs=True", False, True),
    ],
)
def test_a_dpo_run_is_read_off_its_plan(tmp_path: Path, trl: tuple[int, ...], more: str, reference: bool, tiled: bool) -> None:
    """With the reference and the head of its version, dropout off, and the learning rate of DPOConfig."""
    spec = planned(tmp_path, DPO.format(more=more), trl).spec

    assert (spec.task, spec.model) == ("preference", "Qwen/Qwen2.5-0.5B-Instruct")
    assert (spec.has_reference, spec.has_tiled_head) == (reference, tiled)
    assert (spec.dropout, spec.learning_rate, spec.source.limit) == (0.0, 1e-6, 1024)


def test_a_grpo_run_is_read_off_its_plan(tmp_path: Path) -> None:
    """Completions of all batches of a step are generated together, and reach their limit; a reference is kept where it weighs."""
    more = ", gradient_accumulation_steps=2, num_generations=4, max_completion_length=64"
    found = planned(tmp_path, GRPO.format(more=more))
    spec = found.spec

    assert (spec.task, spec.group_size, spec.generated, spec.train_batch) == ("policy", 4, 16, 8)
    assert spec.target == Lengths(64)
    assert (spec.has_reference, spec.has_tiled_head, spec.precision, spec.gradient_checkpointing) == (False, True, "bf16", True)
    assert any("all have 64 tokens" in line for line in found.assumptions)
    assert planned(tmp_path, GRPO.format(more=", beta=0.04, steps_per_generation=4")).spec.generated == 32
    assert planned(tmp_path, GRPO.format(more=", beta=0.04")).spec.has_reference


@pytest.mark.parametrize(
    ("more", "trl", "said"),
    [
        (", use_vllm=True", (1, 16), "GRPOTrainer generates with vLLM"),
        ("", (0, 29), "GRPOTrainer makes its logits in another way before TRL 1.15"),
    ],
)
def test_a_grpo_run_that_is_not_known_names_the_way_out(tmp_path: Path, more: str, trl: tuple[int, ...], said: str) -> None:
    """In one line."""
    with pytest.raises(ReadError, match=said) as raised:
        planned(tmp_path, GRPO.format(more=more), trl)

    assert "mpslint verify FILE" in str(raised.value)


def test_a_grpo_run_generates_before_it_trains() -> None:
    """Nothing of the cache stays; the steps of its data are those of all completions."""
    spec = replace(PAIRS, task="policy", target=Lengths(4), generated=4, group_size=2, has_tiled_head=True)
    result = emulate(spec, VerifiedMac(), 3, lambda *_: None)

    assert [step.what for step in result.steps] == ["generate", "train", "train", "train"]
    assert result.steps[0].peak > result.steps[0].live == result.steps[1].live
    assert not result.failure
    assert train(spec, VerifiedMac(), 2, lambda *_: None).moved


def test_a_reward_run_is_read_off_its_plan(tmp_path: Path) -> None:
    """The model given by name is a classifier with one output."""
    spec = planned(tmp_path, REWARD).spec

    assert (spec.task, spec.model, spec.source.limit, spec.has_reference) == ("reward", "Qwen/Qwen2.5-0.5B-Instruct", 256, False)


def test_a_trainer_without_arguments_has_those_of_its_configuration(tmp_path: Path) -> None:
    """TRL makes a RewardConfig of its own, which checkpoints and casts to bf16."""
    spec = planned(tmp_path, REWARD.replace('args=RewardConfig("out", max_length=256), ', "")).spec

    assert (spec.gradient_checkpointing, spec.precision, spec.source.limit) == (True, "bf16", 1024)


def test_the_module_of_dpo_keeps_the_methods_of_modules() -> None:
    """The type of its tiles does not stand in the place of `half()`."""
    module = Preferring(torch.nn.Linear(2, 2), has_reference=False, is_tiled=True, tile_type=torch.bfloat16)
    assert {parameter.dtype for parameter in module.half().parameters()} == {torch.float16}
