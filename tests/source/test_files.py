"""Folders are walked as ruff walks them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from mpslint.source.files import find_files, is_beside


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with files that matter and files that do not."""
    for name in (
        "a.py", "b.ipynb", "notes.txt", ".env", "run.sh", "src/c.py", "src/gen/d.py", "src/keep.gen.py", "src/x.gen.py", ".venv/e.py",
        "node_modules/f.py", ".ipynb_checkpoints/b.ipynb", "out/checkpoint-10/g.py", "build/h.py", "lib.egg-info/i.py", "ünï cödé/j k.py",
    ):  # fmt: skip
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("x = 1\n")
    (tmp_path / ".git").mkdir()
    (tmp_path / ".gitignore").write_text("*.gen.py\n!keep.gen.py\n/src/gen/\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def found(*paths: str, exclude: tuple[str, ...] = (), force: bool = False) -> list[str]:
    """Return the files found, with forward slashes and without a leading `./`."""
    return [os.path.normpath(f.path).replace(os.sep, "/") for f in find_files(paths, exclude, force_exclude=force) if not f.problem]


def test_a_folder_gives_the_files_that_matter(tree: Path) -> None:
    """Virtual environments, checkpoints, build folders and what .gitignore names are left out."""
    assert found(".") == [".env", "a.py", "b.ipynb", "run.sh", "src/c.py", "src/keep.gen.py", "ünï cödé/j k.py"]


def test_what_macos_puts_beside_files_is_not_read(tree: Path) -> None:
    """`._train.py` holds no Python, on disks and in archives that a Mac has written."""
    before = found(".")
    (tree / "._train.py").write_bytes(b"\x00\x05\x16\x07")

    assert found(".") == before


def test_a_gitignore_above_the_folder_counts(tree: Path) -> None:
    """Walking `src` obeys the .gitignore of the repository's root."""
    assert found("src") == ["src/c.py", "src/keep.gen.py"]


def test_a_file_that_is_named_is_read_whatever_it_is(tree: Path) -> None:
    """Ignored and excluded files too, unless excluding is forced; each file once."""
    assert found("src/x.gen.py", "a.py", "./a.py", exclude=("a.py",)) == ["src/x.gen.py", "a.py"]
    assert found("src/x.gen.py", "a.py", exclude=("a.py",), force=True) == ["src/x.gen.py"]


def test_exclude_is_written_as_in_gitignore(tree: Path) -> None:
    """Names, folders and globs."""
    assert found(".", exclude=("src/", "*.ipynb", "/run.sh")) == [".env", "a.py", "ünï cödé/j k.py"]


def test_globs_are_expanded(tree: Path) -> None:
    """Where the shell has not."""
    assert found("**/*.py")[:1] == ["a.py"]
    assert [f.problem for f in find_files(["*.nope"])] == ["no file matches this pattern"]


def test_a_missing_path_is_said(tree: Path) -> None:
    """As a problem of that path, with the rest still found."""
    results = list(find_files(["gone.py", "a.py"]))

    assert [(f.path, f.problem) for f in results] == [("gone.py", "no such file or folder"), ("a.py", "")]


def test_an_env_file_is_read_though_git_ignores_it(tree: Path) -> None:
    """Nearly every .gitignore names it, and the run has it all the same; `exclude` leaves it out."""
    with (tree / ".gitignore").open("a") as stream:
        stream.write(".env\n")

    assert found(".")[0] == ".env"
    assert ".env" not in found(".", exclude=(".env",))


def test_json_that_is_data_is_left_out(tree: Path) -> None:
    """Large files, and folders full of small ones; a file that is named is read."""
    (tree / "src" / "large.json").write_text("[" + "1, " * 40_000 + "1]")
    (tree / "src" / "deepspeed.json").write_text("{}")
    (tree / "labels").mkdir()
    for number in range(101):
        (tree / "labels" / f"{number:03}.json").write_text("{}")

    assert [name for name in found(".") if name.endswith(".json")] == ["src/deepspeed.json"]
    assert found("labels/000.json", "src/large.json") == ["labels/000.json", "src/large.json"]


def test_links_to_folders_are_not_followed(tree: Path) -> None:
    """So a loop of links ends."""
    (tree / "src" / "loop").symlink_to(tree, target_is_directory=True)

    assert found("src") == ["src/c.py", "src/keep.gen.py"]


def test_a_package_of_the_repository_is_its_own(tree: Path) -> None:
    """`import unsloth` in a repository that holds a package of that name is no import of the library."""
    (tree / "unsloth").mkdir()
    (tree / "unsloth" / "__init__.py").write_text("")

    assert is_beside("unsloth", str(tree / "src" / "gen" / "d.py"))
    assert is_beside("unsloth", "src/c.py")
    assert not is_beside("triton", str(tree / "a.py"))


def test_what_lies_above_the_repository_is_not_its_own(tree: Path) -> None:
    """The search ends where the repository does."""
    inner = tree / "inner"
    (inner / ".git").mkdir(parents=True)
    (tree / "triton").mkdir()
    (tree / "triton" / "__init__.py").write_text("")

    assert not is_beside("triton", str(inner / "a.py"))


def test_a_pattern_follows_no_link_to_a_folder(tree: Path) -> None:
    """Links upward make a folder endless; each file comes once, hidden folders and what a link shows of elsewhere not at all."""
    (tree / "src" / "up").symlink_to(tree)
    (tree / "src" / "gen" / "up").symlink_to(tree / "src")
    (tree / "src" / "elsewhere.py").symlink_to("/etc/passwd")

    assert found("src/**/*.py") == ["src/c.py", "src/gen/d.py", "src/keep.gen.py", "src/x.gen.py"]
    assert found("**/d.py") == ["src/gen/d.py"]
    assert found("s*/**") == found("src")
    assert next(iter(find_files(["**/nothing.py"]))).problem


def test_a_link_is_followed_inside_of_the_repository_only(tree: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    """What lies elsewhere is not the stranger's to show in a report; what lies in another folder of the repository is."""
    elsewhere = tmp_path_factory.mktemp("elsewhere") / "secret.py"
    elsewhere.write_text("x = 1\n")
    (tree / "src" / "out.py").symlink_to(elsewhere)
    (tree / "src" / "in.py").symlink_to("../a.py")
    (tree / "src" / "gone.py").symlink_to("nowhere")
    (tree / ".gitignore").unlink()
    (tree / ".gitignore").symlink_to(elsewhere)

    assert found("src") == ["src/c.py", "src/in.py", "src/keep.gen.py", "src/x.gen.py", "src/gen/d.py"]
    assert found("src/out.py") == ["src/out.py"]
