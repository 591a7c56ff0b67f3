"""The refresh tool, on an index of tiny wheels made here, through pip itself."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[1]
TOOL = ROOT / "tools" / "refresh_knowledge.py"
VERSIONS = """\
date: "2026-01-01"
newest:
  macos: "26"
  python: "3.14"
  mps-torch: "1.0.0"
  mps-trainer: "1.0.0"
also_installed_as:
  mps-torch: [mps-pytorch]
native: [mps-torch]
released:
  macos: "15 26"
  python: "3.12 3.13 3.14"
  mps-torch: "1.0.0"
  mps-trainer: "1.0.0"
"""
REQUIREMENTS = """\
packages:
  mps-trainer:
    - {from: "1.0.0", requires: {mps-torch: ">=1.0"}}
"""


def wheel(folder: Path, name: str, version: str, tags: str, *metadata: str) -> None:
    """Write a wheel with nothing but its metadata."""
    plain = name.replace("-", "_")
    with zipfile.ZipFile(folder / f"{plain}-{version}-{tags}.whl", "w") as file:
        lines = ["Metadata-Version: 2.1", f"Name: {name}", f"Version: {version}", *metadata, ""]
        file.writestr(f"{plain}-{version}.dist-info/METADATA", "\n".join(lines))
        file.writestr(f"{plain}-{version}.dist-info/WHEEL", f"Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: {tags}\n")
        file.writestr(f"{plain}-{version}.dist-info/RECORD", "")


@pytest.fixture(scope="module")
def rules(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of rules, whose tables are older than the index beside it."""
    folder = tmp_path_factory.mktemp("knowledge")
    (folder / "wheels").mkdir()
    (folder / "rules" / "platform").mkdir(parents=True)
    (folder / "rules" / "precision").mkdir()
    (folder / "rules" / "platform" / "versions.yaml").write_text(VERSIONS)
    (folder / "rules" / "platform" / "requirements.yaml").write_text(REQUIREMENTS)
    (folder / "rules" / "precision" / "MPS101-a.yaml").write_text('outcomes: [{versions: "mps-trainer >= 1.0"}]\n')
    (folder / "rules" / "precision" / "MPS102-b.yaml").write_text('outcomes: [{versions: "other >= 1.0"}]\n')
    for version, pythons in (("1.0.0", ["312"]), ("2.0.0", ["312", "313"])):
        for python in pythons:
            wheel(folder / "wheels", "mps-torch", version, f"cp{python}-cp{python}-macosx_14_0_arm64")
    wheel(folder / "wheels", "mps-torch", "3.0.0", "cp312-cp312-manylinux_2_28_x86_64")
    wheel(folder / "wheels", "mps-trainer", "1.0.0", "py3-none-any", "Requires-Dist: mps-torch>=1.0")
    wheel(folder / "wheels", "mps-trainer", "1.1.0rc1", "py3-none-any", "Requires-Dist: mps-torch>=9")
    wheel(
        folder / "wheels", "mps-trainer", "1.1.0", "py3-none-any", "Requires-Python: >=3.10", "Provides-Extra: torch", "Provides-Extra: dev",
        "Requires-Dist: numpy", 'Requires-Dist: mps-pytorch>=2,<3; extra == "torch"', 'Requires-Dist: mps-torch==1.0; extra == "dev"',
        "Requires-Dist: mps-torch!=1.5; sys_platform == 'darwin'", "Requires-Dist: mps-torch<1; sys_platform == 'linux'",
    )  # fmt: skip
    return folder / "rules"


def refreshed(rules: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the tool on the wheels beside the rules."""
    command = (sys.executable, str(TOOL), "--rules", str(rules), "--find-links", str(rules.parent / "wheels"), "--date", "2026-02-02")
    return subprocess.run((*command, *arguments), capture_output=True, text=True, check=False)


def test_the_tables_are_rebuilt_from_the_index(rules: Path) -> None:
    """Releases with a wheel for a Mac, their needs there, the Pythons of compiled wheels, and which rules to read again."""
    pytest.importorskip("pip")
    shown = refreshed(rules, "--write")

    assert shown.returncode == 0, shown.stderr
    assert "mps-torch: 1.0.0 -> 2.0.0" in shown.stdout
    assert "mps-trainer: rules that speak about it: MPS101" in shown.stdout
    assert "MPS102" not in shown.stdout
    versions = yaml.safe_load((rules / "platform" / "versions.yaml").read_text())
    assert versions["newest"] == {"macos": "26", "python": "3.14", "mps-torch": "2.0.0", "mps-trainer": "1.1.0"}
    assert versions["released"]["mps-trainer"] == "1.0.0 1.1.0"
    assert (versions["date"], versions["also_installed_as"]) == ("2026-02-02", {"mps-torch": ["mps-pytorch"]})
    assert yaml.safe_load((rules / "platform" / "requirements.yaml").read_text())["packages"] == {
        "mps-torch": [{"from": "1.0.0", "requires": {"python": "<3.13,>=3.12"}}, {"from": "2.0.0", "requires": {"python": "<3.14,>=3.12"}}],
        "mps-trainer": [
            {"from": "1.0.0", "requires": {"mps-torch": ">=1.0"}},
            {"from": "1.1.0", "requires": {"mps-torch": "!=1.5", "python": ">=3.10"}, "works_with": {"mps-torch": ">=2"}},
        ],
    }


def test_nothing_is_written_unless_asked(tmp_path: Path) -> None:
    """The exit code says that the tables are older than the index."""
    pytest.importorskip("pip")
    folder = tmp_path / "rules" / "platform"
    folder.mkdir(parents=True)
    (folder / "versions.yaml").write_text(VERSIONS)
    (tmp_path / "wheels").mkdir()
    wheel(tmp_path / "wheels", "mps-trainer", "1.2.0", "py3-none-any", "Requires-Dist: mps-torch>=1.0")
    shown = refreshed(tmp_path / "rules", "--only", "mps-trainer")

    assert (shown.returncode, (folder / "versions.yaml").read_text()) == (1, VERSIONS)
    assert "mps-trainer: 1.0.0 -> 1.2.0" in shown.stdout
    assert not (folder / "requirements.yaml").exists()
