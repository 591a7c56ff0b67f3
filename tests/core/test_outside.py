"""Whatever lies where a stranger's file should be, reading it ends: with its bytes or with one line."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from mpslint.core.finding import MpslintError, ReadError, UsageError
from mpslint.core.outside import leads_out, parse_json, read_file, read_text
from mpslint.diagnose import read_log
from mpslint.doctor.environment import find_accelerate_config
from mpslint.session.baseline import load_baseline
from mpslint.session.configuration import find_configuration, load_configuration, overridden
from mpslint.session.runs import check_paths
from mpslint.session.session import Options
from mpslint.source.files import find_files
from mpslint.target.pins import project_requirements

PIN_FILES = (
    "requirements.txt",
    "requirements-gpu.txt",
    "uv.lock",
    "poetry.lock",
    "pdm.lock",
    "pylock.toml",
    "Pipfile.lock",
    "environment.yml",
)
DEEP = 200_000
NESTED = {
    "uv.lock": f"package = {'[' * DEEP}{']' * DEEP}",
    "Pipfile.lock": f'{{"default": {"[" * DEEP}{"]" * DEEP}}}',
    "environment.yml": f"dependencies: {'[' * DEEP}{']' * DEEP}",
    "pyproject.toml": f"project = {'[' * DEEP}{']' * DEEP}",
}
WRONG = {
    "uv.lock": "package = [1, {name = 1, version = 2}, {name = 'torch'}]\n",
    "poetry.lock": "package = 5\n",
    "Pipfile.lock": '{"default": {"torch": 5}, "develop": []}',
    "environment.yml": f"- 1\n- {'9' * 5_000}\n- 2024-99-99\n",
    "pyproject.toml": "project = 5\ntool = 5\n",
    "requirements.txt": f"torch==2.{'9' * 5_000}\ntorch=={'1.' * 5_000}\n\0",
}


def special_files(folder: Path) -> list[Path]:
    """Return paths that block, never end, or are no files."""
    os.mkfifo(folder / "pipe")
    (folder / "endless").symlink_to("/dev/zero")
    (folder / "round").symlink_to("round")
    (folder / "folder").mkdir()
    here = os.getcwd()
    os.chdir(folder)  # the name of a socket is short
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("socket")
    os.chdir(here)
    return [folder / name for name in ("pipe", "endless", "round", "folder", "socket", "missing")]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="Windows has no such files")
def test_only_regular_files_are_read(tmp_path: Path) -> None:
    """Pipes, devices, sockets, folders and links to themselves are one line each, at once."""
    for path in special_files(tmp_path):
        with pytest.raises(ReadError, match=path.name):
            read_file(path)
        with pytest.raises(ReadError, match=path.name):
            read_log(path)
        with pytest.raises(UsageError, match=path.name):
            load_baseline(path)
        with pytest.raises(UsageError, match=path.name):
            load_configuration(path)


def test_a_file_is_read_up_to_its_limit(tmp_path: Path) -> None:
    """Counted, not believed: what /proc holds has no size."""
    path = tmp_path / "x"
    path.write_bytes(b"x" * 1_000)

    assert read_file(path, 1_000) == b"x" * 1_000
    with pytest.raises(ReadError, match="larger than"):
        read_file(path, 999)
    if os.path.exists("/proc/self/maps"):
        with pytest.raises(ReadError, match="larger than"):
            read_file("/proc/self/maps", 10)


def test_a_link_counts_inside_of_its_tree_only(tmp_path: Path) -> None:
    """Of the folder itself it may be reached by any path."""
    tree, beside = tmp_path / "tree", tmp_path / "tree-2"
    tree.mkdir()
    beside.mkdir()
    (beside / "x").write_text("1")
    (tree / "link").symlink_to(beside / "x")
    (tree / "y").write_text("\ufeff2")
    (tmp_path / "same").symlink_to(tree)

    assert leads_out(tree / "link", str(tree))
    assert read_text(tmp_path / "same" / "y", tree=str(tree)) == "2"
    with pytest.raises(ReadError, match="a link out of"):
        read_text(tree / "link", tree=str(tree))


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="Windows has no such files")
@pytest.mark.parametrize("name", PIN_FILES)
def test_a_project_of_special_files_has_no_pins(tmp_path: Path, name: str) -> None:
    """A pipe that nobody writes to and a device without an end are as good as no file."""
    for number, path in enumerate(special_files(tmp_path)[:3]):
        root = tmp_path / f"project{number}"
        root.mkdir()
        (root / ".git").mkdir()
        (root / ".gitignore").symlink_to(path)
        (root / name).symlink_to(path)
        (root / "pipe.py").symlink_to(path)

        assert project_requirements(root) == ()
        assert [found.path for found in find_files([str(root)])] == []


@pytest.mark.parametrize("texts", [NESTED, WRONG], ids=["nested", "wrong"])
def test_broken_pins_are_no_pins(tmp_path: Path, texts: dict[str, str]) -> None:
    """Nested 200,000 deep (where libyaml ends the process), or of other types than the format has."""
    for name, text in texts.items():
        (tmp_path / name).write_text(text)

    assert project_requirements(tmp_path) == ()


@pytest.mark.parametrize(
    "text", [NESTED["pyproject.toml"], "select = 5\n", "target = [1]\n", f"severity = {'9' * 5_000}\n", "\0", "rules = [[1]]"]
)
def test_a_broken_configuration_is_one_line(tmp_path: Path, text: str) -> None:
    """It names the file."""
    (tmp_path / "mpslint.toml").write_text(text)
    with pytest.raises(UsageError, match=r"mpslint\.toml") as raised:
        find_configuration(tmp_path)

    assert len(str(raised.value).splitlines()) == 1


def test_a_configuration_behind_a_link_out_is_refused(tmp_path: Path) -> None:
    """mpslint.toml is a mistake that is said; a pyproject.toml need not be meant for mpslint."""
    (tmp_path / "other.toml").write_text("severity = 'error'\n[tool.mpslint]\nseverity = 'error'\n")
    for name in ("one", "two"):
        (tmp_path / name / ".git").mkdir(parents=True)
    (tmp_path / "one" / "mpslint.toml").symlink_to(tmp_path / "other.toml")
    (tmp_path / "two" / "pyproject.toml").symlink_to(tmp_path / "other.toml")
    with pytest.raises(UsageError, match="a link out of"):
        find_configuration(tmp_path / "one")

    assert find_configuration(tmp_path / "two").path is None


def test_a_folder_with_too_long_a_name_is_one_line(tmp_path: Path) -> None:
    """Since Python 3.14 its path is resolved, and names a folder that isn't there."""
    (tmp_path / ".git").mkdir()
    (tmp_path / "mpslint.toml").write_text(f'rules = ["{"x" * 5_000}"]\n')
    (tmp_path / "train.py").write_text("import torch\n")
    with pytest.raises(UsageError, match=r"mpslint\.toml: rules: ") as raised:
        list(check_paths([str(tmp_path / "train.py")], Options()))

    assert len(str(raised.value).splitlines()) == 1


@pytest.mark.parametrize(
    "rules",
    ["/etc", "..", "linked", "holds_link", "a\\u0000b"],
    ids=["absolute", "above", "link", "link inside", "NUL"],
)
def test_rules_out_of_the_repository_are_refused(tmp_path: Path, rules: str) -> None:
    """A stranger's configuration may not have other files of yours read; on the command line, you may name them."""
    folder = tmp_path / "repository"
    (folder / ".git").mkdir(parents=True)
    (folder / "linked").symlink_to(tmp_path)
    (folder / "holds_link").mkdir()
    (tmp_path / "secret.yaml").write_text("password: 5\n")
    (folder / "holds_link" / "x.yaml").symlink_to(tmp_path / "secret.yaml")
    (folder / "mpslint.toml").write_text(f'rules = ["{rules}"]\n')
    with pytest.raises(UsageError, match=r"mpslint\.toml: rules: ") as raised:
        find_configuration(folder)

    assert len(str(raised.value).splitlines()) == 1
    assert overridden(load_configuration(folder / "mpslint.toml"), (f"rules=['{tmp_path}']",)).rules == (tmp_path,)


@pytest.mark.parametrize("text", ["[" * DEEP, '{"schema": 1, "findings": [5]}', '{"schema": 1, "findings": 5}', "9" * 5_000, "5", "\ud800"])
def test_a_broken_baseline_is_one_line(tmp_path: Path, text: str) -> None:
    """It names the file."""
    path = tmp_path / "baseline.json"
    path.write_text(text, encoding="utf-8", errors="surrogatepass")
    with pytest.raises(UsageError, match="baseline"):
        load_baseline(path)


def test_a_broken_log_and_a_broken_accelerate_configuration_are_one_line(tmp_path: Path) -> None:
    """Notebooks nested too deeply, settings that are no mapping."""
    (tmp_path / "x.ipynb").write_text("[" * DEEP)
    with pytest.raises(MpslintError, match="broken"):
        read_log(tmp_path / "x.ipynb")
    folder = tmp_path / "accelerate"
    folder.mkdir()
    for name, text in (("default_config.yaml", "[" * DEEP), ("default_config.yaml", "9" * 5_000), ("default_config.json", "[" * DEEP)):
        (folder / name).write_text(text)
        found = find_accelerate_config({"HF_HOME": str(tmp_path)}, tmp_path)
        (folder / name).unlink()
        assert found is not None
        assert found.error


def test_json_that_nests_too_deeply_is_a_value_error() -> None:
    """As any other JSON that is none."""
    with pytest.raises(ValueError, match="too deeply"):
        parse_json("[" * DEEP + "]" * DEEP)
