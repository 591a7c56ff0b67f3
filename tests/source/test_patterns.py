"""Patterns of .gitignore leave out what git leaves out, and the look at a name that comes first misses nothing."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mpslint.source import patterns as read
from mpslint.source.files import find_files
from mpslint.source.patterns import Patterns

NAMES = ["a", "b", "ab", "a.py", "b.py", "#a", "!a", "-", "a b", "[a]", "lib", "x.gen.py"]
PIECES = ["a", "b", "lib", "*", "**", "?", "/", "!", "[ab]", "[!a]", "[^b]", "[]", "[", "]", "\\", "#", " ", ".py", ".", "-", "x", "gen"]
WORDS = st.lists(st.sampled_from(PIECES), min_size=1, max_size=5).map("".join)
TREE = (
    "a.py", "ab.py", "x].py", "a b.py", "a/b.py", "a/lib/x.gen.py", "a/lib/lib/a.py", "b/a/a.py", "gen/x.py", "x/[a].py", "src/a.py", "src/b/a.py",
    "src/b/gen/x.py", "src/x9.py",
)  # fmt: skip


@settings(max_examples=500)
@given(st.lists(WORDS, min_size=1, max_size=5), st.lists(st.sampled_from(NAMES), min_size=1, max_size=4))
def test_no_pattern_is_about_a_name_that_is_not_looked_at(lines: list[str], parts: list[str]) -> None:
    """Whatever the pattern, the name and the folders above it."""
    patterns = Patterns(lines)
    for mark in ("", "/"):
        path = "/".join(parts)
        if not patterns.may_name(parts[-1]):
            assert not any(one.fits(path, parts[-1], bool(mark)) for one in patterns._read)


def _agree(top: Path, ignores: dict[str, list[str]]) -> None:
    """Assert that a walk of a tree with these .gitignore files (by folder) finds the scripts that git lists."""
    for name in TREE:
        (top / name).parent.mkdir(parents=True, exist_ok=True)
        (top / name).write_text("x = 1\n")
    for folder, lines in ignores.items():
        (top / folder / ".gitignore").write_text("\n".join(lines))
    subprocess.run(["git", "init", "-q", str(top)], check=True)
    listed = subprocess.run(
        ["git", "ls-files", "-o", "--exclude-standard", "-z", "*.py"], cwd=top, capture_output=True, text=True, check=True
    )

    walked = {os.path.relpath(found.path, top).replace(os.sep, "/") for found in find_files([str(top)])}
    assert walked == {name for name in listed.stdout.split("\0") if name}, ignores


@pytest.mark.parametrize(
    "ignores",
    [
        {"": ["*", "!*/", "!*.py"]},
        {"": ["*", "!*/", "!*.py", "gen/"]},
        {"": ["*", "!*/", "!/src/**/*.py"]},
        {"": ["/*", "!/src/"]},
        {"": ["/*", "!/src/", "/src/*", "!/src/b/"]},
        {"": ["*", "!.gitignore", "!src/**"]},
        {"": ["*", "!.gitignore", "!src/", "!src/**"]},
        {"": ["*", "!src", "!src/*.py"]},
        {"": ["**", "!**/", "!a.py"]},
        {"": ["*.py", "!src/*.py"]},
        {"": ["a/", "!a/b.py"]},
        {"": ["*"], "src": ["!*"]},
        {"": ["*", "!*/"], "src": ["!*.py"], "src/b": ["*.py", "!a.py"]},
        {"": ["*.py"], "a/lib": ["!*.py", "/lib/"]},
        {"a": ["*", "!*/", "!/lib/*.py"]},
        {"": ["lib/", "!lib/"], "a": ["lib/*"]},
        {"": ["[]x]].py", "[!a-z]b.py", "x[[:digit:]].py", "a\\ b.py", "x/\\[a\\].py   "]},
        {"": ["src/**/gen", "**/lib/*.py", "a/**"]},
        {"": ["*.py\\", "[a", "[", "//", "!", "/", "a//"]},
    ],
    ids=lambda ignores: " ".join(word for folder, lines in ignores.items() for word in ([folder] if folder else []) + lines),
)
def test_lists_of_what_to_keep_are_read_as_by_git(tmp_path: Path, ignores: dict[str, list[str]]) -> None:
    """With negations, in several folders; what lies in an ignored folder is brought back by nothing."""
    _agree(tmp_path, ignores)


COMMON = ["a", "b", "ab", "lib", "gen", "x", ".py", ".", "-", "*", "?", "/", "#", "[ab]", "**/", "/**", "[!a]", "src"]
LINE = st.tuples(st.sampled_from(["", "", "!"]), st.lists(st.sampled_from(COMMON), min_size=1, max_size=5).map("".join)).map("".join)
LINES = st.lists(LINE | st.sampled_from(["*", "!*/", "!*.py", "/*", "!/src/", "!src/**"]), min_size=1, max_size=6)


@settings(max_examples=150)
@given(st.dictionaries(st.sampled_from(["", "a", "a/lib", "src", "src/b"]), LINES, min_size=1, max_size=3))
def test_git_and_the_walk_agree(tmp_path_factory: pytest.TempPathFactory, ignores: dict[str, list[str]]) -> None:
    """On which scripts of a tree are ignored, whatever the .gitignore files say."""
    _agree(tmp_path_factory.mktemp("tree"), ignores)


def test_nothing_is_compiled_where_no_name_may_be_meant(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A long .gitignore costs next to nothing in a folder that holds nothing of what it names."""
    (tmp_path / ".git").mkdir()
    (tmp_path / ".gitignore").write_text("__pycache__/\n*.py[cod]\n*$py.class\n.coverage.*\ncached_*_text.txt\n/data\ndocs/_build/\n")
    (tmp_path / "train.py").write_text("import torch\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(read, "_pattern", None)

    assert [found.path for found in find_files(["."])] == ["train.py"]


def test_a_line_of_gitignore_that_is_no_pattern_counts_for_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As for git; the others count."""
    (tmp_path / ".git").mkdir()
    (tmp_path / ".gitignore").write_text("bad\\\n[b-a].py\nskipped.py\n")
    for name in ("kept.py", "skipped.py"):
        (tmp_path / name).write_text("x = 1\n")
    monkeypatch.chdir(tmp_path)

    assert [found.path for found in find_files(["."])] == ["kept.py"]


def test_a_folder_that_is_named_is_walked_though_it_is_ignored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As by ruff; what is ignored in it for another reason is left out, and with `force_exclude` what is excluded."""
    (tmp_path / ".git").mkdir()
    (tmp_path / ".gitignore").write_text("lib/\n*.gen.py\n")
    for name in ("lib/deep/a.py", "lib/deep/b.gen.py", "lib/lib/c.py", "src/a.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("x = 1\n")
    monkeypatch.chdir(tmp_path)

    def found(path: str, exclude: tuple[str, ...] = (), force: bool = False) -> list[str]:
        return [one.path.replace(os.sep, "/") for one in find_files([path], exclude, force_exclude=force)]

    assert found(".") == ["src/a.py"]
    assert found("lib") == ["lib/deep/a.py", "lib/lib/c.py"]
    assert found("lib/deep") == ["lib/deep/a.py"]
    assert found("src", ("src/",)) == ["src/a.py"]
    assert found("src", ("src/",), force=True) == []


AT_ODDS = re.compile(r"^!?/?[^*?\[\\]*[^*?\[\\/]\*\*")
"""git before 2.53 takes the `**` of `a**/b` for folders, as it looks at the pattern from there on only."""
WILD = ["a", "b", "é", "*", "**", "***", "?", "/", "**/", "/**/", "[ab]", "[!a]", "[^/]", "[a-c-]", "[]b]", "[[:alpha:]]", "[[:no:]]", "[[:]", "[!]]",
        "[b-a]", "[\\]]", "[a/b]", "\\", "\\*", "\\[", "\\ ", " ", "-", "]", "!", "#", ":"]  # fmt: skip
LETTERS = st.lists(
    st.sampled_from(["a", "a", "b", "ab", "é", "-", "]", "[", "*", " ", "c", ":", "!", "#", "\\"]), min_size=1, max_size=5
).map("".join)
PATHS = st.lists(st.lists(LETTERS, min_size=1, max_size=4).map("/".join), min_size=8, max_size=8, unique=True)


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An empty repository, in which git is asked about paths that needn't be there."""
    top = tmp_path_factory.mktemp("repository")
    subprocess.run(["git", "init", "-q", str(top)], check=True)
    return top


@settings(max_examples=400)
@given(lines=st.lists(st.lists(st.sampled_from(WILD), min_size=1, max_size=7).map("".join), min_size=1, max_size=3), paths=PATHS)
def test_git_says_the_same_of_every_pattern_and_path(repository: Path, lines: list[str], paths: list[str]) -> None:
    """Runs of stars, `**`, sets, classes and escapes, by bytes; what versions of git disagree on is left out."""
    meant = [line for line in lines if not AT_ODDS.search(line)]
    (repository / ".gitignore").write_text("\n".join(meant), encoding="utf-8")
    asked = subprocess.run(
        ["git", "check-ignore", "--no-index", "-z", "--stdin"],
        cwd=repository,
        input="\0".join(f"./{path}" for path in paths).encode(),
        capture_output=True,
        check=False,
    )
    assert asked.stderr == b""

    patterns = Patterns(meant)
    assert {path for path in paths if patterns.leaves_out(path)} == {path.decode()[2:] for path in asked.stdout.split(b"\0") if path}, meant


@pytest.mark.parametrize(
    ("line", "kept", "left_out"),
    [
        ("*" * 100_000 + "b", "a" * 250, "a" * 250 + "b"),
        ("*a" * 50 + "*b", "a" * 250, "a" * 250 + "b"),
        ("*?" * 50 + "*b", "a" * 250, "a" * 250 + "b"),
        ("x/" + "*a" * 50 + "b/y", "x/" + "a" * 250 + "/y", "x/" + "a" * 250 + "b/y"),
        ("**/a/" * 50 + "b", "a/" * 120 + "c", "a/" * 120 + "b"),
        ("**/a*a*/" * 50 + "b", "aaa/" * 120 + "c", "aaa/" * 120 + "b"),
        ("x" + " " * 100_000 + "y", "x", "x" + " " * 100_000 + "y"),
    ],
    ids=["a run", "stars", "marks", "in a part", "folders", "stars in folders", "spaces"],
)
def test_a_pattern_with_many_stars_is_matched_and_goes_back_over_nothing(line: str, kept: str, left_out: str) -> None:
    """A stranger's .gitignore meets a stranger's names: with a star less to go, none of these would end."""
    patterns = Patterns([line])

    assert patterns.wrong() == ""
    assert (patterns.answer(kept), patterns.answer(left_out)) == (None, True)
