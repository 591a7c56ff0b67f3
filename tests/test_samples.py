"""What mpslint says of each sample, word for word, in `tests/expected/`; a change of a rule or a fix shows there.

`MPSLINT_UPDATE=1 python -m pytest tests/test_samples.py` writes the files anew: read them as a user would before they are committed.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from mpslint.cli import group
from mpslint.session import targeting

ROOT = Path(__file__).parents[1]
EXPECTED = Path(__file__).parent / "expected"
SAMPLES = sorted(path.name for path in (ROOT / "samples").iterdir())
OLD = ["--torch", "2.6", "--transformers", "4.49", "--accelerate", "1.3"]
COMMANDS = [["check"], ["fix"], ["fix", "--unsafe"], ["check", *OLD], ["fix", *OLD]]


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project that holds the samples only: nobody waits for all of mpslint to be read."""
    project = tmp_path_factory.mktemp("project")
    shutil.copy(ROOT / "pyproject.toml", project)
    shutil.copytree(ROOT / "samples", project / "samples")
    return project


@pytest.fixture(autouse=True)
def _at_home(home: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """There, as if no package were installed here whose version would count."""
    monkeypatch.chdir(home)
    monkeypatch.setattr(targeting, "environment_versions", dict)
    targeting._resolved.cache_clear()
    for name in ("VIRTUAL_ENV", "CONDA_PREFIX", "FORCE_COLOR", "GITHUB_ACTIONS"):
        monkeypatch.delenv(name, raising=False)
    yield
    targeting._resolved.cache_clear()


def spoken(arguments: list[str]) -> str:
    """Return a command, what it prints, and its exit code."""
    done = CliRunner().invoke(group, arguments)
    return f"$ mpslint {' '.join(arguments)}\n{done.output}[exit code {done.exit_code}]\n"


@pytest.mark.parametrize("sample", SAMPLES)
def test_what_is_said_of_a_sample(sample: str) -> None:
    """The newest versions and older ones."""
    said = "\n".join(spoken([*command, f"samples/{sample}"]) for command in COMMANDS)
    path = EXPECTED / f"{sample.lstrip('.')}.txt"
    if os.environ.get("MPSLINT_UPDATE") == "1":
        EXPECTED.mkdir(exist_ok=True)
        path.write_text(said, encoding="utf-8")

    assert said == path.read_text(encoding="utf-8")


@pytest.mark.parametrize("sample", [name for name in SAMPLES if name.startswith("clean_")])
def test_a_clean_sample_is_clean(sample: str) -> None:
    """Whatever is written to the expected files."""
    assert spoken(["check", f"samples/{sample}"]).splitlines()[1:] == ["Nothing wrong for MPS in 1 file.", "[exit code 0]"]


def test_every_expected_report_is_of_a_sample() -> None:
    """None is left over from a sample that is gone."""
    assert sorted(path.stem for path in EXPECTED.iterdir()) == sorted(name.lstrip(".") for name in SAMPLES)
