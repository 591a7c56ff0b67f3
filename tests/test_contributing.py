"""docs/contributing.md: its map is the code's, and its five walks work as they stand."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests import ROOT
from tools.house_map import house_map

PAGE = (ROOT / "docs" / "contributing.md").read_text(encoding="utf-8")
BLOCK = re.compile(r"^<!-- (file|run)(?:: (\S+))? -->\n```\w+\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def test_the_map_is_that_of_the_code() -> None:
    """`python tools/house_map.py` prints it."""
    shown = re.search(r"<!-- map -->\n```text\n(.*?)\n```", PAGE, re.DOTALL)

    assert shown is not None
    assert shown[1] == house_map()


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of what a checkout needs to run, with every file of the page written into it."""
    folder = tmp_path_factory.mktemp("checkout")
    for name in ("mpslint", "rules"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", folder)
    for kind, name, body in BLOCK.findall(PAGE):
        if kind == "file":
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(body, encoding="utf-8")
    return folder


@pytest.mark.parametrize(
    "block", [body for kind, _, body in BLOCK.findall(PAGE) if kind == "run"], ids=lambda body: body.split("\n")[0][2:40]
)
def test_a_walk_prints_what_the_page_shows(checkout: Path, block: str) -> None:
    """Up to `...`, where the page leaves the rest out."""
    command, _, printed = block.partition("\n")
    environment = {**os.environ, "PYTHONPATH": str(checkout), "MPSLINT_CACHE_DIR": str(checkout / "cache")}
    arguments = shlex.split(command.removeprefix("$ mpslint "))
    done = subprocess.run(
        [sys.executable, "-m", "mpslint", *arguments], cwd=checkout, env=environment, capture_output=True, text=True, check=False
    )
    shown, cut, _ = printed.partition("...\n")

    assert done.stderr == ""
    assert done.stdout.startswith(shown) if cut else done.stdout == shown, done.stdout


def test_the_examples_of_the_walks_pass(checkout: Path) -> None:
    """The rules that the page adds are tested as all rules are."""
    code = """
from pathlib import Path
from mpslint.rule.loading import load_rules
from mpslint.session.examples import example_problems
rules = load_rules()
for rule in rules:
    if rule.id in ("MPS290", "MPS291"):
        for example in rule.examples:
            print(*example_problems(rule, example, rules))
"""
    environment = {**os.environ, "PYTHONPATH": str(checkout)}
    done = subprocess.run([sys.executable, "-c", code], cwd=checkout, env=environment, capture_output=True, text=True, check=False)

    assert (done.stdout.strip(), done.stderr) == ("", "")
