"""Trainings in the forms that people write them: each script's first lines say the verdict that it must get.

`# expect: pass`, `# expect: fail: PATTERN`, `# expect: inconclusive: PATTERN`, or `notfail` where values that no emulation
has decide. The scripts are in the style of their authors, which is the point of them.
Those that load libraries take a minute together, so they run where MPSLINT_ALL_FORMS is set.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from mpslint.verify.process import ChildLimits
from mpslint.verify.script import ScriptOptions, verify_script

pytest.importorskip("torch")
pytest.importorskip("datasets")

FOLDER = Path(__file__).parent / "forms"
EXPECT = re.compile(r"# expect: (\w+)(?:: ([^;\n\"]*))?(?:; requires (\w+))?(?:; requires (\w+))?")
HEAVY = re.compile(
    r"^(from|import) (transformers|datasets|accelerate|trl|peft|diffusers|lightning|pytorch_lightning|torch_geometric)", re.MULTILINE
)
USUAL = ("hf_trainer_workers", "accelerate_loop")
"""Forms with a library that always run."""
FORMS = sorted([*FOLDER.glob("*.py"), *FOLDER.glob("*.ipynb")])


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a project with the scripts, tiny models and data beside them."""
    place = tmp_path_factory.mktemp("forms")
    for path in FORMS:
        shutil.copy(path, place)
    subprocess.run([sys.executable, "-m", "tests.verify.tiny", str(place)], cwd=Path(__file__).parents[2], check=True, capture_output=True)
    return place


@pytest.mark.parametrize("path", FORMS, ids=lambda path: path.stem)
def test_form_gets_its_verdict(path: Path, folder: Path) -> None:
    """A sound training passes, a defect fails for its own reason, and a limit of mpslint is never a failure."""
    found = EXPECT.search(path.read_text(encoding="utf-8"))
    assert found is not None
    kind, words, *needed = found.groups()
    if HEAVY.search(path.read_text(encoding="utf-8")) and path.stem not in USUAL and not os.environ.get("MPSLINT_ALL_FORMS"):
        pytest.skip("MPSLINT_ALL_FORMS is not set")
    for package in needed:
        if package and find_spec(package) is None:
            pytest.skip(f"{package} is not installed")
    report = verify_script(folder / path.name, ScriptOptions(limits=ChildLimits(seconds=90)))
    checks = [check for verdict in report.verdicts for check in verdict.checks]
    said = "\n".join([report.problem, *(f"{check.name}: {check.status}: {check.reason} {check.line}" for check in checks)])
    if kind == "notfail":
        assert report.status in ("pass", "inconclusive"), said
        return
    assert report.status == kind, said
    if words:
        assert any(check.status == kind and re.search(words, f"{check.reason} {check.line}") for check in checks), said
