"""docs/verify.md: its commands are ones that mpslint takes, its figures those of the tables, its Python runs."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import click
import pytest

from mpslint.cli import group
from mpslint.run.monitor import watch
from tests.verify.escapes import ESCAPES, NETWORK, PROCESSES, READS, WRITES

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "verify.md").read_text(encoding="utf-8")
COMMANDS = sorted({line.removeprefix("$ ") for line in PAGE.splitlines() if line.startswith("$ mpslint ")})


def test_the_escapes_are_those_that_are_tested() -> None:
    """The page promises what the table of escapes holds, and no more."""
    promise = re.search(r"(\d+) escapes reach nothing: (\d+) over the network, (\d+) that write, (\d+) that read, (\d+) to other", PAGE)

    assert promise is not None
    assert [int(number) for number in promise.groups()] == [len(table) for table in (ESCAPES, NETWORK, WRITES, READS, PROCESSES)]


@pytest.mark.parametrize("line", COMMANDS)
def test_every_command_is_taken(line: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each command exists and takes these options, and the files that it names are there."""
    monkeypatch.chdir(ROOT)
    _, name, *arguments = shlex.split(line)
    command = group.get_command(click.Context(group), name)

    assert command is not None
    context = command.make_context(name, [*arguments])
    files = [*context.params.get("paths", ()), *context.params.get("folders", ())]
    assert all(Path(path).exists() for path in files)


def test_every_command_line_option_is_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """No option is named in the text that no command has."""
    known = {option for name in ("verify", "plan", "fix", "run", "doctor") for option in options_of(name)}
    named = set(re.findall(r"`(?:\w+ )?(--[a-z-]+)", PAGE))

    assert len(named) > 8
    assert named <= known


def options_of(name: str) -> set[str]:
    """Return the options of a command."""
    command = group.get_command(click.Context(group), name)
    assert command is not None
    return {option for parameter in command.params for option in parameter.opts}


def test_its_figures_are_those_of_the_tables() -> None:
    """How many points were measured and how far the worst is off, as the generated table says; how many cases there are."""
    table = (ROOT / "docs" / "verify-accuracy.md").read_text(encoding="utf-8")
    points, worst = re.search(r"(\d+) points, the worst ([\d.]+) % off", table).groups()  # type: ignore[union-attr]
    off = [abs(float(number)) for number in re.findall(r"\| ([-+][\d.]+) % \|", table)]

    assert f"The peak of {points} runs" in PAGE
    assert f"the worst {worst} % off" in PAGE
    assert len(off) == int(points) >= 40
    assert max(off) == float(worst) <= 1.0
    assert f"Of {len(list((ROOT / 'tests' / 'verify' / 'cases').glob('*.py')))} scripts" in PAGE


def test_the_monitor_is_used_as_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The loop of the page, without its Trainer line, writes the CSV."""
    monkeypatch.chdir(tmp_path)
    pytest.importorskip("torch")
    code = re.search(r"```python\n(.*?)```", PAGE, re.DOTALL).group(1)  # type: ignore[union-attr]
    loop = "\n".join(line for line in code.splitlines() if not line.startswith(("trainer", "from")))
    monkeypatch.setattr("mpslint.run.monitor.mps_reader", lambda: lambda: (1, 2, 3))
    exec(compile(loop, "verify.md", "exec"), {"watch": watch, "loader": range(25)})

    assert len((tmp_path / "memory.csv").read_text().splitlines()) == 5
