"""Tables that are rebuilt from the index of packages, and what is written."""

from __future__ import annotations

import importlib
import shutil
from pathlib import Path

import pytest
import yaml

from tests.refresh.wheels import TOOL, VERSIONS, refreshed, wheel


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The folder of tables that hold versions only, beside an index that is still empty."""
    pytest.importorskip("pip")
    made = tmp_path / "rules" / "platform"
    made.mkdir(parents=True)
    (made / "versions.yaml").write_text(VERSIONS)
    (tmp_path / "wheels").mkdir()
    return made


def test_the_tables_are_rebuilt_from_the_index(rules: Path) -> None:
    """Releases with a wheel for a Mac, their needs there, the Pythons of compiled wheels, and which rules to read again."""
    pytest.importorskip("pip")
    shown = refreshed(rules, "--write", "--step", "releases")

    assert shown.returncode == 0, shown.stderr
    assert "newest.mps-torch: 1.0.0 -> 2.0.0, the newest on the index" in shown.stdout
    assert "released.mps-trainer: 1.1.0 listed by the index" in shown.stdout
    assert "mps-trainer: rules that speak about it: MPS101" in shown.stdout
    assert "MPS102" not in shown.stdout
    versions = yaml.safe_load((rules / "platform" / "versions.yaml").read_text())
    assert versions["newest"] == {"macos": "26", "python": "3.14", "mps-torch": "2.0.0", "mps-trainer": "1.1.0"}
    assert versions["released"]["mps-trainer"] == "1.0.0 1.1.0"
    assert (versions["date"], versions["also_installed_as"]) == ("2026-02-02", {"mps-torch": ["mps-pytorch"]})
    assert (
        '# A key that the tool doesn\'t know.\ndevices: {mps: "mps-torch >= 1.0"}\n' in (rules / "platform" / "versions.yaml").read_text()
    )
    assert yaml.safe_load((rules / "platform" / "requirements.yaml").read_text())["packages"] == {
        "mps-torch": [{"from": "1.0.0", "requires": {"python": "<3.13,>=3.12"}}, {"from": "2.0.0", "requires": {"python": "<3.14,>=3.12"}}],
        "mps-trainer": [
            {"from": "1.0.0", "requires": {"mps-torch": ">=1.0"}},
            {"from": "1.1.0", "requires": {"mps-torch": "!=1.5", "python": ">=3.10"}, "works_with": {"mps-torch": ">=2"}},
        ],
    }
    again = refreshed(rules, "--step", "releases", "--only", "mps-trainer")
    assert (again.returncode, again.stdout.partition(";")[0]) == (0, "0 files would change")


def test_nothing_is_written_unless_asked(tmp_path: Path, folder: Path) -> None:
    """The exit code says that the tables are older than the index."""
    wheel(tmp_path / "wheels", "mps-trainer", "1.2.0", "py3-none-any", "Requires-Dist: mps-torch>=1.0")
    shown = refreshed(tmp_path / "rules", "--only", "mps-trainer", "--step", "releases")

    assert (shown.returncode, (folder / "versions.yaml").read_text()) == (1, VERSIONS)
    assert "mps-trainer: 1.0.0 -> 1.2.0" in shown.stdout
    assert not (folder / "requirements.yaml").exists()


def test_tables_that_break_mpslint_are_put_back(tmp_path: Path) -> None:
    """After writing, the rules are loaded and their examples and the samples checked, by the mpslint beside them."""
    pytest.importorskip("pip")
    shutil.copytree(TOOL.parents[1] / "rules", tmp_path / "rules")
    for name in ("mpslint", "samples", "schemas"):
        (tmp_path / name).symlink_to(TOOL.parents[1] / name)
    (tmp_path / "wheels").mkdir()
    wheel(tmp_path / "wheels", "trl", "99.0", "py3-none-any")
    path = tmp_path / "rules" / "platform" / "versions.yaml"
    broken = "".join(line for line in path.read_text().splitlines(keepends=True) if not line.startswith("devices:"))
    path.write_text(broken)
    shown = refreshed(tmp_path / "rules", "--write", "--only", "trl", "--step", "releases")

    assert shown.returncode == 1, shown.stdout
    assert "not written: mpslint fails with them" in shown.stdout
    assert path.read_text() == broken


def test_only_rows_that_say_something_else_are_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    """A release that needs what the one before it does has no row; the shipped table is as the tool writes it."""
    monkeypatch.syspath_prepend(TOOL.parent)
    tables = importlib.import_module("refresh.tables")
    needs = {"torch": ">=2"}
    known = {"a": {"1.0": {"requires": needs}}}

    assert list(tables.changed_rows(known, {"a": {"1.0": {"requires": needs}, "1.1": {"requires": needs}}})) == []
    assert list(tables.changed_rows({**known, "b": {}}, {"a": {**known["a"], "2.0": {"requires": {}}}})) == [
        "a: rows from 2.0",
        "b: no longer tracked",
    ]
    shipped = TOOL.parents[1] / "rules" / "platform" / "requirements.yaml"
    assert tables.requirements_text(tables.known_rows(tables.read(shipped))) == shipped.read_text(encoding="utf-8")


def test_releases_between_two_that_differ_are_read_too(tmp_path: Path, folder: Path) -> None:
    """Within a minor version, a row holds from the release that brought it on, not from the last one."""
    for release, bound in {"1.2.0": 2, "1.2.1": 2, "1.2.2": 3, "1.2.3": 3}.items():
        wheel(tmp_path / "wheels", "mps-trainer", release, "py3-none-any", f"Requires-Dist: mps-torch<{bound}")
    refreshed(tmp_path / "rules", "--write", "--only", "mps-trainer", "--step", "releases")

    assert yaml.safe_load((folder / "requirements.yaml").read_text())["packages"]["mps-trainer"] == [
        {"from": "1.2.0", "requires": {"mps-torch": "<2"}}, {"from": "1.2.2", "requires": {"mps-torch": "<3"}}]  # fmt: skip
