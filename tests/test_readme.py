"""The README cannot lie: its commands are run and its output is compared; what is generated is generated again.

`MPSLINT_UPDATE=1 python -m pytest tests/test_readme.py` writes the outputs and the generated files anew.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from mpslint.core.knowledge import parse_toml
from mpslint.core.links import DOCUMENTATION, HOME
from mpslint.rule.loading import load_rules
from tests.warm_command import mpslint

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"
UPDATE = os.environ.get("MPSLINT_UPDATE") == "1"
BLOCK = re.compile(r"```console\n(.*?)```", re.DOTALL)


def command_after(mark: str, language: str = "") -> str:
    """Return what stands in the code block that follows a mark in the README."""
    found = re.search(rf"<!-- {mark} -->\n```{language}\n(.*?)\n```", README.read_text(encoding="utf-8"), re.DOTALL)
    assert found is not None, f"README.md has no <!-- {mark} -->"
    return found.group(1)


@pytest.fixture(scope="session")
def fresh(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, subprocess.CompletedProcess[str]]:
    """A copy of what git tracks, with the README's first command run in it: a wheel is built and installed in an empty environment."""
    copy = tmp_path_factory.mktemp("clone") / "mpslint"
    copy_of_the_checkout(copy)
    command = command_after("first command").replace("python3 -m venv", f"{sys.executable} -m venv")
    done = subprocess.run(["bash", "-c", command], cwd=copy, capture_output=True, text=True, env=environment(copy))
    return copy, done


def copy_of_the_checkout(copy: Path) -> None:
    """Copy what git tracks, and what it would, into a new folder."""
    listed = subprocess.run(["git", "ls-files", "-co", "--exclude-standard", "-z"], cwd=ROOT, capture_output=True, text=True)
    names = [name for name in listed.stdout.split("\0") if name and (ROOT / name).is_file()]
    if not names:
        pytest.skip("not a git checkout")
    for name in names:
        (copy / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, copy / name)


def environment(copy: Path) -> dict[str, str]:
    """Return the environment of a newcomer: no project of ours on the path, no colours, the fresh copy's commands first."""
    left_out = ("PYTHONPATH", "VIRTUAL_ENV", "CONDA_PREFIX", "FORCE_COLOR")
    kept = {key: value for key, value in os.environ.items() if key not in left_out}
    return {**kept, "PATH": f"{copy / '.venv' / 'bin'}{os.pathsep}{kept['PATH']}", "COLUMNS": "100", "PIP_COMPILE": "0"}


def test_the_first_command_installs_and_reports(fresh: tuple[Path, subprocess.CompletedProcess[str]]) -> None:
    """From the wheel, rules included, with the exit code for findings."""
    copy, done = fresh

    assert done.returncode == 1, done.stderr
    assert "samples/summarization.ipynb:cell" in done.stdout
    where = subprocess.run(
        ["python", "-c", "import mpslint.core.knowledge as k; print(k.rules_folder())"],
        cwd="/",
        capture_output=True,
        text=True,
        env=environment(copy),
    )
    assert "site-packages" in where.stdout


def test_the_commands_for_own_files_do_what_stands_beside_them(
    fresh: tuple[Path, subprocess.CompletedProcess[str]], tmp_path: Path
) -> None:
    """On a script, a log and a notebook of a run that died."""
    copy, _ = fresh
    died = "RuntimeError: MPS backend out of memory (MPS allocated: 4.20 GiB, other allocations: 43.49 GiB, max allowed: 47.74 GiB)"
    error = {"output_type": "error", "ename": "RuntimeError", "evalue": died.partition(": ")[2], "traceback": [died]}
    cell = {"cell_type": "code", "execution_count": 1, "metadata": {}, "outputs": [error], "source": ["trainer.train()"]}
    (tmp_path / "train.py").write_text(
        "import torch\ndevice = 'cuda' if torch.cuda.is_available() else 'cpu'\nx = torch.ones(2).to(device)\n"
    )
    (tmp_path / "train.log").write_text(f"Traceback (most recent call last):\n{died}\n")
    (tmp_path / "train.ipynb").write_text(json.dumps({"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 4}))
    shown = ["MPS503", "+device", "Explained: Memory grew", "Explained: Memory grew"]
    lines = command_after("own files").splitlines()

    assert len(lines) == len(shown)
    for line, words in zip(lines, shown, strict=True):
        done = subprocess.run(["bash", "-c", line], cwd=tmp_path, capture_output=True, text=True, env=environment(copy))
        assert words in done.stdout, line


def test_the_readme_is_read_in_five_minutes() -> None:
    """It has no room for everything."""
    assert len(README.read_text(encoding="utf-8").splitlines()) <= 200


def test_every_command_of_the_readme_prints_what_it_shows(fresh: tuple[Path, subprocess.CompletedProcess[str]]) -> None:
    """Each `$ command` of a console block is run, and what follows is what it prints."""
    copy, _ = fresh
    text = README.read_text(encoding="utf-8")
    renewed = BLOCK.sub(lambda block: "```console\n" + _run_block(block.group(1), copy) + "```", text)
    if UPDATE:
        README.write_text(renewed, encoding="utf-8")

    assert renewed == text


def _run_block(block: str, copy: Path) -> str:
    """Return a console block with its commands' real output; a line `...` stands for lines that are not shown."""
    shown = ""
    for part in re.split(r"^(?=\$ )", block, flags=re.MULTILINE):
        if not part.startswith("$ "):
            continue
        command, _, expected = part.partition("\n")
        done = subprocess.run(["bash", "-c", command[2:]], cwd=copy, capture_output=True, text=True, env=environment(copy))
        output = "".join(line.rstrip() + "\n" for line in (done.stdout + done.stderr).splitlines())
        if "\n...\n" in f"\n{expected}":
            output = _abridged(output, expected)
        shown += f"{command}\n{output}"
    return shown


def _abridged(output: str, expected: str) -> str:
    """Return the output with the lines left out that `...` stands for; the whole output when what is shown is not in it."""
    parts = re.split(r"^\.\.\.\n", expected, flags=re.MULTILINE)
    position = 0
    for part in parts:
        found = output.find(part, position)
        if found < 0:
            return output
        position = found + len(part)
    return expected


def test_the_configuration_of_the_readme_is_taken(tmp_path: Path) -> None:
    """Every key and value of it."""
    (tmp_path / "pyproject.toml").write_text(command_after("configuration", "toml"))
    (tmp_path / "train.py").write_text("x = 1\n")
    done = mpslint(["config", "train.py"], tmp_path, os.environ)

    assert b"MPS202" in done.stdout


def test_the_links_of_the_readme_lead_somewhere() -> None:
    """To files of this repository, by addresses that the package's page can follow too."""
    links = re.findall(r"\]\(([^)#\s]+)\)", README.read_text(encoding="utf-8"))
    ours = [link.split("/main/", 1)[1] for link in links if "/main/" in link and "mpslint" in link]

    assert len(ours) > 5
    assert [link for link in ours if not (ROOT / link).exists()] == []
    assert [link for link in links if not link.startswith("https://")] == []


def test_every_address_of_ours_begins_alike() -> None:
    """`mpslint/core/links.py` is the one place; what TOML and Markdown repeat agrees with it."""
    urls = parse_toml((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["urls"]
    readme = README.read_text(encoding="utf-8")

    assert all(url.startswith((HOME, DOCUMENTATION)) for url in urls.values())
    assert DOCUMENTATION in readme
    assert "OWNER" not in readme
    assert ("More than 150 rules" in readme) == (len(load_rules()) > 150)


def test_the_ten_findings_that_matter_most_are_rules() -> None:
    """Each that the table names exists."""
    named = set(re.findall(r"MPS\d{3}", README.read_text(encoding="utf-8")))

    assert named - {rule.id for rule in load_rules()} == set()


def test_the_rule_index_is_not_stale() -> None:
    """rules/README.md is what `mpslint rules --format markdown` prints."""
    text = mpslint(["rules", "--format", "markdown"], ROOT, os.environ).stdout.decode()
    index = ROOT / "rules" / "README.md"
    if UPDATE:
        index.write_text(text, encoding="utf-8")

    assert index.read_text(encoding="utf-8") == text


def test_the_picture_is_not_stale(fresh: tuple[Path, subprocess.CompletedProcess[str]]) -> None:
    """docs/check.svg is what a terminal shows."""
    copy, _ = fresh
    code = (
        "import io, sys\n"
        "from mpslint.report.terminal import Terminal\n"
        "from mpslint.report.text import print_report\n"
        "from mpslint.session.runs import check_paths\nfrom mpslint.session.session import Options\n"
        "from mpslint.session.view import view\n"
        "from rich.console import Console\n"
        "out = Console(record=True, width=112, file=io.StringIO(), force_terminal=True, color_system='truecolor', legacy_windows=False,\n"
        "              highlight=False, soft_wrap=True, emoji=False, markup=False)\n"
        "print_report(Terminal(sys.stdout, out, 112), [view(r) for r in check_paths(['samples/summarization.ipynb'], Options())])\n"
        "sys.stdout.write(out.export_svg(title='mpslint check samples/summarization.ipynb', unique_id='mpslint'))\n"
    )
    done = subprocess.run(["python", "-c", code], cwd=copy, capture_output=True, text=True, check=True, env=environment(copy))
    picture = ROOT / "docs" / "check.svg"
    if UPDATE:
        picture.parent.mkdir(exist_ok=True)
        picture.write_text(done.stdout, encoding="utf-8")

    assert _words(picture.read_text(encoding="utf-8")) == _words(done.stdout)


def _words(svg: str) -> list[str]:
    """Return the words that a picture shows; how it draws them is the library's matter."""
    return re.sub(r"<[^>]*>", " ", svg.split("</style>")[-1]).split()


def test_ci_runs_the_readmes_test_command() -> None:
    """The script reads the command from the README, so they cannot differ: its own line prints just that command."""
    script = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    reading = next(line for line in script.splitlines() if line.startswith("test_command="))
    done = subprocess.run(["bash", "-euc", f'{reading}; echo "$test_command"'], cwd=ROOT, capture_output=True, text=True, check=True)

    assert done.stdout == command_after("test command") + "\n"
    assert "-m pytest" in done.stdout
