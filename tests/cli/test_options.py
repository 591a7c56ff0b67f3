"""Options of the command line: what each does, as a user sees it."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from click import Context
from click.testing import CliRunner, Result

from mpslint.cli import group
from tests.cli.test_cli import BAD, CLEAN, NEWER, WORSE
from tests.notebooks import code_cell, notebook


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a bad and a clean script."""
    (tmp_path / "bad.py").write_text(WORSE)
    (tmp_path / "clean.py").write_text(CLEAN)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def mpslint(*arguments: str) -> Result:
    """Run the command line in this process."""
    return CliRunner().invoke(group, [*arguments])


def test_no_two_options_share_a_name() -> None:
    """Which of the two a shared name takes its value from differs from one click to the next (8.1: the one that wasn't given)."""
    context = Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        names = [parameter.name for parameter in command.params]
        assert len(names) == len(set(names)), name


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["bad.py"], "mpslint check bad.py"),
        (["chek", "."], "Did you mean 'check'?"),
        (["lint", "."], "Did you mean 'check'?"),
        (["xyzzy"], "Commands: check"),
    ],
)
def test_a_word_that_is_no_command_gets_a_hint(folder: Path, arguments: list[str], said: str) -> None:
    """A file, a misspelt command, another tool's command, and anything else."""
    done = mpslint(*arguments)

    assert done.exit_code == 2
    assert said in done.output


def test_the_top_help_cuts_nothing_off() -> None:
    """Each command has a line of its own, whole."""
    assert "..." not in mpslint("--help").output.split("Commands:")[1]


def test_what_a_severity_hides_is_said(folder: Path) -> None:
    """So that nobody takes a file with warnings for a clean one; `--fail-on` fails for less and hides nothing."""
    hidden = mpslint("check", "bad.py", "--severity", "error", "--no-cache", *NEWER)
    assert hidden.exit_code == 0
    assert hidden.output.startswith("Nothing of the severity asked for in 1 file. Not shown: 1 warning, 1 note (--severity).")

    shown = mpslint("check", "bad.py", "--fail-on", "error", *NEWER)
    assert shown.exit_code == 0
    assert "1 warning, 1 note in 1 file." in shown.output
    assert mpslint("check", "bad.py", "--fail-on", "warning").exit_code == 1


def test_files_are_listed(folder: Path) -> None:
    """With and without what .gitignore names."""
    (folder / ".gitignore").write_text("bad.py\n")

    assert mpslint("check", ".", "--show-files").output == "clean.py\n"
    assert mpslint("check", ".", "--show-files", "--no-respect-gitignore").output == "bad.py\nclean.py\n"


@pytest.mark.parametrize(
    ("arguments", "found"),
    [
        (["--select", "MPS3"], 0),
        (["--select", "MPS3", "--extend-select", "MPS101"], 1),
        (["--per-file-ignores", "bad*:MPS1"], 0),
        (["--per-file-ignores", "clean*:MPS1"], 1),
        (["--config", "ignore=MPS101"], 0),
        (["--config", 'ignore=["MPS101"]'], 0),
        (["--config", "severity=error"], 0),
        (["--config", "per-file-ignores.bad*=MPS101"], 0),
        (["--isolated", "--config", "select=MPS3"], 0),
    ],
)
def test_rules_are_chosen(folder: Path, arguments: list[str], found: int) -> None:
    """By options, and by single settings of a configuration."""
    done = mpslint("check", "bad.py", "--format", "json", *NEWER, *arguments)

    assert json.loads(done.output)["summary"]["warning"] == found


def test_a_setting_counts_for_more_than_the_configuration(folder: Path) -> None:
    """And `mpslint config` says where it comes from; a version is text, so that 2.10 is no 2.1."""
    (folder / "mpslint.toml").write_text('select = ["MPS3"]\n[target]\ntorch = "2.9"\nmemory = "16GB"\n')
    done = mpslint("config", "bad.py", "--config", "target.torch=2.10", "--format", "json")
    data = json.loads(done.output)

    assert data["target"]["torch"]["version"] == "2.10"
    assert data["memory_gib"]["value"] == 16


@pytest.mark.parametrize(
    ("setting", "said"),
    [("severty=error", "did you mean 'severity'"), ("severity=eror", "severity must be"), ("unsafe=yes", "not a value of TOML")],
)
def test_a_wrong_setting_is_one_line(folder: Path, setting: str, said: str) -> None:
    """That names the option."""
    done = mpslint("check", "bad.py", "--config", setting)

    assert "--config" in str(done.exception)
    assert said in str(done.exception)


@pytest.mark.parametrize("name", ["text", "json", "sarif", "github", "gitlab", "junit", "markdown", "rdjson"])
def test_statistics_come_in_every_format(folder: Path, name: str) -> None:
    """Each says the rule and how often it was found."""
    (folder / "more.py").write_text(WORSE)
    done = mpslint("check", ".", "--statistics", "--format", name)

    assert "MPS101" in done.output
    assert "2" in done.output
    assert done.exit_code == 1


def test_rdjson_counts_columns_in_bytes(folder: Path) -> None:
    """As reviewdog does; the safe fix is a suggestion, and the rule links to its page."""
    (folder / "bad.py").write_text(BAD.replace("'out'", "'größe'"))
    done = mpslint("check", "bad.py", "--format", "rdjson", "--select", "MPS101")
    (diagnostic,) = json.loads(done.output)["diagnostics"]
    line = (folder / "bad.py").read_bytes().splitlines()[diagnostic["location"]["range"]["start"]["line"] - 1]

    assert line[diagnostic["location"]["range"]["start"]["column"] - 1 :].startswith(b"fp16")
    assert diagnostic["code"]["url"].endswith("/rules/MPS101/")
    assert diagnostic["suggestions"]


def test_several_targets_share_the_cache(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder, the same files named, another torch and a severity: each is known the second time."""
    from mpslint.session import running

    runs: list[list[str]] = [["."], ["bad.py", "clean.py"], [".", "--torch", "2.9"], [".", "--severity", "error"]]
    first = [mpslint("check", *run, "--cache-dir", "cache").output for run in runs]

    def refuse(*_: Any) -> None:
        raise AssertionError("a file was checked again")

    monkeypatch.setattr(running, "check_file", refuse)
    assert [mpslint("check", *run, "--cache-dir", "cache").output for run in runs] == first
    assert list(folder.glob("cache/mpslint/findings/*/CACHEDIR.TAG"))


def test_fix_only_prints_a_line_a_fix_and_does_not_fail(folder: Path) -> None:
    """As a hook wants it: what is left is for the check to say."""
    done = mpslint("fix", "--apply", "--fix-only", "bad.py", "--select", "MPS101")

    assert done.exit_code == 0
    assert done.output.splitlines()[0] == "bad.py:2:33 MPS101 fp16-mixed-precision: fp16=not torch.backends.mps.is_available()"
    assert len(done.output.splitlines()) == 2


def test_the_execution_count_stands_beside_the_cell(folder: Path) -> None:
    """As Jupyter shows it; cells that did not run have none."""
    (folder / "n.ipynb").write_bytes(notebook(code_cell(BAD, execution_count=7)))
    (folder / "m.ipynb").write_bytes(notebook(BAD))

    assert "n.ipynb:cell 1:2:33 In [7]  warning MPS101" in mpslint("check", "n.ipynb", *NEWER).output
    assert "m.ipynb:cell 1:2:33  warning MPS101" in mpslint("check", "m.ipynb", *NEWER).output


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_shells_complete_rules(shell: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """By the script that `completion` prints, commands as well as ids and names after commas."""
    assert "_MPSLINT_COMPLETE" in mpslint("completion", shell).output
    monkeypatch.setenv("_MPSLINT_COMPLETE", "fish_complete")
    for words, last, wanted in (
        ("mpslint ch", "ch", "check"),
        ("mpslint explain MPS10", "MPS10", "MPS101"),
        ("mpslint check --select MPS1,MPS3", "MPS1,MPS3", "MPS1,MPS301"),
    ):
        done = CliRunner().invoke(
            group, prog_name="mpslint", complete_var="_MPSLINT_COMPLETE", env={"COMP_WORDS": words, "COMP_CWORD": last}
        )
        assert wanted in done.output


@pytest.mark.parametrize("output_format", ["json", "markdown"])
def test_explain_for_programs(output_format: str) -> None:
    """The rule as data or as a page; no hole of a message is left open."""
    done = mpslint("explain", "MPS301", "--format", output_format)

    assert "dynamic-padding" in done.output
    assert "{" not in done.output or output_format == "json"
    assert "..." not in mpslint("explain", "MPS301", "--all").output.split("Fix,")[0]


@pytest.mark.parametrize("rule", ["MPS101", "MPS301", "MPS503", "MPS720", "MPS801", "MPS901"])
def test_an_explanation_fits_a_screen(rule: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What happens for the versions here, why, what changes, and how to see the rest."""
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("FORCE_COLOR", "1")
    lines = re.sub(r"\x1b\[[0-9;]*m", "", mpslint("explain", rule).output).splitlines()

    assert lines[0].startswith(rule)
    assert len(lines) <= 30
    assert any(line.startswith("For macOS") for line in lines)
    assert "--all" in " ".join(lines)
