"""Findings of a run say what starts it, and how it leads to the place, in every form of report."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from mpslint.cli.check import command
from tests.language_client import Editor

FILES = {
    "README.md": "x\n",
    "utils.py": 'import torch\n\n\ndef get_device():\n    return torch.device("cuda" if torch.cuda.is_available() else "cpu")\n',
    "train.py": "import torch\nimport utils\n\ndevice = utils.get_device()\nmodel = torch.nn.Linear(2, 2).to(device)\n",
    "launch/run.sh": "#!/bin/sh\npython train.py --epochs 3\n",
}


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A script that takes its device from another file, and a line of a shell script that starts it."""
    (tmp_path / "root").mkdir()
    for name, text in FILES.items():
        path = tmp_path / "root" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    monkeypatch.chdir(tmp_path / "root")
    return tmp_path / "root"


def reported(*options: str) -> str:
    """Return what `mpslint check .` says of the device."""
    return CliRunner().invoke(command, [".", "--isolated", "--no-cache", "--select", "MPS503", *options]).output


def test_people_are_told_what_starts_the_run_and_who_calls(project: Path) -> None:
    """On one line where both fit."""
    lines = reported().splitlines()

    assert "  from  `get_device()` is called here (train.py, line 4); started by train.py, launch/run.sh:2" in lines


def test_the_script_itself_is_no_news(project: Path) -> None:
    """What is found in the script that is started names its launch lines only, and a script by itself names nothing."""
    (project / "train.py").write_text(FILES["utils.py"] + "import utils\nutils.get_device()\nmodel.to(get_device())\n")

    found = json.loads(reported("--output-format", "json"))["files"]

    entries = {one["path"]: [line["entries"] for line in one["findings"]] for one in found}
    assert entries["train.py"] == [[{"path": "launch/run.sh", "line": 2}]]
    (project / "launch" / "run.sh").unlink()
    (alone,) = [one for one in json.loads(reported("--output-format", "json"))["files"] if one["path"] == "train.py"]
    assert [one["entries"] for one in alone["findings"]] == [[]]


def test_code_scanning_is_told_from_the_root_of_the_repository(project: Path) -> None:
    """Related locations in other files count from the root, as the finding itself does."""
    (project.parent / ".git").mkdir()

    (result,) = json.loads(reported("--output-format", "sarif"))["runs"][0]["results"]

    places = [one["physicalLocation"] for one in result["relatedLocations"]]
    assert [(one["artifactLocation"]["uri"], one["region"]["startLine"]) for one in places] == [
        ("root/train.py", 4),
        ("root/train.py", 1),
        ("root/launch/run.sh", 2),
    ]


def test_an_editor_can_follow_the_way(project: Path) -> None:
    """The call and what starts the run are related information of the diagnostic."""
    uri = (project / "utils.py").as_uri()
    able = {"textDocument": {"publishDiagnostics": {"relatedInformation": True}}}
    with Editor(project, able=able) as editor:
        (found,) = [one for one in editor.open(uri, FILES["utils.py"]) if one["code"] == "MPS503"]

    related = {Path(one["location"]["uri"]).name for one in found["relatedInformation"]}
    assert related == {"train.py", "run.sh"}


@pytest.mark.parametrize("name", ["utils.py", "other.py"])
def test_a_wrong_configuration_elsewhere_is_no_matter(project: Path, name: str) -> None:
    """It governs a script that imports the named file, or lies in the project, and nobody asked about it; who asks is told."""
    (project / "sub").mkdir()
    (project / "sub" / "pyproject.toml").write_text("[tool.mpslint]\nnope = 1\n")
    (project / "sub" / "start.py").write_text("import torch\nimport utils\n\ntorch.nn.Linear(2, 2).to(utils.get_device())\n")
    (project / "other.py").write_text("X = 1\n")

    alone = CliRunner().invoke(command, [name, "--no-cache", "--quiet"])
    asked = CliRunner().invoke(command, ["sub", "--no-cache", "--quiet"])

    assert "nope" not in f"{alone.exception}{alone.output}"
    assert "unknown key 'nope'" in f"{asked.exception}{asked.output}"
