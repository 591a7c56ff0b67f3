"""The command line says the same with a cache, without one, and from several processes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from mpslint.cli import group
from mpslint.session.cache import cache_folder
from tests import warm_command
from tests.session.cached import forget


def command(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[bytes]:
    """Run the command line."""
    return warm_command.mpslint(arguments, cwd, os.environ)


def test_the_command_line_keeps_a_cache(project: Path, monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Warm, it says the same and exits the same; `clean` takes the cache away; `--no-cache` writes none; the project holds none of it."""
    home = tmp_path_factory.mktemp("home")
    monkeypatch.delenv("MPSLINT_CACHE_DIR")
    monkeypatch.setenv("XDG_CACHE_HOME", str(home))
    before = sorted(os.listdir(project))
    cold = command("check", ".", cwd=project)
    folder = cache_folder(project).path
    assert folder.is_relative_to(home / "mpslint")
    assert (folder / "CACHEDIR.TAG").read_text().startswith("Signature: 8a477f597d28d172789f06886806bc55")
    warm = command("check", ".", cwd=project)
    assert (warm.stdout, warm.stderr, warm.returncode) == (cold.stdout, cold.stderr, cold.returncode)
    assert cold.returncode == 1
    assert sorted(os.listdir(project)) == before

    done = command("clean", cwd=project)
    assert done.returncode == 0
    assert os.listdir(home) == []
    uncached = command("check", ".", "--no-cache", cwd=project)
    assert (uncached.stdout, uncached.returncode) == (cold.stdout, cold.returncode)
    assert os.listdir(home) == []


def test_two_processes_at_once_do_not_disturb_each_other(project: Path) -> None:
    """Each writes the cache whole; whoever is last is right too."""
    env = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    line = [sys.executable, "-m", "mpslint", "check", ".", "-q"]
    running = [subprocess.Popen(line, cwd=project, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for _ in range(3)]
    outputs = [process.communicate() for process in running]

    assert len(set(outputs)) == 1
    assert outputs[0][1] == ""
    assert {path.suffix for path in cache_folder(project).path.iterdir()} == {".TAG", ".json"}


@pytest.mark.parametrize("name", ["json", "text", "sarif", "github", "gitlab", "junit", "markdown"])
def test_every_format_says_the_same_from_the_cache_and_from_processes(project: Path, name: str) -> None:
    """JSON has its own, for the training plans in it; another format in between harms neither."""
    outputs = []
    for arguments in (["--no-cache"], ["--no-cache", "--jobs", "2"], [], [], ["--format", "text"], []):
        forget()
        outputs.append(CliRunner().invoke(group, ["check", ".", "--format", name, *arguments]).stdout)
    fresh, parallel, cold, warm, _, again = outputs

    assert "MPS101" in fresh
    assert fresh == parallel == cold == warm == again
    assert any(cache_folder(project).path.glob("reports-*" if name == "json" else "findings-*"))


def test_that_a_file_does_not_parse_is_remembered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One such file among thousands would have all of them read again each time; from another folder its path is written anew."""
    (tmp_path / "odd.py").write_text("import torch\nx = (\n")
    (tmp_path / "good.py").write_text("import torch\n")
    monkeypatch.chdir(tmp_path)
    arguments = ["check", "odd.py", "good.py", "--isolated", "--cache-dir", str(tmp_path / "cache")]
    first = CliRunner().invoke(group, arguments)

    monkeypatch.setattr("mpslint.session.running.graph_of", lambda *_: pytest.fail("it was read again"))
    again = CliRunner().invoke(group, arguments)

    assert "odd.py:2" in first.output
    assert (first.exit_code, first.output) == (again.exit_code, again.output)
