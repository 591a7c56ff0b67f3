"""The look at a name that comes before asking pathspec leaves nothing out that pathspec would answer."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mpslint.source.files import find_files
from mpslint.source.patterns import Patterns

NAMES = ["a", "b", "ab", "a.py", "b.py", "#a", "!a", "-", "a b", "[a]", "lib", "x.gen.py"]
PIECES = ["a", "b", "lib", "*", "**", "?", "/", "!", "[ab]", "[!a]", "[^b]", "[]", "[", "]", "\\", "#", " ", ".py", ".", "-", "x", "gen"]
WORDS = st.lists(st.sampled_from(PIECES), min_size=1, max_size=5).map("".join)


@settings(max_examples=500)
@given(st.lists(WORDS, min_size=1, max_size=5), st.lists(st.sampled_from(NAMES), min_size=1, max_size=4))
def test_a_name_that_is_not_looked_at_has_the_answer_of_its_folder(lines: list[str], parts: list[str]) -> None:
    """So a walk that asks only for names that may be meant, from the top down, leaves out what pathspec leaves out."""
    patterns = Patterns(lines)
    for mark in ("", "/"):
        inherited = patterns.answer("/".join(parts[:-1]) + "/") if parts[:-1] else None
        if not patterns.may_name(parts[-1]):
            assert patterns.answer("/".join(parts) + mark) == inherited


COMMON = ["a", "b", "ab", "lib", "gen", "x", ".py", ".", "-", "*", "?", "/", "#", "[ab]"]


@settings(max_examples=100)
@given(st.lists(st.lists(st.sampled_from(COMMON), min_size=1, max_size=5).map("".join), min_size=1, max_size=6))
def test_git_and_the_walk_agree(tmp_path_factory: pytest.TempPathFactory, lines: list[str]) -> None:
    """On which scripts of a tree are ignored, whatever the .gitignore says."""
    top = tmp_path_factory.mktemp("tree")
    for name in ("a.py", "ab.py", "a/b.py", "a/lib/x.gen.py", "b/a/a.py", "gen/x.py", "x/[a].py"):
        (top / name).parent.mkdir(parents=True, exist_ok=True)
        (top / name).write_text("x = 1\n")
    (top / ".gitignore").write_text("\n".join(lines))
    subprocess.run(["git", "init", "-q", str(top)], check=True)
    listed = subprocess.run(
        ["git", "ls-files", "-o", "--exclude-standard", "-z", "*.py"], cwd=top, capture_output=True, text=True, check=True
    )

    walked = {os.path.relpath(found.path, top).replace(os.sep, "/") for found in find_files([str(top)])}
    assert walked == {name for name in listed.stdout.split("\0") if name}


def test_nothing_is_loaded_where_no_name_may_be_meant(tmp_path: Path) -> None:
    """A long .gitignore costs next to nothing in a folder that holds nothing of what it names."""
    (tmp_path / ".git").mkdir()
    (tmp_path / ".gitignore").write_text("__pycache__/\n*.py[cod]\n*$py.class\n.coverage.*\ncached_*_text.txt\n/data\ndocs/_build/\n")
    (tmp_path / "train.py").write_text("import torch\n")
    code = "import sys; from mpslint.source.files import find_files; print(*[f.path for f in find_files(['.'])], 'pathspec' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)

    assert done.stdout == "train.py False\n"


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


@pytest.mark.parametrize("line", ["*a*a*a*a*a*a*a*b", "x/*a*a*a*a*b/y", "**/a/**/a/**/a/**/a/**/b"])
def test_a_pattern_that_explodes_counts_for_nothing(line: str) -> None:
    """A stranger's .gitignore and `exclude` meet a stranger's names: each star multiplies the time by the length of a name."""
    patterns = Patterns([line, "*.log"])

    assert patterns.lines == ("*.log",)
    assert patterns.wrong() == line
    assert patterns.answer("a" * 250) is None
    assert Patterns(["*foo*bar*", "**/a*b*/**", "**/**/**/**/**/x"]).wrong() == ""
