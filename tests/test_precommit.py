"""The hooks as pre-commit itself installs and runs them, from a copy of this checkout, on a repository of its own."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from mpslint.source.reader import kind_of
from tests.cli.test_cli import BAD, CLEAN
from tests.notebooks import notebook
from tests.test_readme import copy_of_the_checkout

ROOT = Path(__file__).parents[1]
GOOD = "import torch\n" + BAD.replace("True", "not torch.backends.mps.is_available()")
ODD = "größe, b (1).py"
READ = ["a.py", "a.pyw", "d/a.ipynb", "a.yaml", "a.yml", "a.sh", "a.bash", "d e/a.zsh", "é.env", ".env", "d/.env", ".env.local"]
READ += ["Dockerfile", "d/Dockerfile.gpu", "train.dockerfile", "Containerfile", "Makefile", "d/GNUmakefile", "train.mk"]
UNREAD = [
    "a.txt",
    "README.md",
    "Makefile.am",
    "py",
    "a.pyc",
    "setup.cfg",
    "a.ipynb.orig",
    "a.md",
    "env",
    "yaml",
    "a.environment",
    "docker",
    "dockerfiles/a.txt",
]


def hooks() -> list[dict[str, object]]:
    """Return the hooks as they are defined."""
    found: list[dict[str, object]] = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))
    return found


def test_the_pattern_names_the_files_that_mpslint_reads() -> None:
    """Whatever mpslint knows by its name, and nothing else; but for JSON, most of which is data."""
    assert kind_of("a.json") is not None
    for hook in hooks():
        pattern = re.compile(str(hook["files"]))
        for name in (*READ, *UNREAD):
            assert (pattern.search(name) is not None) is (kind_of(name) is not None) is (name in READ), name


def environment(home: Path) -> dict[str, str]:
    """Return the environment of a newcomer with a cache of its own for pre-commit, and a name for git."""
    left_out = ("PYTHONPATH", "VIRTUAL_ENV", "CONDA_PREFIX", "FORCE_COLOR", "SKIP", "GIT_DIR", "GIT_INDEX_FILE", "GIT_WORK_TREE")
    kept = {key: value for key, value in os.environ.items() if key not in left_out}
    name = {f"GIT_{who}_{what}": f"{what}@example.com" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    return {**kept, **name, "PRE_COMMIT_HOME": str(home), "PRE_COMMIT_COLOR": "never", "PIP_COMPILE": "0", "LC_ALL": "C.UTF-8"}


@pytest.fixture(scope="session")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where pre-commit keeps what it installs, the same for all tests."""
    return tmp_path_factory.mktemp("pre-commit-home")


@pytest.fixture(scope="session")
def hook_repository(tmp_path_factory: pytest.TempPathFactory, home: Path) -> Path:
    """A git repository with a copy of this checkout."""
    copy = tmp_path_factory.mktemp("hooks") / "mpslint"
    copy_of_the_checkout(copy)
    git(copy, home, "init", "-q")
    git(copy, home, "add", "-A")
    git(copy, home, "commit", "-q", "-m", "a copy")
    return copy


@pytest.fixture
def repository(tmp_path: Path, home: Path, hook_repository: Path) -> Path:
    """A user's git repository whose configuration names the hooks."""
    folder = tmp_path / "user's repo"
    folder.mkdir()
    git(folder, home, "init", "-q")
    (folder / "mpslint.toml").write_text('select = ["MPS101"]\nexclude = ["left out/"]\n')
    rev = git(hook_repository, home, "rev-parse", "HEAD").strip()
    ids = "".join(f"      - id: {hook['id']}\n" for hook in hooks())
    (folder / ".pre-commit-config.yaml").write_text(f"repos:\n  - repo: {hook_repository}\n    rev: {rev}\n    hooks:\n{ids}")
    return folder


def git(folder: Path, home: Path, *arguments: str) -> str:
    """Run git in a folder."""
    done = subprocess.run(["git", *arguments], cwd=folder, env=environment(home), capture_output=True, text=True, check=True)
    return done.stdout


def stage(folder: Path, home: Path, **contents: str | bytes) -> None:
    """Write files and stage them all."""
    for name, content in contents.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content.encode() if isinstance(content, str) else content)
    git(folder, home, "add", "-A")


def pre_commit(folder: Path, home: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run pre-commit as its users do."""
    command = [sys.executable, "-m", "pre_commit", *arguments]
    return subprocess.run(command, cwd=folder, env=environment(home), capture_output=True, text=True, timeout=600)


def test_try_repo_fails_on_a_staged_bad_file_and_passes_on_the_fixed_one(repository: Path, home: Path, hook_repository: Path) -> None:
    """`pre-commit try-repo` installs the hook anew each time, so it is asked once; spaces, commas and non-ASCII in names are names."""
    nb = notebook("x = 1\n", BAD)
    stage(
        repository,
        home,
        **{ODD: BAD, "sub dir/n.ipynb": nb, "clean.py": CLEAN, "c.yaml": "a: 1\n", "x.sh": "echo\n", ".env": "A=1\n", "a.txt": "x"},
    )
    (repository / "unstaged.py").write_text(BAD)
    failed = pre_commit(repository, home, "try-repo", str(hook_repository), "mpslint", "--verbose")

    assert failed.returncode == 1, failed.stdout + failed.stderr
    assert "- exit code: 1" in failed.stdout
    assert f"{ODD}:2:33  warning MPS101" in failed.stdout
    assert "also sub dir/n.ipynb, cell 2, line 2" in failed.stdout
    assert "unstaged.py" not in failed.stdout
    assert "not read" not in failed.stdout

    (repository / "unstaged.py").unlink()
    stage(repository, home, **{ODD: GOOD, "sub dir/n.ipynb": nb.replace(b"fp16=True", b"fp16=False")})
    passed = pre_commit(repository, home, "run", "mpslint")
    assert passed.returncode == 0, passed.stdout + passed.stderr
    assert re.search(r"^mpslint\.+Passed$", passed.stdout, re.MULTILINE)


def test_no_matching_file_is_no_failure(repository: Path, home: Path) -> None:
    """Both hooks are skipped."""
    stage(repository, home, **{"a.txt": "fp16=True", "README.md": BAD})
    (repository / ".pre-commit-config.yaml").rename(repository / "config.txt")
    git(repository, home, "add", "-A")
    done = pre_commit(repository, home, "run", "--config", "config.txt")

    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("(no files to check)Skipped") == 2


def test_the_fixing_hook_fixes(repository: Path, home: Path) -> None:
    """It fails because it changed files, as every fixer does, and passes the second time; nothing needs torch."""
    stage(repository, home, **{ODD: BAD, "left out/b.py": BAD})
    first = pre_commit(repository, home, "run", "mpslint-fix")
    assert first.returncode == 1, first.stdout + first.stderr
    assert "files were modified by this hook" in first.stdout
    assert (repository / ODD).read_text() == GOOD
    assert (repository / "left out" / "b.py").read_text() == BAD

    git(repository, home, "add", "-A")
    second = pre_commit(repository, home, "run")
    assert second.returncode == 0, second.stdout + second.stderr
    assert not [path for name in ("torch", "transformers") for path in home.glob(f"**/site-packages/{name}")]
    assert list(home.glob("**/site-packages/mpslint"))


def test_many_files_come_in_few_calls(repository: Path, home: Path) -> None:
    """Each finding is reported once, whatever call its file came in."""
    stage(repository, home, **{f"{number} é.py": BAD for number in range(60)})
    done = pre_commit(repository, home, "run", "mpslint")
    summaries = re.findall(r"^1 warning(?: at (\d+) places)? in \d+ files?(?: of \d+)?\. For macOS", done.stdout, re.MULTILINE)
    named = re.findall(r"(\d+) é\.py(?:, line 2|:2:33)", done.stdout)
    others = re.findall(r"; and (\d+) more$", done.stdout, re.MULTILINE)

    assert done.returncode == 1
    assert sum(int(count or 1) for count in summaries) == len(set(named)) + sum(map(int, others)) == 60
    assert 1 <= len(summaries) <= 15
