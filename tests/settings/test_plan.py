"""Facts become canonical settings, whoever spells them, and settings gather into training plans."""

from __future__ import annotations

import textwrap
from typing import Any

import pytest

from mpslint.facts.values import Known
from mpslint.settings.dialects import load_dialects
from mpslint.settings.evidence import Evidence, gather_evidence
from mpslint.settings.plan import TrainingPlan
from mpslint.settings.setting import Setting, load_vocabulary
from mpslint.settings.spelling import render
from mpslint.source.reader import read
from mpslint.target.target import default_target, with_versions


def evidence_of(code: str, name: str = "train.py", **versions: str) -> Evidence:
    """Return the evidence of a file."""
    document = read(name, textwrap.dedent(code).encode())
    return gather_evidence(document, document.python, with_versions(default_target(), versions, "test"))


def plan_of(code: str, name: str = "train.py", **versions: str) -> TrainingPlan:
    """Return the first plan of a file."""
    return evidence_of(code, name, **versions).plans[0]


def setting_of(plan: TrainingPlan, name: str) -> Setting:
    """Return a setting that must be there."""
    setting = plan.get(name)
    assert setting is not None, f"{name} is not in the plan"
    return setting


HEAD = "from transformers import *\nfrom trl import *\nimport torch\n"
PARSER = "from transformers import HfArgumentParser, Trainer, TrainingArguments\n"
SPELLINGS = [
    ("TrainingArguments('o', per_device_train_batch_size=4)", "batch.train", 4),
    ("TrainingArguments('o', fp16=True)", "precision.mixed", "fp16"),
    ("TrainingArguments('o', bf16=True)", "precision.mixed", "bf16"),
    ("TrainingArguments('o', fp16=False)", "precision.mixed", "no"),
    ("TrainingArguments('o')", "precision.mixed", "no"),
    ("TrainingArguments('o', evaluation_strategy='epoch')", "evaluation.strategy", "epoch"),
    ("from transformers.trainer_utils import IntervalStrategy\nTrainingArguments('o', eval_strategy=IntervalStrategy.STEPS)", "evaluation.strategy", "steps"),
    ("TrainingArguments('o', no_cuda=True)", "device.cpu_only", True),
    ("TrainingArguments('o', group_by_length=True)", "batch.sampling", "group_by_length"),
    ("TrainingArguments('o', deepspeed={'stage': 2})", "distributed.strategy", "deepspeed"),
    ("TrainingArguments('o')", "optimizer.name", "adamw_torch_fused"),
    ("Seq2SeqTrainingArguments('o', predict_with_generate=True)", "evaluation.generates", True),
    ("class A(TrainingArguments):\n    pass\nA('o', fp16=True)", "precision.mixed", "fp16"),
    ("args = TrainingArguments('o')\nargs.fp16 = True\nTrainer(args=args)", "precision.mixed", "fp16"),
    ("d = dict(fp16=True)\nTrainingArguments('o', **d)", "precision.mixed", "fp16"),
    ("def make(**kw):\n    return TrainingArguments('o', **kw)\nTrainer(args=make(fp16=True))", "precision.mixed", "fp16"),
    ("import ultralytics\nultralytics.YOLO('m').train(data='d', device=0)", "device.requested", "cuda:0"),
    ("import ultralytics\nultralytics.YOLO('m').train(data='d', device='0,1')", "device.requested", "cuda:0,1"),
    ("import ultralytics\nultralytics.YOLO('m').train(data='d', device=[0, 1])", "device.requested", "cuda:0,1"),
    ("import ultralytics\nultralytics.YOLO('m').train(data='d', device=['cuda:0', 'cuda:1'])", "device.requested", "cuda:0,1"),
    ("import ultralytics\nultralytics.YOLO('m').train(data='d', device='cuda')", "device.requested", "cuda:0"),
    ("import ultralytics\nultralytics.YOLO('m').train(data='d', device='MPS')", "device.requested", "mps"),
    ("import ultralytics\nultralytics.YOLO('m').train(data='d', device=-1)", "device.requested", -1),
    ("SFTConfig('o', fp16=False)", "precision.mixed", "bf16"),
    ("SFTConfig('o', bf16=False)", "precision.mixed", "no"),
    ("SFTConfig('o')", "memory.checkpointing", True),
    ("t = AutoTokenizer.from_pretrained('x')\nt(a, padding='max_length', truncation=True, max_length=64)", "length.source", 64),
    ("t = AutoTokenizer.from_pretrained('x')\nt(text_target=a, max_length=64, truncation=True)", "length.target", 64),
    ("t = AutoTokenizer.from_pretrained('x')\nwith t.as_target_tokenizer():\n    t(a, max_length=64, truncation=True)", "length.target", 64),
    ("def f(tokenizer, a):\n    tokenizer(a, max_length=64, truncation=True)", "length.source", 64),
    ("DataCollatorForSeq2Seq(t)", "padding.strategy", "longest"),
    ("DataCollatorForSeq2Seq(t, padding='max_length')", "padding.strategy", "max_length"),
    ("DataCollatorWithPadding(t, True, None, 8)", "padding.multiple_of", 8),
    ("AutoModel.from_pretrained('x', torch_dtype=torch.float16)", "precision.weights", "float16"),
    ("AutoModel.from_pretrained('x', torch_dtype='bfloat16')", "precision.weights", "bfloat16"),
    ("AutoModel.from_pretrained('t5-small')", "model.name", "t5-small"),
    ("m = AutoModel.from_pretrained('x')\nm.half()", "precision.weights", "float16"),
    ("m = AutoModel.from_pretrained('x')\nm.config.use_cache = False", "model.use_cache", False),
    ("m.gradient_checkpointing_enable()", "memory.checkpointing", True),
    ("torch.utils.data.DataLoader(d, 32, num_workers=4, pin_memory=True)", "loader.pin_memory", True),
    ("torch.utils.data.DataLoader(d, 32)", "loader.batch", 32),
    ("x.to('cuda')", "device.name", "cuda"),
    ("x.to(torch.float16)", "precision.weights", "float16"),
    ("x.to('mps', non_blocking=True)", "loader.non_blocking", True),
    ("torch.cuda.amp.GradScaler()", "precision.scaler", "cuda"),
    ("torch.autocast('mps', dtype=torch.bfloat16)", "precision.mixed", "bf16"),
    ("torch.optim.AdamW(m.parameters(), lr=3e-4)", "optimizer.name", "adamw"),
    ("import os\nos.environ['PYTORCH_MPS_HIGH_WATERMARK_RATIO'] = '0.0'", "environment.high_watermark", 0.0),
    ("import os\nos.environ.update(PYTORCH_ENABLE_MPS_FALLBACK='1')", "environment.fallback", "1"),
    ("import os\nos.environ |= {'PYTORCH_ENABLE_MPS_FALLBACK': '1'}", "environment.fallback", "1"),
    ("import os\nos.putenv('PYTORCH_ENABLE_MPS_FALLBACK', '1')", "environment.fallback", "1"),
    ("import os\nos.environ.setdefault('PYTORCH_ENABLE_MPS_FALLBACK', '1')", "environment.fallback", "1"),
    ("from accelerate import Accelerator\nAccelerator(mixed_precision='fp16')", "precision.mixed", "fp16"),
    ("import lightning as L\nL.Trainer(precision='16-mixed')", "precision.mixed", "fp16"),
    ("import pytorch_lightning as pl\npl.Trainer(precision=16)", "precision.mixed", "fp16"),
]  # fmt: skip


@pytest.mark.parametrize(("code", "name", "value"), SPELLINGS, ids=[f"{n}:{c.splitlines()[-1][:40]}" for c, n, _ in SPELLINGS])
def test_spellings(code: str, name: str, value: Any) -> None:
    """Each spelling of a setting is the same setting."""
    setting = setting_of(plan_of(HEAD + code), name)

    assert setting.is_known
    assert setting.constant == value


@pytest.mark.parametrize(
    "code",
    [
        "TrainingArguments('o', fp16=flag())",
        "TrainingArguments('o', **load())",
        "(a,) = HfArgumentParser(TrainingArguments).parse_args_into_dataclasses()\nTrainer(args=a)",
    ],
)
def test_what_comes_from_elsewhere_is_no_default(code: str) -> None:
    """An unknown argument, unknown keywords and the command line leave a setting unknown, not at its default."""
    setting = plan_of(HEAD + code).get("precision.mixed")

    assert setting is None or not isinstance(setting.value, Known)


def test_a_seldom_changed_default_counts_for_a_command_line() -> None:
    """What few command lines change has its default, weakly, though the command line isn't known; unknown keywords leave it open."""
    parsed = plan_of(PARSER + "(a,) = HfArgumentParser(TrainingArguments).parse_args_into_dataclasses()\nTrainer(args=a)").get(
        "device.cpu_only"
    )
    loaded = plan_of(HEAD + "TrainingArguments('o', **load())").get("device.cpu_only")

    assert parsed is not None
    assert isinstance(parsed.value, Known)
    assert (parsed.value.value, parsed.value.weak) == (False, True)
    assert loaded is None or not isinstance(loaded.value, Known)


def test_defaults_go_by_version() -> None:
    """The default optimizer is what the Target's versions take."""
    code = HEAD + "TrainingArguments('o')"

    assert setting_of(plan_of(code, transformers="4.50"), "optimizer.name").constant == "adamw_torch"
    assert setting_of(plan_of(code, transformers="4.30"), "optimizer.name").constant == "adamw_hf"


def test_a_setting_knows_where_it_is_written_and_where_its_value_comes_from() -> None:
    """`batch_size = 16` two lines above is the origin, the keyword is the place."""
    evidence = evidence_of(HEAD + "batch_size = 16\nargs = TrainingArguments('o', per_device_train_batch_size=batch_size)")
    setting = setting_of(evidence.plans[0], "batch.train")
    text = evidence.document.text
    assert setting.span is not None
    assert setting.origin is not None

    assert text[setting.span.start : setting.span.end] == "per_device_train_batch_size=batch_size"
    assert text[setting.origin.start : setting.origin.end] == "16"


def test_a_trainer_gathers_what_it_is_given() -> None:
    """Arguments, collator, model and the tokenizer calls of the file belong to one run; another Trainer has its own."""
    code = HEAD + textwrap.dedent(
        """
        tok = AutoTokenizer.from_pretrained("t5-small")
        def prepare(batch):
            return tok(batch["text"], max_length=256, truncation=True)
        data = load().map(prepare, batched=True)
        a = TrainingArguments("a", per_device_train_batch_size=4)
        b = TrainingArguments("b", per_device_train_batch_size=8)
        first = Trainer(AutoModel.from_pretrained("one"), a, data_collator=DataCollatorWithPadding(tok))
        second = Trainer(model=AutoModel.from_pretrained("two"), args=b, compute_metrics=lambda p: {})
        """
    )
    first, second = (plan for plan in evidence_of(code).plans if plan.kind == "trainer")

    assert [p.constant("batch.train") for p in (first, second)] == [4, 8]
    assert [p.constant("model.name") for p in (first, second)] == ["one", "two"]
    assert [p.constant("evaluation.metrics") for p in (first, second)] == [False, True]
    assert first.constant("length.source") == 256
    assert first.constant("padding.strategy") == "longest"


def test_a_training_loop_is_a_run() -> None:
    """The loader that the loop iterates, through enumerate and tqdm, gives its batch size."""
    code = HEAD + textwrap.dedent(
        """
        from torch.utils.data import DataLoader
        from tqdm import tqdm
        train, test = DataLoader(a, batch_size=64, shuffle=True), DataLoader(b, batch_size=256)
        for epoch in range(3):
            for i, batch in enumerate(tqdm(train)):
                loss = model(batch)
                loss.backward()
        """
    )
    plan = evidence_of(code).plans[0]

    assert plan.kind == "loop"
    assert plan.constant("batch.train") == 64


SHELL = """\
export PYTORCH_MPS_HIGH_WATERMARK_RATIO=0.0
BATCH=8
accelerate launch --mixed_precision fp16 \\
  train.py --model_name_or_path t5-small --per_device_train_batch_size "$BATCH" --fp16 --no_dataloader_pin_memory
"""


FABRIC = "from lightning.fabric import Fabric\nfrom lightning.pytorch.strategies import FSDPStrategy\n"


@pytest.mark.parametrize(
    ("written", "name", "value"),
    [
        ("strategy='ddp'", "distributed.strategy", "ddp"),
        ("strategy=FSDPStrategy(cpu_offload=True)", "distributed.strategy", "fsdp"),
        ("strategy=make()", "distributed.strategy", None),
        ("devices=[6]", "distributed.devices", 7),
        ("devices=[0, 1]", "distributed.devices", 2),
        ("devices='0,3'", "distributed.devices", 4),
        ("devices='2'", "distributed.devices", 2),
        ("devices='auto'", "distributed.devices", "auto"),
        ("devices=[first]", "distributed.devices", None),
    ],
)
def test_fabric_says_its_strategy_and_its_devices(written: str, name: str, value: Any) -> None:
    """An object stands for its class, and numbers of devices for a machine that has them all; what is not known says nothing."""
    setting = setting_of(plan_of(f"{FABRIC}fabric = Fabric({written})\n"), name)

    assert (setting.constant if setting.is_known else None) == value


@pytest.mark.parametrize(
    ("cut", "length"),
    [
        ("ids[:384]", 384),
        ("ids[:LONGEST]", 1024),
        ("ids[:longest]", 256),
        ("ids[:given]", 64),
        ("ids[1:384]", None),
        ("ids[:-1]", None),
    ],
)
def test_a_mapped_function_that_cuts_tokens_bounds_them(cut: str, length: int | None) -> None:
    """The number counts where it is written in the function, or given to a name there or around it; `map` gives the row alone."""
    code = f"""
        from transformers import Trainer
        LONGEST = 1024
        def preprocess(row, given=64):
            longest = 256
            input_ids = tokenizer.encode(row["text"])
            return {{"input_ids": {cut.replace("ids", "input_ids")}}}
        trainer = Trainer(model=model, train_dataset=data.map(preprocess))
        """

    assert plan_of(code).constant("length.bound") == length


@pytest.mark.parametrize(
    ("given", "length"),
    [
        ('args=SFTConfig("out")', 1024),
        ('args=TrainingArguments("out")', 1024),
        ('args=SFTConfig("out", max_length=512)', 512),
        ('args=SFTConfig("out", max_length=None)', None),
        ('args=TrainingArguments("out"), max_seq_length=256', 256),
        ("model_init_kwargs={}", 1024),
    ],
)
def test_supervised_fine_tuning_cuts_to_its_own_length(given: str, length: int | None) -> None:
    """TRL makes an SFTConfig of plain TrainingArguments, and of none; None is no limit."""
    code = f"""
        from transformers import TrainingArguments
        from trl import SFTConfig, SFTTrainer
        trainer = SFTTrainer("gpt2", {given}, train_dataset=data)
        """

    assert plan_of(code).constant("length.bound") == length


def test_shell_scripts_speak_the_same_settings() -> None:
    """Exported variables, a launcher's flags and a script's flags, variables of the same file put in."""
    plans = evidence_of(SHELL, "run.sh").plans
    by_name = {name: setting for plan in plans for name in plan.settings if (setting := plan.get(name)) is not None}

    assert by_name["environment.high_watermark"].constant == 0.0
    assert by_name["precision.mixed"].constant == "fp16"


def test_notebook_shell_lines_and_magics_are_settings() -> None:
    """`%env` sets a variable of the kernel; `!python x.py --fp16` is a run with a flag."""
    from tests.notebooks import notebook

    data = notebook("%env PYTORCH_ENABLE_MPS_FALLBACK=1\n", "!python run.py --model_name_or_path x --fp16 True\n")
    document = read("n.ipynb", data)
    plans = gather_evidence(document, document.python, default_target()).plans

    assert plans[0].kind == "command"
    assert plans[0].constant("precision.mixed") == "fp16"
    assert plans[0].constant("environment.fallback") == "1"


def test_dotenv_files() -> None:
    """Quotes, comments and `export` are read as shells and dotenv read them."""
    plan = plan_of("# off\nexport PYTORCH_MPS_HIGH_WATERMARK_RATIO = '0.7' # why\nX=1\n", ".env")

    assert plan.constant("environment.high_watermark") == 0.7


def test_every_dialect_speaks_the_vocabulary() -> None:
    """Dialects load, and each canonical setting has a title and a type."""
    assert {dialect.name for dialect in load_dialects().all} >= {"transformers", "torch", "accelerate", "lightning"}
    assert all(kind.title for kind in load_vocabulary().values())


def test_quotes_are_those_of_the_file() -> None:
    """A text is written with the quotes that the file uses."""
    assert render("no", "a = 'x'") == "'no'"
    assert render("no", 'a = "x"') == '"no"'
    assert render('a"b', 'x = "y"') == '"a\\"b"'


@pytest.mark.parametrize(("name", "setting"), [("fp16", "precision.mixed"), ("dataloader_pin_memory", "loader.pin_memory")])
def test_reading_an_attribute_leaves_the_setting_as_it_is(name: str, setting: str) -> None:
    """`print(args.fp16)` says nothing about fp16; `args.fp16 = x` does."""
    code = HEAD + "args = TrainingArguments('out', fp16=True)\n"
    assert setting_of(plan_of(f"{code}print(args.{name})\n"), setting).value.value == setting_of(plan_of(code), setting).value.value  # type: ignore[union-attr]
    assert not setting_of(plan_of(f"{code}args.{name} = input()\n"), setting).is_known


def test_an_adapter_of_one_trainer_is_no_part_of_another() -> None:
    """Two Trainers in a file, one with LoRA: the other trains without it."""
    evidence = evidence_of(
        HEAD
        + "from peft import LoraConfig\n"
        + "first = SFTTrainer('gpt2', args=SFTConfig('a'), peft_config=LoraConfig(lora_dropout=0.1))\n"
        + "second = SFTTrainer('gpt2', args=SFTConfig('b'))\n"
    )
    dropouts = [plan.constant("model.lora_dropout") for plan in evidence.plans if plan.kind == "trainer"]
    assert dropouts == [0.1, None]
