"""Mappings of configuration files that stand for calls: LightningCLI's files, `Trainer(**config.trainer)`, and what Hydra calls."""

from __future__ import annotations

import textwrap
from typing import Any

import pytest

from mpslint.engine import check
from mpslint.rewrite.apply import fix
from mpslint.rule.frameworks import names_framework
from mpslint.rule.loading import load_rules
from mpslint.settings.evidence import gather_evidence
from mpslint.settings.plan import TrainingPlan
from mpslint.settings.spell import write_setting
from mpslint.source.reader import read
from mpslint.target.target import default_target

RULES = load_rules()


def plans_of(text: str) -> list[TrainingPlan]:
    """Return the plans of a configuration file."""
    document = read("config.yaml", textwrap.dedent(text).encode())
    return [plan for plan in gather_evidence(document, document.python, default_target()).plans if plan.kind == "config"]


def found(text: str) -> list[str]:
    """Return the rules that find something in a configuration file."""
    return [finding.rule for finding in check(read("config.yaml", textwrap.dedent(text).encode()), default_target(), RULES).findings]


CALLS: list[tuple[str, str, Any]] = [
    ("trainer: {accelerator: gpu, precision: 16-mixed}", "precision.mixed", "fp16"),
    ("trainer: {accelerator: gpu, devices: [1]}", "distributed.devices", 2),
    ("trainer: {accelerator: gpu, strategy: {class_path: lightning.pytorch.strategies.DDPStrategy}}", "distributed.strategy", "ddp"),
    ("trainer: {accelerator: gpu, strategy: {_target_: pytorch_lightning.strategies.FSDPStrategy, a: 1}}", "distributed.strategy", "fsdp"),
    ("trainer: {_target_: lightning.pytorch.trainer.Trainer, devices: 4}", "distributed.devices", 4),
    ("trainer: {_target_: pytorch_lightning.Trainer, strategy: ddp}", "distributed.strategy", "ddp"),
    ("_target_: lightning.Trainer\nprecision: 64", "precision.weights", "float64"),
    ("a: {b: [{_target_: pytorch_lightning.trainer.trainer.Trainer, max_epochs: 3}]}", "training.epochs", 3),
    ("seed_everything: 1\ntrainer: {strategy: ddp}", "distributed.strategy", "ddp"),
    ("fit:\n  trainer: {accelerator: gpu, strategy: ddp}", "distributed.strategy", "ddp"),
    ("fit:\n  trainer: {precision: bf16-mixed}", "precision.mixed", "bf16"),
    ("model: {class_path: m.Model}\ntrainer: {precision: bf16}", "precision.mixed", "bf16"),
    ("args: {_target_: transformers.TrainingArguments, fp16: true}", "precision.mixed", "fp16"),
    ("args: {_target_: transformers.training_args.TrainingArguments, tf32: true}", "precision.tf32", True),
    ("o: {class_path: torch.optim.AdamW, init_args: {lr: 1e-3, fused: true}}", "optimizer.fused", True),
    ("m: {_target_: transformers.AutoModel.from_pretrained, torch_dtype: torch.float16}", "precision.weights", "float16"),
]


@pytest.mark.parametrize(("text", "name", "value"), CALLS, ids=[text[:60] for text, _, _ in CALLS])
def test_a_mapping_that_names_a_call_says_what_the_call_would(text: str, name: str, value: Any) -> None:
    """Whatever the key that names it, and however deep it lies; and the file passes the test of its bytes."""
    (plan,) = plans_of(text)

    assert plan.constant(name) == value
    assert names_framework(text.encode())


STRANGERS = {
    "another trainer": "trainer: {accelerator: gpu, devices: 2, precision: 16-mixed, batch_size: 8}",
    "a class of one's own": "trainer: {_target_: src.trainer.Trainer, devices: 2, strategy: ddp}",
    "no accelerator is said": "defaults: [_self_]\ntrainer: {devices: 2, strategy: ddp}",
    "an option of a group": "defaults: [default]\nstrategy: ddp\naccelerator: gpu\ndevices: 4\nnum_nodes: 1\nsync_batchnorm: true",
    "the CPU": "trainer: {accelerator: cpu, devices: 4, strategy: ddp, precision: 64}",
    "a template": "trainer: {accelerator: gpu, devices: '${n}', strategy: '${s}', precision: ???}",
    "no text": "a: {_target_: 3}\nb: {_target_: [x]}\nc: {_target_: {_target_: lightning.Trainer}}\ntrainer: [accelerator]",
    "a target that is a template": "a: {_target_: '${trainer}', accelerator: gpu, devices: 2}",
    "no arguments": "a: {class_path: lightning.pytorch.Trainer}\nb: {class_path: lightning.Trainer, init_args: x}",
    "Hugging Face": "trainer: {fp16: true, per_device_train_batch_size: 8, accelerator: x}",
    "one device": "seed_everything: 1\ntrainer: {accelerator: gpu, devices: 1, strategy: auto, precision: 32}",
}


@pytest.mark.parametrize("text", STRANGERS.values(), ids=STRANGERS)
def test_what_a_file_does_not_decide_is_silent(text: str) -> None:
    """A trainer of somebody else's making, what another file decides, and what suits a Mac."""
    assert found(text) == []


def test_each_trainer_is_a_run_with_what_belongs_to_none() -> None:
    """Two calls that train have a plan each; a model belongs to both."""
    text = """\
        model: {_target_: transformers.AutoModel.from_pretrained, attn_implementation: sdpa}
        one: {_target_: lightning.Trainer, precision: bf16}
        two: {_target_: transformers.TrainingArguments, fp16: true}
        """
    plans = {plan.title: plan for plan in plans_of(text)}

    assert {title: plan.constant("precision.mixed") for title, plan in plans.items()} == {
        "lightning.pytorch.Trainer": "bf16",
        "transformers.TrainingArguments": "fp16",
    }
    assert {plan.constant("model.attention") for plan in plans.values()} == {"sdpa"}


def test_fixes_go_where_it_is_written() -> None:
    """Comments, order and quotes stay; a strategy with arguments of its own is for people to change."""
    text = (
        "# run\nseed_everything: 7\ntrainer:\n  accelerator: cuda  # fast\n  strategy: ddp_find_unused_parameters_true # both\n"
        '  devices: 2\n  precision: "16-mixed"\n  callbacks:\n    - class_path: lightning.pytorch.callbacks.ModelCheckpoint\n'
    )
    fixed = fix(read("config.yaml", text.encode()), default_target(), RULES, unsafe=True)

    assert fixed.data.decode() == text.replace("cuda", "auto").replace("ddp_find_unused_parameters_true", "auto").replace(
        "devices: 2", "devices: 1"
    ).replace("16-mixed", "32")
    assert fixed.after.findings == ()
    mapped = "trainer:\n  accelerator: gpu\n  strategy: {class_path: DDPStrategy, init_args: {static_graph: true}}\n"
    assert fix(read("config.yaml", mapped.encode()), default_target(), RULES, unsafe=True).data.decode() == mapped


def test_a_key_that_is_missing_is_added_to_its_own_mapping() -> None:
    """What a fix adds goes beside the key that it is about."""
    text = "name: x\nargs:\n  _target_: trl.SFTConfig\n  fp16: true  # half\nother: 1\n"
    fixed = fix(read("config.yaml", text.encode()), default_target(), RULES, unsafe=True)

    assert fixed.data.decode() == "name: x\nargs:\n  _target_: trl.SFTConfig\n  fp16: false  # half\n  bf16: false\nother: 1\n"


def test_an_argument_of_a_mapping_is_not_added_to_a_call_or_a_command() -> None:
    """Where nobody wrote it there is no mapping to write it into, and `model_init_kwargs.dtype=` is no Python."""
    for name, text in {
        "train.py": 'from trl import SFTConfig\n\nargs = SFTConfig("out", packing=False)\n',
        "run.sh": "trl sft --model_name_or_path gpt2\n",
    }.items():
        document = read(name, text.encode())
        evidence = gather_evidence(document, document.python, default_target())
        plan = next(plan for plan in evidence.plans if plan.kind in ("arguments", "command"))
        written = write_setting(evidence, plan, None, "model.device_map", "auto")

        assert written is None, name
