"""A user's own stubs, which `stubs` in the configuration names: whatever is in one, mpslint says a line and goes on."""

from __future__ import annotations

from pathlib import Path

import pytest

from mpslint.core.finding import UsageError
from mpslint.core.folders import forget_disk
from mpslint.core.notices import taken
from mpslint.program.stubs.library import library_of
from mpslint.session.runs import check_paths
from mpslint.session.session import Options

BIG = "s = 'x'\nfor i in range(16):\n    s = s + s\n"
PAIRS = "a = [1]\nb = [1]\nfor i in range(60):\n    a = [a, a]\n    b = [b, b]\n"
LONG = {
    "equality": f"{PAIRS}found = a == b\n",
    "membership": f"{PAIRS}found = a in [b]\n",
    "text": f"{PAIRS}found = str(a)\n",
    "format": f"{PAIRS}found = f'{{a}}'\n",
    "hash": "a = (1, 1)\nfor i in range(60):\n    a = (a, a)\nfound = {a: 1}\n",
    "rest": "def f(n, *a):\n    return f(n - 1, a, a) if n > 0 else {a: 1}\nfound = f(35, 1)\n",
    "in itself": "a = []\na.append(a)\nb = []\nb.append(b)\nfound = a == b\n",
    "range": "found = list(range(1000000000000))\n",
    "join": f"{BIG}found = s.join([s for i in range(9999)])\n",
    "replace": f"{BIG}found = s.replace('x', s)\n",
    "extend": "a = [1]\nfor i in range(60):\n    a.extend(a)\n",
    "sums": "n = 1\nwhile True:\n    n = n + n\n",
}
WRONG = {
    "t.py:2: Import can't be in a stub": "x = 1\nimport os\n",
    "t.py:1: ImportError: a stub can't import system from os": "from os import system\n",
    "t.py:1: ImportError: a stub can't import x from stubs.t": "from stubs.t import x\n",
    "t.py:2: Mult can't be in a stub": "def f():\n    return 'x' * 9\n",
    "t.py:1: a decorator can't be in a stub": "@staticmethod\ndef f():\n    pass\n",
    "t.py:1: AttributeError: no __class__": "x = ().__class__\n",
    "t.py:1: '(' was never closed": "x = (\n",
    "t.py:1: it nests too deeply": f"x = {'1+' * 5000}1\n",
    "t.py:1: source code string cannot contain null bytes": "x = 1\0",
}
PROGRAM = "import torch\nimport t\nmodel = torch.nn.Linear(2, 2).to(t.option('cuda'))\n"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / ".git").mkdir()
    (tmp_path / "stubs").mkdir()
    (tmp_path / "mpslint.toml").write_text('stubs = ["stubs"]\n')
    (tmp_path / "train.py").write_text(PROGRAM)
    return tmp_path


def found_in(project: Path, stub: str) -> list[str]:
    (project / "stubs" / "t.py").write_text(stub)
    forget_disk()
    return [finding.rule for result in check_paths([str(project / "train.py")], Options()) for finding in result.findings]


@pytest.mark.parametrize("what", LONG)
def test_whatever_takes_long_or_grows_is_a_line(what: str, tmp_path: Path) -> None:
    (tmp_path / "t.py").write_text(LONG[what])
    with pytest.raises(UsageError, match=r"t\.py:\d+: .*(takes more than|a value of more than) [\d,]+ (steps|items)"):
        library_of((tmp_path,)).read_all()


@pytest.mark.parametrize("said", WRONG)
def test_a_mistake_is_one_of_the_configuration(said: str, project: Path) -> None:
    """Whatever the file is that is checked."""
    (project / "train.py").write_text("x = 1\n")
    with pytest.raises(UsageError) as error:
        found_in(project, WRONG[said])
    assert str(error.value).endswith(said) or (said.partition(": ")[0] in str(error.value) and "'('" in said)
    assert len(str(error.value).splitlines()) == 1


def test_a_stub_says_what_the_library_gives(project: Path) -> None:
    """And a changed one what it gives then."""
    assert "MPS501" in found_in(project, "def option(default):\n    return default\n")
    assert "MPS501" not in found_in(project, "def option(default):\n    return 'cpu'\n")


def test_a_stub_counts_for_more_than_the_module_of_the_project(project: Path) -> None:
    (project / "t.py").write_text("import os\ndef option(default):\n    return os.environ['DEVICE']\n")
    (project / "run.sh").write_text("python train.py\n")
    (project / "stubs" / "t.py").write_text("def option(default):\n    return default\n")
    found = {finding.rule for result in check_paths([str(project)], Options()) for finding in result.findings}
    assert found & {"MPS501", "MPS502"}


@pytest.mark.parametrize(
    "stub",
    [
        "def option(default):\n    if default:\n        return 'cpu'\n",
        "from stubs.host import plain, unknown\ndef option(default):\n    return 'cpu' if plain(unknown) else default\n",
        "from stubs.host import plain, unknown\ndef option(default):\n    return 'cpu' if plain(unknown) == 1 else default\n",
        "from stubs.host import plain, unknown\ndef option(default):\n    return 'cpu' if plain(unknown) in ('a', 'b') else default\n",
        "def option(default):\n    while True:\n        pass\n",
        "def option(default):\n    a = []\n    a.append(a)\n    return a\n",
        "def option(default):\n    d = {'x': 1}\n    for k in d:\n        d[k + 'x'] = 1\n",
        "from stubs.host import fields_of\ndef option(default):\n    return fields_of(1)\n",
    ],
)
def test_a_mistake_that_a_call_shows_is_a_line(stub: str, project: Path) -> None:
    taken()
    found_in(project, stub)
    lines = [line for line in taken().values() if line]
    assert [line for line in lines if "stubs/t.py:" in line]
    assert all(len(line.splitlines()) == 1 for line in lines)


def test_calls_share_a_budget(project: Path) -> None:
    (project / "train.py").write_text(PROGRAM + "for i in range(9):\n" + "    t.option(i)\n" * 300)
    taken()
    found_in(project, "def option(default):\n    for i in range(60000):\n        pass\n    return default\n")
    assert [line for line in taken().values() if "takes more than" in line]


@pytest.mark.parametrize("stubs", ["..", "linked", "missing"])
def test_stubs_out_of_the_repository_are_refused(stubs: str, project: Path) -> None:
    (project / "linked").symlink_to(project.parent)
    (project / "mpslint.toml").write_text(f'stubs = ["{stubs}"]\n')
    forget_disk()
    with pytest.raises(UsageError, match=r"mpslint\.toml: stubs: "):
        list(check_paths([str(project / "train.py")], Options()))


def test_a_stub_of_the_users_own_is_not_what_shipped_ones_import(project: Path) -> None:
    """configargparse's stub builds on argparse's, whose place a user's takes for the user's programs alone."""
    (project / "stubs" / "argparse.py").write_text("def option(x):\n    return x\n")

    library = library_of((project / "stubs",))
    library.read_all()

    assert library.find("argparse.option") is not None
    assert library.find("configargparse.ArgParser") is not None
