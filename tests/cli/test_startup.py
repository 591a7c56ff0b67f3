"""What starting costs: modules are loaded only by a file that needs them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from mpslint.core import knowledge
from mpslint.rule.frameworks import compiled_words

ROOT = Path(__file__).parents[2]
SCRIPT = """
import sys
import mpslint.core.knowledge
mpslint.core.knowledge.shipped_words = lambda: {words!r}
sys.argv = ["mpslint", *{arguments!r}]
from mpslint.__main__ import main
code = 0
try:
    main()
except SystemExit as done:
    code = done.code
print("exit", code)
print("loaded", *sys.modules)
"""
HEAVY = {
    "libcst",
    "rich",
    "nbformat",
    "jsonschema",
    "concurrent.futures.process",
    "importlib.metadata",
    "torch",
    "transformers",
}
ENGINE = {"yaml", "mpslint.engine", "mpslint.rule.judge", "mpslint.rule.rule", "mpslint.program.evaluator", "mpslint.settings.dialect"}
FP16 = "from transformers import TrainingArguments\nargs = TrainingArguments('out', fp16=True, dataloader_pin_memory=False)\n"


def loaded(*arguments: str, cwd: Path) -> tuple[str, set[str]]:
    """Return how a command exits, and the modules that it has loaded by then: as installed, where the first words come with the wheel."""
    script = SCRIPT.format(words=compiled_words(), arguments=arguments)
    env = {name: value for name, value in os.environ.items() if name != "GITHUB_ACTIONS"} | {"PYTHONPATH": str(ROOT)}
    # The words are too long for an argument of a command.
    done = subprocess.run([sys.executable, "-"], input=script, cwd=cwd, env=env, capture_output=True, text=True, check=True)
    *_, code, modules = done.stdout.strip().splitlines()
    return code, set(modules.split())


def test_version_loads_next_to_nothing(tmp_path: Path) -> None:
    """Neither the command line nor any library."""
    code, modules = loaded("--version", cwd=tmp_path)

    assert code == "exit 0"
    assert not modules & (HEAVY | ENGINE | {"click", "mpslint.cli", "mpslint.session.session", "mpslint.source.reader"})


def test_a_file_that_names_no_framework_loads_no_rules(tmp_path: Path) -> None:
    """Neither the rules nor what judges by them."""
    (tmp_path / "plain.py").write_text("import os\nprint(os.getcwd())\n")
    code, modules = loaded("check", "plain.py", cwd=tmp_path)

    assert code == "exit 0"
    assert not modules & (HEAVY | ENGINE)


@pytest.mark.parametrize(("text", "code"), [(FP16.replace("True", "False"), "exit 0"), (FP16, "exit 1")])
def test_a_file_that_trains_loads_no_lossless_tree(tmp_path: Path, text: str, code: str) -> None:
    """LibCST is for the syntax of a newer Python; rich is for terminals."""
    (tmp_path / "train.py").write_text(text)
    found, modules = loaded("check", "train.py", cwd=tmp_path)

    assert found == code
    assert not modules & HEAVY


@pytest.mark.skipif(knowledge.rules_folder() != ROOT / "rules", reason="mpslint is installed from a wheel")
def test_a_checkout_has_no_words_of_a_wheel() -> None:
    """It reads them from the rules as they are now."""
    assert knowledge.shipped_words() == ()
