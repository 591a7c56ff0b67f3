"""What libraries take from a `.env` file, and defaults that they change, in a plan."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from mpslint.cli import group

HEAD = "from transformers import Trainer, TrainingArguments\n"
USE = 'Trainer(m, TrainingArguments("o", per_device_train_batch_size={bs})).train()\n'
SETTINGS = "from pydantic import Field\nfrom pydantic_settings import BaseSettings\nclass S(BaseSettings):\n    model_config = {'env_file': '.env'}\n"
COMMAND = "import click\n@click.command({command})\n@click.option('--bs', {option})\ndef main(bs):\n    {use}main()\n"
TYPER = f"import typer\ndef main(bs: int = typer.Option(9, clamp=True, max=2)):\n    {USE.format(bs='bs')}typer.run(main)\n"
BY_MAP = "context_settings={'default_map': {'bs': 32}}"
CASES = {
    "environs": ("from environs import Env\nenv = Env()\nenv.read_env()\n" + USE.format(bs="env.int('BS', 8)"), "32"),
    "environs, unread": ("from environs import Env\nenv = Env()\n" + USE.format(bs="env.int('BS', 8)"), "8 ~"),
    "decouple": ("from decouple import config\n" + USE.format(bs="config('BS', default=8, cast=int)"), "32 ~"),
    "pydantic": (f"{SETTINGS}    bs: int = 4\n{USE.format(bs='S().bs')}", "32 ~"),
    "pydantic, by another name": (f"{SETTINGS}    bs: int = Field(default=4, validation_alias='size')\n{USE.format(bs='S().bs')}", "64 ~"),
    "click": (COMMAND.format(command="", option="default=4", use=USE.format(bs="bs")), "4 ~"),
    "click, mapped": (COMMAND.format(command=BY_MAP, option="default=4", use=USE.format(bs="bs")), "not known"),
    "click, clamped": (
        COMMAND.format(command="", option="default=64, type=click.IntRange(1, 8, clamp=True)", use=USE.format(bs="bs")),
        "8 ~",
    ),
    "typer, clamped": (TYPER, "not known"),
}


@pytest.mark.parametrize("case", CASES)
def test_a_default_is_what_the_library_makes_of_it(case: str, tmp_path: Path) -> None:
    """A value that the library changes isn't told as the one that is written."""
    text, expected = CASES[case]
    (tmp_path / ".git").mkdir()
    (tmp_path / ".env").write_text("BS=32\nsize=64\n")
    (tmp_path / "train.py").write_text(HEAD + text)
    said = CliRunner().invoke(group, ["plan", str(tmp_path / "train.py")]).output
    (line,) = [one for one in said.splitlines() if one.startswith("batch.train ")]

    assert line.removeprefix("batch.train").strip().startswith(f"{expected} ")
