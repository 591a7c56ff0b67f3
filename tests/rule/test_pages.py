"""docs/rules.md: its rule works as it says, and it names what there is."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

from mpslint.rule.reader import COMPARISONS, EXAMPLE_KEYS, FIX_KEYS, SUBJECTS
from tests.warm_command import mpslint

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "rules.md").read_text(encoding="utf-8")


def block(mark: str) -> str:
    """Return the code block after a mark."""
    found = re.search(rf"<!-- {mark} -->\n```\w+\n(.*?)```", PAGE, re.DOTALL)
    assert found is not None, mark
    return found[1]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A project with the rule of the page in a folder of its own."""
    (tmp_path / "my_rules").mkdir()
    (tmp_path / "my_rules" / "TEAM001-large-evaluation-batch.yaml").write_text(block("rule"), encoding="utf-8")
    return tmp_path


def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run mpslint in a folder."""
    done = mpslint(arguments, folder, os.environ)
    return subprocess.CompletedProcess(done.args, done.returncode, done.stdout.decode(), done.stderr.decode())


def test_the_rule_of_the_page_passes_its_own_examples(folder: Path) -> None:
    """The command prints what the page shows."""
    command, _, printed = block("test").partition("\n")
    done = run(folder, *command.removeprefix("$ mpslint ").split())

    assert (done.stdout, done.stderr, done.returncode) == (printed, "", 0)


def test_a_wrong_example_is_told(folder: Path) -> None:
    """With the file, the number of the example and what differs; the exit code is that of findings."""
    path = folder / "my_rules" / "TEAM001-large-evaluation-batch.yaml"
    path.write_text(path.read_text().replace("=32 if", "=16 if").replace('"no")\n', '"steps")\n'))
    done = run(folder, "rules", "--test", "my_rules")

    assert done.returncode == 1
    assert "TEAM001-large-evaluation-batch.yaml: example 1: the fix of bad does not give good:" in done.stdout
    assert (
        '+args = TrainingArguments("out", per_device_eval_batch_size=32 if torch.backends.mps.is_available() else 128, eval_strategy="epoch")'
        in done.stdout
    )
    assert "example 2: ok is reported: Evaluation takes 128 samples at once" in done.stdout
    assert done.stdout.endswith("1 rule, 2 examples: 2 failed.\n")


def test_the_rule_is_used_by_check_and_fix(folder: Path) -> None:
    """Once the configuration names its folder."""
    (folder / "mpslint.toml").write_text('rules = ["my_rules"]\nselect = ["TEAM"]\n')
    (folder / "train.py").write_text(block("rule").partition("bad: |\n")[2].partition("    good:")[0].replace("      ", ""))
    checked = run(folder, "check", "train.py", "--quiet")
    fixed = run(folder, "fix", "train.py", "--apply")

    assert "TEAM001 Evaluation takes 128 samples at once" in checked.stdout
    assert "=32 if torch.backends.mps.is_available() else 128," in (folder / "train.py").read_text(), fixed.stderr


def test_the_page_names_the_vocabulary() -> None:
    """Every subject but the internal one, every comparison, and every key of a fix that data can use."""
    words = set(re.findall(r"\w+", PAGE))

    assert set(SUBJECTS) - {"suppression"} <= words
    assert set(COMPARISONS) <= words
    assert FIX_KEYS - {"summary", "reason", "imports"} <= words
    assert words >= EXAMPLE_KEYS
