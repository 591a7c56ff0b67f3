"""The refresh tool, on an index of tiny wheels made here, through pip itself."""

from __future__ import annotations

import importlib
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Mapping
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
# A key that the tool doesn't know.
devices: {mps: "mps-torch >= 1.0"}
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


def wheel(folder: Path, name: str, version: str, tags: str, *metadata: str, files: Mapping[str, str | bytes] | None = None) -> None:
    """Write a wheel with its metadata and these files."""
    plain = name.replace("-", "_")
    with zipfile.ZipFile(folder / f"{plain}-{version}-{tags}.whl", "w") as file:
        lines = ["Metadata-Version: 2.1", f"Name: {name}", f"Version: {version}", *metadata, ""]
        file.writestr(f"{plain}-{version}.dist-info/METADATA", "\n".join(lines))
        file.writestr(f"{plain}-{version}.dist-info/WHEEL", f"Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: {tags}\n")
        file.writestr(f"{plain}-{version}.dist-info/RECORD", "")
        for path, text in (files or {}).items():
            file.writestr(path, text)


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


def test_nothing_is_written_unless_asked(tmp_path: Path) -> None:
    """The exit code says that the tables are older than the index."""
    pytest.importorskip("pip")
    folder = tmp_path / "rules" / "platform"
    folder.mkdir(parents=True)
    (folder / "versions.yaml").write_text(VERSIONS)
    (tmp_path / "wheels").mkdir()
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


TRAINER = """\
from mps_trainer.base import BaseArguments

class Arguments(BaseArguments):
    {fields}
    steps: int = 1

class Runner:
    def __init__(self, model, *, {taken}): ...
"""
BASE = "class BaseArguments:\n    seed: int = 0\n"


def trainer(folder: Path, version: str, fields: str, taken: str, exported: str) -> None:
    """Write a release of a package with arguments, and names that it exports."""
    files = {
        "mps_trainer/__init__.py": f"from mps_trainer.run import {exported}\n",
        "mps_trainer/run.py": TRAINER.format(fields=fields, taken=taken),
        "mps_trainer/base.py": BASE,
        "mps_trainer/experimental/run.py": "class Arguments:\n    other: int = 0\n",
    }
    wheel(folder, "mps-trainer", version, "py3-none-any", files=dict(files))


@pytest.fixture
def tables(tmp_path: Path) -> Path:
    """A folder of rules with tables to rebuild, and three releases of a package beside it; the tables know the first two."""
    pytest.importorskip("pip")
    platform = tmp_path / "rules" / "platform"
    platform.mkdir(parents=True)
    (tmp_path / "rules" / "precision").mkdir()
    (tmp_path / "wheels").mkdir()
    (platform / "versions.yaml").write_text(
        'date: "2026-01-01"\nnewest:\n  mps-trainer: "1.1.0"\nreleased:\n  mps-trainer: "1.0.0 1.1.0 1.2.0"\n'
    )
    trainer(tmp_path / "wheels", "1.0.0", "old: int = 0", "tokenizer=None", "Runner, Arguments, Helper")
    trainer(tmp_path / "wheels", "1.1.0", "new: int = 0", "tokenizer=None", "Runner, Arguments, Helper")
    trainer(tmp_path / "wheels", "1.2.0", "new: int = 0", "processor=None", "Runner, Arguments")
    return tmp_path / "rules"


def test_argument_tables_are_corrected_and_extended(tables: Path) -> None:
    """A false bound moves to where the wheels change; an argument of the newest release gets a row; what is true stays as written."""
    path = tables / "platform" / "arguments.yaml"
    path.write_text(
        "mps_trainer.Arguments:\n"
        '  old: {exists: "mps-trainer < 1.2", use: new}  # renamed\n'
        '  new: {exists: "mps-trainer >= 1.1"}\n'
        '  seed: {exists: "mps-trainer >= 1.0"}\n'
        "mps_trainer.Runner:\n"
        '  model: {exists: "mps-trainer >= 1.0"}\n'
    )
    (tables / "precision" / "MPS101-a.yaml").write_text("when: {check: arguments, table: arguments}\n")
    shown = refreshed(tables, "--step", "arguments", "--bounds", "--write")

    assert "mps_trainer.Arguments.old: 1.1.0 lacks it, against mps-trainer < 1.2; now mps-trainer < 1.1" in shown.stdout
    assert "mps_trainer.Runner.tokenizer: removed, mps-trainer < 1.2" in shown.stdout
    assert "mps_trainer.Runner.processor: new, mps-trainer >= 1.2" in shown.stdout
    assert "rules that rest on it: MPS101" in shown.stdout
    assert path.read_text() == (
        "mps_trainer.Arguments:\n"
        '  old: {exists: "mps-trainer < 1.1", use: new}  # renamed\n'
        '  new: {exists: "mps-trainer >= 1.1"}\n'
        '  seed: {exists: "mps-trainer >= 1.0"}\n'
        "mps_trainer.Runner:\n"
        '  model: {exists: "mps-trainer >= 1.0"}\n'
        '  processor: {exists: "mps-trainer >= 1.2"}\n'
        '  tokenizer: {exists: "mps-trainer < 1.2"}\n'
    )


def test_names_that_the_newest_release_lost_are_added(tables: Path) -> None:
    """A name that a package no longer exports gets a row; the reader is told to say what replaces it."""
    path = tables / "platform" / "removed_names.yaml"
    path.write_text('names:\n  mps_trainer.Gone: {exists: "mps-trainer < 1.0", instead: "Nothing."}\n')
    shown = refreshed(tables, "--step", "names", "--write")

    assert "mps_trainer.Helper: removed, mps-trainer < 1.2; say what replaces it" in shown.stdout
    assert yaml.safe_load(path.read_text())["names"]["mps_trainer.Helper"] == {"exists": "mps-trainer < 1.2"}


def test_gone_modules_and_versions_that_nobody_has_are_named(tables: Path) -> None:
    """A module below the package that the newest release lacks, with its names; a least version above what the index has."""
    (tables / "platform" / "removed_names.yaml").write_text(
        'names:\n  mps_trainer.Gone: {exists: "mps-trainer < 1.0", instead: "Nothing."}\n'
    )
    versions = tables / "platform" / "versions.yaml"
    versions.write_text(versions.read_text() + '  mps: "0.9"\n')
    wheels = tables.parent / "wheels"
    for version, files in (
        ("1.1.0", {"mps_trainer/__init__.py": "", "mps_trainer/masks.py": "class Mask: ...\ndef mask(): ...\n"}),
        ("1.2.0", {"mps_trainer/__init__.py": "", "mps_trainer/adapters.py": 'MIN_MPS_VERSION = "1.0"\n'}),
    ):
        (wheels / f"mps_trainer-{version}-py3-none-any.whl").unlink()
        wheel(wheels, "mps-trainer", version, "py3-none-any", files=files)
    shown = refreshed(tables, "--step", "names")

    assert "mps_trainer.masks: mps-trainer 1.2.0 lacks the module; add its names by hand: Mask, mask" in shown.stdout
    assert "mps-trainer 1.2.0 asks for mps 1.0 (mps_trainer/adapters.py), and the newest is 0.9" in shown.stdout


NATIVE = """\
- func: relu(Tensor self) -> Tensor
  dispatch:
    CPU: relu_cpu
    {relu}
- func: mode(Tensor self) -> Tensor
  dispatch:
    CPU: mode_cpu
- func: square(Tensor self) -> Tensor
- func: gelu(Tensor self) -> Tensor
  structured_delegate: gelu.out
- func: gelu.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)
  dispatch:
    CPU: gelu_cpu
    MPS: gelu_mps
{more}"""
ADDED = "- func: swirl(Tensor self) -> Tensor\n  dispatch:\n    CPU: swirl_cpu\n- func: sparse_swirl(Tensor self) -> Tensor\n  dispatch:\n    CPU: s\n"
GRAPH = (
    b"\0__ZZN2at6native3mps7mm_implERKNS_6TensorEE11CachedGraphC1EP8MPSGraph\0"
    b"\0__ZNSt3__110__function6__funcIZN2at6native12_GLOBAL__N_18new_funcERKNS_6TensorEE3$_0FvP8MPSGraphPN11CachedGraphEEE\0"
)


@pytest.fixture
def torch_tables(tmp_path: Path) -> Path:
    """A folder of rules with the tables of kernels and graphs, and two releases of torch beside it; the tables know the first."""
    pytest.importorskip("pip")
    platform = tmp_path / "rules" / "platform"
    platform.mkdir(parents=True)
    (tmp_path / "wheels").mkdir()
    (platform / "versions.yaml").write_text('date: "2026-01-01"\nnewest:\n  torch: "2.1.0"\nreleased:\n  torch: "2.1.0 2.2.0"\n')
    native, library = "torchgen/packaged/ATen/native/native_functions.yaml", "torch/lib/libtorch_cpu.dylib"
    for version, text, symbols in (
        ("2.1.0", NATIVE.format(relu="CUDA: relu_cuda", more=""), GRAPH.replace(b"new_func", b"old_func")),
        ("2.2.0", NATIVE.format(relu="MPS: relu_mps", more=ADDED), GRAPH),
    ):
        wheel(tmp_path / "wheels", "torch", version, "cp312-cp312-macosx_14_0_arm64", files={native: text, library: symbols})
    return tmp_path / "rules"


def test_kernels_move_to_the_release_that_brings_them(torch_tables: Path) -> None:
    """An operator with a new kernel gets its first version, a new operator without one is listed, sparse ones are not."""
    path = torch_tables / "platform" / "operators.yaml"
    path.write_text('# kept\nfirst:\n  "2.1": [\n    gelu\n  ]\nnever: [\n    mode, relu\n  ]\n# kept too\ncases: []\n')
    shown = refreshed(torch_tables, "--step", "operators", "--write")

    assert "relu: has a kernel since torch 2.2" in shown.stdout
    assert "swirl: new in torch 2.2, without a kernel" in shown.stdout
    after = yaml.safe_load(path.read_text())
    assert after == {"first": {"2.1": ["gelu"], "2.2": ["relu"]}, "never": ["mode", "swirl"], "cases": []}
    assert path.read_text().startswith("# kept\nfirst:")
    assert "# kept too\n" in path.read_text()


def test_graph_functions_end_and_begin_with_the_symbols(torch_tables: Path) -> None:
    """A function whose symbols are gone ends with the release before; a new one gets a row without operators."""
    path = torch_tables / "platform" / "graph_cache.yaml"
    path.write_text(
        'first: "2.1"\nfunctions:\n  - {function: "mm_impl", since: "2.1", ops: [mm]}\n  - {function: "old_func", since: "2.1", ops: [abs]}\n'
    )
    shown = refreshed(torch_tables, "--step", "graphs", "--write")

    assert "old_func: torch 2.2.0 keeps no graphs there; ends with 2.1" in shown.stdout
    assert "new_func: torch 2.2.0 keeps graphs there; say which operators lead to it" in shown.stdout
    assert yaml.safe_load(path.read_text())["functions"] == [
        {"function": "mm_impl", "since": "2.1", "ops": ["mm"]},
        {"function": "old_func", "since": "2.1", "until": "2.1", "ops": ["abs"]},
        {"function": "new_func", "since": "2.2", "ops": []},
    ]


def test_names_of_torch_are_those_of_the_release(torch_tables: Path) -> None:
    """A new name of `__all__` and a new variable get a row; a name that the release lacks is told."""
    names, variables = torch_tables / "platform" / "names.yaml", torch_tables / "platform" / "environment.yaml"
    names.write_text('torch.mps:\n  old: {since: "2.1"}\n  gone: {since: "2.1"}\ncomplete: []\n')
    variables.write_text('variables:\n  PYTORCH_MPS_OLD: {since: "2.1"}\nprefixes: []\n')
    files = {
        "torch/mps/__init__.py": "def old(): ...\n\n\n__all__ = ['old', 'new']\n",
        "torch/lib/libtorch_cpu.dylib": b"\0PYTORCH_MPS_OLD\0PYTORCH_MPS_NEW\0",
    }
    wheel(torch_tables.parent / "wheels", "torch", "2.2.0", "cp312-cp312-macosx_14_0_arm64", files=files)
    shown = refreshed(torch_tables, "--step", "torch", "--write").stdout
    assert "torch.mps.gone: torch 2.2.0 lacks it, against the table" in shown
    assert yaml.safe_load(names.read_text())["torch.mps"]["new"] == {"since": "2.2"}
    assert yaml.safe_load(variables.read_text())["variables"]["PYTORCH_MPS_NEW"] == {"since": "2.2"}


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("def other():\n    run(1)\n\n\ndef step():\n    return run(\n        1\n    )\n", 6),
        ("def step():\n    run(1)\n    run(1)\n", None),
        ("def step():\n    walk(1)\n", None),
    ],
)
def test_a_traced_line_is_where_its_statement_begins(text: str, line: int | None, monkeypatch: pytest.MonkeyPatch) -> None:
    """In its function, and only where one statement holds the code."""
    monkeypatch.syspath_prepend(TOOL.parent)
    assert importlib.import_module("refresh.traced").line_of(text, "step", "run(") == line


def test_lines_of_a_new_release_are_added(torch_tables: Path) -> None:
    """traced_lines.yaml gets the number of the newest release beside those that it has."""
    path = torch_tables / "platform" / "traced_lines.yaml"
    path.write_text('# kept\ntorch/run.py:step:\n  written: engine.run(\n  lines: {"2.1.0": 2}\n')
    files = {"torch/run.py": "def step():\n    x = 1\n    return engine.run(x)\n"}
    wheel(torch_tables.parent / "wheels", "torch", "2.2.0", "cp312-cp312-macosx_14_0_arm64", files=files)
    assert "torch/run.py:step: line 3 in 2.2.0" in refreshed(torch_tables, "--step", "tracebacks", "--write").stdout
    assert path.read_text() == '# kept\ntorch/run.py:step:\n  written: engine.run(\n  lines: {"2.1.0": 2, "2.2.0": 3}\n'


def test_sources_are_opened(tables: Path) -> None:
    """A file with its names at both ends of a range is proved; one that lacks a name is refuted, and the exit code says so."""
    rule = tables / "precision" / "MPS101-a.yaml"
    rule.write_text(
        "sources:\n"
        "  - mps_trainer/run.py, 1.0 to 1.2 (Arguments, Runner)\n"
        "  - mps_trainer/run.py, absent in 1.0, 1.1 to 1.2 (new)\n"
        "  - https://github.com/mps/trainer/issues/1\n"
    )
    shown = refreshed(tables, "--step", "sources")
    assert (shown.returncode, "2 proved, 0 refuted, 0 unread, 1 not checkable" in shown.stdout) == (0, True)

    rule.write_text("sources:\n  - mps_trainer/run.py, 1.0 to 1.2 (tokenizer)\n  - mps_trainer/run.py, 1.0 and 9.9 (Runner)\n")
    table = tables / "platform" / "arguments.yaml"
    table.write_text('mps_trainer.Arguments:\n  old: {exists: "mps-trainer < 1.2"}\n')
    before = table.read_text()
    shown = refreshed(tables, "--step", "sources", "--step", "arguments", "--bounds", "--write")
    assert (shown.returncode, table.read_text()) == (1, before)
    assert "not written, as sources are refuted" in shown.stdout
    assert (
        "MPS101: mps_trainer/run.py, 1.0 to 1.2 (tokenizer): refuted: mps-trainer 1.2.0: tokenizer not in mps_trainer/run.py"
        in shown.stdout
    )
    assert "unread: no wheel of mps-trainer 9.9" in shown.stdout


def test_sources_of_tables_are_opened(tables: Path) -> None:
    """What a row or a comment of a table kept by hand gives as its source is opened as a rule's is; prose without versions is none."""
    table = tables / "platform" / "kept.yaml"
    table.write_text(
        "# Rows by hand, see mps_trainer/run.py.\n# (mps_trainer/run.py of 1.2: Runner.)\n"
        'rows:\n  - {name: a, sources: ["mps_trainer/run.py, 1.0 (Arguments)"]}\n'
        '  - {name: b, source: "mps_trainer/run.py, 1.2 (gone)"}\n'
    )
    shown = refreshed(tables, "--step", "sources")

    assert "2 proved, 1 refuted, 0 unread, 0 not checkable" in shown.stdout
    assert "kept: mps_trainer/run.py, 1.2 (gone): refuted" in shown.stdout


def test_names_of_tables_kept_by_hand_are_looked_up(tables: Path) -> None:
    """A name that the newest release lost is named with its table; files, classes, attributes and methods of others are found."""
    with zipfile.ZipFile(next((tables.parent / "wheels").glob("mps_trainer-1.1.0-*")), "a") as file:
        file.writestr("mps_trainer/old.py", "def started(): ...\n")
    (tables / "platform" / "kept.yaml").write_text(
        "calls: [mps_trainer.run.Runner, mps_trainer.Arguments.steps, mps_trainer.Runner.__call__]\n"
        "answers: {mps_trainer.old.started: true, mps_trainer.nowhere: 1, other.package: 2}\n"
    )
    shown = refreshed(tables, "--step", "paths")

    assert "mps_trainer.old.started (kept.yaml): gone in mps-trainer 1.2.0; correct it by hand" in shown.stdout
    assert "3 names found, 2 of older releases or made while a package runs, 0 unread" in shown.stdout


DETERMINISM = '''
def use_deterministic_algorithms(mode, *, warn_only=False):
    r"""Sets it.

        * :class:`torch.nn.Embedding` when attempting to differentiate an MPS tensor
        * :func:`torch.kthvalue` when called on an MPS tensor
        * :func:`torch.nn.functional.interpolate` when attempting to differentiate an MPS tensor in some cases
        * :func:`torch.bincount` when called on a CUDA tensor
    """
'''


def test_what_torch_says_of_determinism_has_a_row(torch_tables: Path) -> None:
    """An operator that the documentation lists for MPS, and no row does, is named."""
    files = {"torch/__init__.py": DETERMINISM}
    wheel(torch_tables.parent / "wheels", "torch", "9.9.0", "cp312-cp312-macosx_14_0_arm64", files=dict(files))
    versions = torch_tables / "platform" / "versions.yaml"
    versions.write_text('date: "2026-01-01"\nnewest:\n  torch: "9.9.0"\nreleased:\n  torch: "9.9.0"\n')
    (torch_tables / "platform" / "operator_calls.yaml").write_text("calls:\n  - {call: [torch.nn.Embedding], kind: nondeterministic}\n")
    shown = refreshed(torch_tables, "--step", "paths")

    assert "torch.kthvalue: raises on MPS in torch 9.9 under deterministic algorithms; add a row that says so" in shown.stdout
    assert "2 operators that raise on MPS under deterministic algorithms" in shown.stdout
    assert "Embedding: raises" not in shown.stdout


def test_no_more_wheels_are_downloaded_than_allowed(tables: Path) -> None:
    """The limit stops a step and says so."""
    (tables / "platform" / "arguments.yaml").write_text('mps_trainer.Arguments:\n  old: {exists: "mps-trainer < 1.1"}\n')
    shown = refreshed(tables, "--step", "arguments", "--bounds", "--downloads", "1")

    assert "arguments: stopped at mps-trainer" in shown.stdout
    assert "1 wheels downloaded" in shown.stdout
