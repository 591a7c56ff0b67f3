"""What is compiled when a wheel is built answers as a checkout does."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

from mpslint.core.knowledge import compiled
from mpslint.rule.frameworks import compiled_words
from mpslint.rule.loading import load_rules

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder that holds the package as a wheel lays it out, with everything compiled."""
    folder = tmp_path_factory.mktemp("site")
    package = folder / "mpslint"
    shutil.copytree(ROOT / "mpslint", package, ignore=shutil.ignore_patterns("__pycache__"))
    (package / "_catalogue.py").write_text(f"from math import inf\n\nDATA = {compiled(ROOT / 'rules')!r}\n", encoding="utf-8")
    (package / "_words.py").write_text(f"DATA = {{'frameworks': {compiled_words()!r}}}\n", encoding="utf-8")
    return folder


def answers(place: Path, files: Path, *arguments: str) -> tuple[int, str]:
    """Return the exit code and the output of `mpslint` from a place."""
    return said(place, files, "from mpslint.cli import main; main()", *arguments)


def said(place: Path, files: Path, program: str, *arguments: str) -> tuple[int, str]:
    """Return the same of a program that imports mpslint from a place."""
    env = {name: value for name, value in os.environ.items() if name != "GITHUB_ACTIONS"} | {"PYTHONPATH": str(place)}
    done = subprocess.run(
        [sys.executable, "-c", program, *arguments],
        cwd=files,
        env=env,
        capture_output=True,
        text=True,
        check=False,
    )
    assert "Traceback" not in done.stderr, done.stderr
    return done.returncode, done.stdout


EACH_FILE = """
from mpslint.session.session import Options, check_file
from mpslint.report.machine import full_view, report_text
from mpslint.source.files import find_files
for found in find_files(["."]):
    print(report_text([full_view(check_file(found, Options()))]))
"""
"""Prints what is found in each file below the current folder, without the runs of the project that all of them together would be."""


def test_a_wheel_finds_what_a_checkout_finds(installed: Path, tmp_path: Path) -> None:
    """On the samples and every example: the same findings, fixes and plans."""
    shutil.copytree(ROOT / "samples", tmp_path / "samples")
    of_project = [answers(place, tmp_path, "check", "--format", "json", "--no-cache", ".") for place in (installed, ROOT)]
    for rule in load_rules():
        for number, example in enumerate(rule.examples):
            folder = tmp_path / f"{rule.id}-{number}"
            folder.mkdir()
            (folder / example.file).write_text(example.bad or example.ok, encoding="utf-8")

    of_files = [said(place, tmp_path, EACH_FILE) for place in (installed, ROOT)]

    assert of_project[0] == of_project[1]
    assert of_files[0] == of_files[1]
    assert of_files[0][1].count('"severity": "error"') > 100


@pytest.mark.parametrize("arguments", [("rules",), ("explain", "MPS101"), ("check", "--select", "fp16-mixed-precision", "x.py")])
def test_a_wheel_knows_its_rules(installed: Path, tmp_path: Path, arguments: tuple[str, ...]) -> None:
    """Whatever asks for more of a rule than its id gets it."""
    (tmp_path / "x.py").write_text("from transformers import TrainingArguments\nTrainingArguments('out', fp16=True)\n")

    assert answers(installed, tmp_path, *arguments) == answers(ROOT, tmp_path, *arguments)


def built(kind: str, folder: Path) -> Path:
    """The one file that hatchling builds."""
    subprocess.run([sys.executable, "-m", "hatchling", "build", "-t", kind, "-d", str(folder)], cwd=ROOT, check=True, capture_output=True)
    return next(folder.iterdir())


def test_a_wheel_holds_each_file_once_and_rules_compiled_only(tmp_path: Path) -> None:
    """Nothing but the package and what describes it, the schemas too, and no rule twice."""
    with zipfile.ZipFile(built("wheel", tmp_path)) as wheel:
        names = wheel.namelist()

    assert {f"mpslint/schemas/{name}" for name in ("mpslint.schema.json", "rule.schema.json")} <= set(names)
    assert len(names) == len(set(names))
    assert {name.split("/")[0].split("-")[0] for name in names} == {"mpslint"}
    assert "mpslint/_catalogue.py" in names
    assert [name for name in names if name.endswith(".data/data/share/man/man1/mpslint.1")]
    assert not [name for name in names if name.endswith((".yaml", ".ipynb", ".md"))]


def test_an_sdist_holds_all_and_runs_its_tests(tmp_path: Path) -> None:
    """Every file that git tracks is in it, nothing that npm installed is; its tests run."""
    with tarfile.open(built("sdist", tmp_path / "dist")) as sdist:
        names = {name.partition("/")[2] for name in sdist.getnames()}
        sdist.extractall(tmp_path, filter="data")
    tracked = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False).stdout.split()
    assert set(tracked) <= names
    assert not [name for name in names if "node_modules" in name]

    folder = next(path for path in tmp_path.iterdir() if path.name.startswith("mpslint-"))
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/core"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": str(folder)})

    assert done.returncode == 0, done.stdout[-2000:]
