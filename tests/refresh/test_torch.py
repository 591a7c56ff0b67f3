"""What the wheels of torch say: kernels, graphs, names, lines, determinism."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest
import yaml

from tests.refresh.wheels import TOOL, refreshed, wheel


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


def test_what_models_and_autocast_are_by_default_is_compared(torch_tables: Path) -> None:
    """A parameter that its class has by default, one that a checkpoint sets, one of no class, and an operator that autocast casts."""
    platform, wheels = torch_tables / "platform", torch_tables.parent / "wheels"
    configuration = "transformers/models/small/configuration_small.py"
    fields = 'class SmallConfig(Base):\n    model_type = "small"\n    attribute_map = {"width": "d"}\n    d: int = 8\n    heads: tuple = (2, 2)\n'
    wheel(wheels, "transformers", "9.9.0", "py3-none-any", files={configuration: f"class Base:\n    dtype: str = None\n\n\n{fields}"})
    symbols = b"\0_CastPolicyE0ELN3c1010DeviceTypeE13EFNS_4_ops3mul4call\0_CastPolicyE1ELN3c1010DeviceTypeE13EFNS_4_ops5pow_24call\0"
    wheel(wheels, "torch", "9.9.0", "cp312-cp312-macosx_14_0_arm64", files={"torch/lib/libtorch_cpu.dylib": symbols})
    released = 'newest:\n  torch: "9.9.0"\nreleased:\n  torch: "9.9.0"\n  transformers: "9.9.0"\n'
    (platform / "versions.yaml").write_text(f'date: "2026-01-01"\n{released}')
    (platform / "models").mkdir()
    rows = "small:\n  defaults: {model_type: small, heads: [2, 2], dtype: half}\n  checkpoints:\n    small-1: {d: 8, width: 4, drop: 0.1}\n"
    (platform / "models" / "encoders.yaml").write_text(rows)
    (platform / "autocast.yaml").write_text("mps: {half: [mul], float32: [exp]}\n")
    shown = refreshed(torch_tables, "--step", "paths").stdout

    assert "small-1: SmallConfig has no drop" in shown
    assert "3 parameters of models have the defaults of their classes, 2 are set by checkpoints" in shown
    assert "pow_2: autocast casts it; autocast.yaml lacks it" in shown
    assert "1 operators that autocast casts on MPS are listed as it does" in shown
