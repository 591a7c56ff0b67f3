"""What a library takes of several places of a project: the words of its launch line, files, and what the program notes."""

from __future__ import annotations

from pathlib import Path

import pytest

from mpslint.session.runs import check_paths
from mpslint.session.session import Options

STORED = """\
import hydra, torch
from hydra.core.config_store import ConfigStore
from dataclasses import dataclass
@dataclass
class C:
    device: str = "cpu"
    other: str = "cpu"
store = ConfigStore.instance()
store.store(name="c", node=C(device="cuda"))
@hydra.main(version_base=None, config_name="c")
def main(cfg: C):
    torch.nn.Linear(2, 2).to(cfg.device)
main()
"""
COMPOSED = """\
import hydra, torch
@hydra.main(version_base=None, config_path="conf", config_name="c")
def main(cfg):
    torch.nn.Linear(2, 2).to(cfg.device)
main()
"""
CASES = {
    "the object that is stored": (STORED, "", True),
    "what words say": (STORED, " device=cpu", False),
    "a key that is removed": (STORED, " ~device", False),
    "several runs": (STORED, " -m device=cuda,cpu", False),
    "another class": (STORED.replace('config_name="c"', 'config_name="d"'), "", False),
    "nothing that is named": (STORED.replace(', config_name="c"', ""), "", False),
    "a file": (COMPOSED, "", True),
    "a key of a file that is removed": (COMPOSED, " ~device", False),
}


@pytest.mark.parametrize("case", CASES)
def test_a_device_is_said_of_a_run_as_hydra_gives_it(case: str, tmp_path: Path) -> None:
    script, words, is_cuda = CASES[case]
    (tmp_path / ".git").mkdir()
    (tmp_path / "conf").mkdir()
    (tmp_path / "conf" / "c.yaml").write_text("device: cuda\n")
    (tmp_path / "train.py").write_text(script)
    (tmp_path / "run.sh").write_text(f"python train.py{words}\n")
    found = [one for result in check_paths([str(tmp_path)], Options()) for one in result.findings if one.rule == "MPS501"]
    assert bool([entry for one in found for entry in one.entries if entry.path.endswith("run.sh")]) is is_cuda
