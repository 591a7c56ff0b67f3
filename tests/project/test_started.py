"""A run as the user starts it: a launch script, or a script with the words behind `--`; and what is said where it is too much to follow."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from mpslint.session import runs
from mpslint.session.session import Options

SCRIPT = """\
import argparse
from transformers import AutoModelForSequenceClassification, Trainer, TrainingArguments
from settings import NAME

def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("-b", "--batch_size", type=int, default=64)
    args = parser.parse_args()
    model = AutoModelForSequenceClassification.from_pretrained(NAME)
    Trainer(model, TrainingArguments("out", per_device_train_batch_size=args.batch_size)).train()

if __name__ == "__main__":
    main()
"""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a script that takes a batch size, what it imports, and a launch script."""
    (tmp_path / "train.py").write_text(SCRIPT)
    (tmp_path / "settings.py").write_text('NAME = "distilbert-base-uncased"\n')
    (tmp_path / "launch.sh").write_text("BATCH=4\npython train.py -b $BATCH\n")
    (tmp_path / "Makefile").write_text("BATCH ?= 16\ntrain:\n\tpython train.py -b $(BATCH)\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def planned(*words: str) -> list[str]:
    """Return the lines of `mpslint plan`."""
    from mpslint.cli.plan import command

    result = CliRunner().invoke(command, [*words[:1], "--isolated", "--written", *words[1:]])
    return [*result.output.splitlines(), *([str(result.exception)] if result.exception else [])]


def batch_in(lines: list[str]) -> list[str]:
    """Return the values of the batch size in a plan."""
    return [line.split()[1] for line in lines if line.startswith("batch.train ")]


@pytest.mark.usefixtures("project")
def test_words_behind_two_dashes_start_the_script() -> None:
    """They count for more than defaults, and the plan says where they are from."""
    lines = planned("train.py", "--", "--batch_size", "2")

    assert batch_in(lines) == ["2"]
    assert "train.py, started by <command line>:1, imports settings.py" in lines


@pytest.mark.usefixtures("project")
def test_words_start_scripts_only() -> None:
    """A launch script has its own words."""
    lines = planned("launch.sh", "--", "--batch_size", "2")

    assert "launch.sh: what follows -- are the options of one Python script" in lines


@pytest.mark.usefixtures("project")
def test_files_may_follow_two_dashes() -> None:
    """Where no file stands before them, they separate files from options as everywhere."""
    lines = planned("--", "settings.py")

    assert not any("Error" in line for line in lines)


@pytest.mark.parametrize(
    ("file", "words", "batch"), [("launch.sh", (), 4), ("Makefile", (), 16), ("train.py", ("-b", "8"), 8), ("train.py", (), 64)]
)
@pytest.mark.usefixtures("project")
def test_verify_takes_the_run_as_it_is_started(file: str, words: tuple[str, ...], batch: int) -> None:
    """The model that another file names, and the batch size that the words say."""
    from mpslint.source.files import FoundFile
    from mpslint.verify.from_plan import spec_of
    from mpslint.verify.reading import choose, runs_of
    from mpslint.verify.start import AskedFiles, read_file_within

    fixed = read_file_within(FoundFile(file), AskedFiles((file,), Options(isolated=True, started=words)))
    found = runs_of(fixed.before)
    spec = spec_of(found[choose(found, None, file)], "as written").spec

    assert (spec.train_batch, spec.model) == (batch, "distilbert-base-uncased")


@pytest.mark.usefixtures("project")
def test_a_plan_says_which_runs_were_not_followed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs for which no steps are left are named, and what the file says by itself is shown."""
    monkeypatch.setattr(runs, "MOST_STEPS", -1)

    lines = planned("train.py")

    assert any(line.startswith("Not followed, as the project takes too long: the run of train.py.") for line in lines)


@pytest.mark.usefixtures("project")
def test_a_plan_says_where_the_steps_of_a_run_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """What comes later is not known, and that is said."""
    from mpslint.program import machine

    monkeypatch.setattr(machine, "MOST_STEPS", 5)

    assert any(line.startswith("Only part of train.py was followed:") for line in planned("train.py"))
