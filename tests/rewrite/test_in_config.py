"""Values of configuration files and launch lines are mended where they are written, however they are written."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from mpslint.cli.fix import command

SCRIPT = """import argparse

import torch
from accelerate import Accelerator
from transformers import HfArgumentParser, Trainer, TrainingArguments

parser = argparse.ArgumentParser()
parser.add_argument("--device", "-d", default="mps")
parser.add_argument("--mixed_precision", "-m", default="no")
args = parser.parse_args()
accelerator = Accelerator(mixed_precision=args.mixed_precision)
model = torch.nn.Linear(2, 2).to(args.device)
"""
TRAINER = """from transformers import HfArgumentParser, Trainer, TrainingArguments

(args,) = HfArgumentParser(TrainingArguments).parse_args_into_dataclasses()
Trainer(None, args).train()
"""
LINES = {
    "python train.py --mixed_precision fp16": "python train.py --mixed_precision no",
    "python train.py --mixed_precision=fp16 -d mps": "python train.py --mixed_precision=no -d mps",
    "python train.py -m fp16": "python train.py -m no",
    "python train.py -mfp16": "python train.py -mno",
    "python train.py --device=cuda": "python train.py --device=mps",
    "python train.py -d cuda:0": "python train.py -d mps",
    "python trainer.py --fp16 --seed 1": "python trainer.py --seed 1",
    "python trainer.py --seed 1 --fp16": "python trainer.py --seed 1",
    "python trainer.py \\\n  --fp16 \\\n  --seed 1": "python trainer.py \\\n  --seed 1",
    "python trainer.py \\\n  --seed 1 \\\n  --fp16": "python trainer.py \\\n  --seed 1",
    "python trainer.py --fp16 True": "python trainer.py --fp16 False",
}


@pytest.mark.parametrize("line", LINES)
def test_a_flag_is_mended_as_it_is_written(line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a blank, `=` or nothing before the value, long or short; a switch that is to be off is taken out."""
    monkeypatch.chdir(tmp_path)
    Path("train.py").write_text(SCRIPT)
    Path("trainer.py").write_text(TRAINER)
    Path("run.sh").write_text(f"{line}\necho done\n")

    CliRunner().invoke(command, [".", "--isolated", "--unsafe", "--apply", "--select", "MPS101,MPS501"])

    assert Path("run.sh").read_text() == f"{LINES[line]}\necho done\n"


def test_a_device_in_yaml_is_mended_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only when unsafe fixes are asked for: other machines may read the file. Its comment stays."""
    monkeypatch.chdir(tmp_path)
    Path("base.yaml").write_text("device: cuda:0  # where\n")
    Path("train.py").write_text('import torch\nimport yaml\n\ncfg = yaml.safe_load(open("base.yaml"))\ntorch.ones(2).to(cfg["device"])\n')

    CliRunner().invoke(command, [".", "--isolated", "--apply"])
    kept = Path("base.yaml").read_text()
    CliRunner().invoke(command, [".", "--isolated", "--apply", "--unsafe"])

    assert (kept, Path("base.yaml").read_text()) == ("device: cuda:0  # where\n", "device: mps  # where\n")


def test_a_fix_that_a_table_holds_is_looked_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And so is one that is the value of another setting: the file once said `optim: {'table': 'optimizers'}`."""
    monkeypatch.chdir(tmp_path)
    Path("base.yaml").write_text("optim: paged_adamw_8bit\nname: run\n")
    Path("train.py").write_text(
        "import yaml\nfrom transformers import Trainer, TrainingArguments\n\n"
        'cfg = yaml.safe_load(open("base.yaml"))\nTrainer(model, TrainingArguments("out", optim=cfg["optim"])).train()\n'
    )

    shown = CliRunner().invoke(command, [".", "--isolated", "--unsafe", "--apply", "--select", "MPS507"])

    assert Path("base.yaml").read_text() == "optim: adamw_torch\nname: run\n"
    assert "adamw_torch for optim" in shown.output
