"""The tables that tests refresh."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.refresh.wheels import ADDED, GRAPH, NATIVE, REQUIREMENTS, VERSIONS, trainer, wheel


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
