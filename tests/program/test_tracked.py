"""The configuration that an experiment tracker keeps: what `wandb.config` holds."""

from __future__ import annotations

import pytest

import mpslint

TRAINER = (
    "import lightning.pytorch as pl\nimport wandb\n\n{setup}\ntrainer = pl.Trainer(max_epochs=3, strategy={read})\ntrainer.fit(model)\n"
)
SWEPT = """\
import lightning.pytorch as pl
import wandb


def train():
    wandb.init()
    hparams = wandb.config
    trainer = pl.Trainer(strategy=hparams.strategy, precision=hparams.precision)
    trainer.fit(model)


sweep = {"method": "grid", "parameters": {"strategy": STRATEGY, "precision": {"value": 32}, "lr": {"min": 0.1, "max": 1}}}
wandb.agent(wandb.sweep(sweep, project="x"), function=train)
"""


def rules(text: str) -> list[str]:
    return [one.rule for one in mpslint.check(text).findings if one.rule == "MPS516"]


@pytest.mark.parametrize(
    ("setup", "read"),
    [
        ('wandb.init(config={"strategy": "ddp"})', "wandb.config.strategy"),
        ('wandb.init(config=dict(strategy="ddp"))\ncfg = wandb.config', 'cfg["strategy"]'),
        ('run = wandb.init(project="x", config={"strategy": "ddp"})', "run.config.strategy"),
        ('run = wandb.init(project="x", config={"strategy": "ddp"})', 'run.config["strategy"]'),
        ('wandb.init()\nwandb.config.strategy = "ddp"', "wandb.config.strategy"),
        ('wandb.init()\nwandb.config.update({"strategy": "ddp"})', 'wandb.config.get("strategy", "auto")'),
        ('wandb.init()\nwandb.config["strategy"] = "ddp"', "wandb.config.strategy"),
        ('class C:\n    strategy = "ddp"\nwandb.init(config={"strategy": C.strategy})', "wandb.config.strategy"),
    ],
)
def test_what_the_tracker_is_given_is_read_by_its_name(setup: str, read: str) -> None:
    assert rules(TRAINER.format(setup=setup, read=read)) == ["MPS516"]


@pytest.mark.parametrize(
    ("setup", "read"),
    [
        ('wandb.init(config={"strategy": "auto"})', "wandb.config.strategy"),
        ("wandb.init(config=settings)", "wandb.config.strategy"),
        ('wandb.init(config={"strategy": "ddp"})\nwandb.config.strategy = "auto"', "wandb.config.strategy"),
        ('wandb.init(config={"strategy": "ddp"})', "config.strategy"),
    ],
)
def test_other_values_are_not(setup: str, read: str) -> None:
    assert rules(TRAINER.format(setup=setup, read=read)) == []


@pytest.mark.parametrize("told", ['{"value": "ddp"}', '{"values": ["ddp"]}', '{"values": ["ddp", "ddp_spawn"]}'])
def test_a_search_gives_its_runs_their_values(told: str) -> None:
    assert rules(SWEPT.replace("STRATEGY", told)) == ["MPS516"]


@pytest.mark.parametrize("told", ['{"value": "auto"}', '{"values": names}', '{"distribution": "categorical"}', "told"])
def test_what_a_search_draws_is_not_known(told: str) -> None:
    assert rules(SWEPT.replace("STRATEGY", told)) == []


def test_a_search_decides_before_what_a_run_gives() -> None:
    assert rules(SWEPT.replace("STRATEGY", '{"value": "auto"}').replace("init()", 'init(config={"strategy": "ddp"})')) == []
