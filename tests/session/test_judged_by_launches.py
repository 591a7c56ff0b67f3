"""A script that launch lines start is judged by the lines, and by its defaults only where no line starts it."""

from __future__ import annotations

from pathlib import Path

from mpslint.session.runs import check_paths
from mpslint.session.session import Options

SCRIPT = """\
import argparse

import torch
from torch.utils.data import DataLoader

if __name__ == "__main__":
    p = argparse.ArgumentParser()
    p.add_argument("-j", "--workers", type=int, default=0)
    p.add_argument("--prefetch", type=int, default=4)
    p.add_argument("--device", default="cuda")
    a = p.parse_args()
    loader = DataLoader(list(range(100)), num_workers=a.workers, prefetch_factor=a.prefetch)
    net = torch.nn.Linear(1, 1).to(a.device)
"""
REGISTRY = "REG = {}\n\n\ndef register(name):\n    def add(cls):\n        REG[name] = cls\n        return cls\n\n    return add\n"
NETS = """\
import torch
from registry import register


@register("chosen")
class Chosen(torch.nn.Module):
    def forward(self, x):
        return torch.kthvalue(x, 2)[0]


@register("spare")
class Spare(torch.nn.Module):
    def forward(self, x):
        return torch.logcumsumexp(x, 1)
"""
MAIN = 'import torch\nfrom registry import REG\nimport nets\n\nnet = REG["chosen"]().to("mps")\nnet(torch.randn(2, 3, device="mps"))\n'


def found(folder: Path, **files: str) -> dict[str, list[tuple[str, str]]]:
    """Return rule and safety of what is found in each of some files."""
    for name, text in files.items():
        (folder / name.replace("_", ".")).write_text(text)
    results = check_paths([str(folder)], Options(isolated=True, target={"torch": "2.8.0"}))
    return {
        Path(result.path).name: [(one.rule, one.fix.safety.value if one.fix is not None else "") for one in result.findings]
        for result in results
    }


def test_without_lines_the_defaults_count(tmp_path: Path) -> None:
    """No workers and CUDA."""
    assert [rule for rule, _ in found(tmp_path, train_py=SCRIPT)["train.py"]] == ["MPS502", "MPS606"]


def test_lines_that_give_every_option_leave_no_default(tmp_path: Path) -> None:
    """Neither the default device nor the prefetching, which the launched run uses, is found or taken away."""
    assert found(tmp_path, train_py=SCRIPT, run_sh="#!/bin/sh\npython train.py -j 8 --device mps\n")["train.py"] == []


def test_one_line_without_an_option_is_enough(tmp_path: Path) -> None:
    """The second line has no workers, so prefetch_factor raises there, and no safe fix takes from the first what it uses."""
    lines = "#!/bin/sh\npython train.py -j 8 --device mps\npython train.py --device mps\n"
    said = found(tmp_path, train_py=SCRIPT, run_sh=lines)
    assert [one for rules in said.values() for one in rules] == [("MPS606", "manual")]


def test_a_registry_in_another_file_gives_the_class_that_is_chosen(tmp_path: Path) -> None:
    """A decorator of the project puts the class there; the one that no run asks for isn't judged as if it ran on the GPU."""
    said = found(tmp_path, registry_py=REGISTRY, nets_py=NETS, main_py=MAIN)
    assert [rule for rule, _ in said["nets.py"]] == ["MPS910"]
