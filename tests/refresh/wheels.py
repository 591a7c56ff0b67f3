"""Wheels that tests make, and the program run over them."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).parents[2]
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


def refreshed(rules: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the tool on the wheels beside the rules."""
    command = (sys.executable, str(TOOL), "--rules", str(rules), "--find-links", str(rules.parent / "wheels"), "--date", "2026-02-02")
    return subprocess.run((*command, *arguments), capture_output=True, text=True, check=False)


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
