"""What a choice by the platform gives on a Mac, and elsewhere, is asked of its values, however it is written."""

from __future__ import annotations

import pytest

from mpslint.api import check

HEAD = "import sys\nimport torch\n\n"
PLACES = "net = torch.nn.Linear(2, 2).to(device)\n"


def rules_of(text: str) -> set[str]:
    return {finding.rule for finding in check(HEAD + text).findings}


@pytest.mark.parametrize(
    "choice",
    [
        "has = int(torch.cuda.is_available())\ndevice = ('cpu', 'cuda')[has]\n",
        "has = torch.cuda.is_available()\ndevice = torch.device(has and 'cuda' or 'cpu')\n",
        "best = f'cuda:{sys.argv[1]}'\ndevice = best if torch.cuda.is_available() else 'cpu'\n",
        "cpu = 'cpu'\ndevice = 'cuda' if torch.cuda.is_available() else cpu\n",
        "device, number = ('cuda', 2) if torch.cuda.is_available() else ('cpu', 1)\n",
        "if torch.cuda.is_available():\n    device, number = 'cuda', 2\nelse:\n    device, number = 'cpu', 1\n",
        "device = 'cuda'\nif not torch.cuda.is_available():\n    device = 'cpu'\n",
        "import argparse\nparser = argparse.ArgumentParser()\nparser.add_argument('--on', default='cpu')\ndevice = torch.device(parser.parse_args().on if torch.cuda.is_available() else 'cpu')\n",
        "device = sys.argv[1]\nif device != 'cpu' and not torch.cuda.is_available():\n    device = 'cpu'\n",
        "device = {True: 'cuda'}.get(torch.cuda.is_available(), 'cpu')\n",
        "def pick():\n    if torch.cuda.is_available():\n        return torch.device('cuda'), 2\n    return torch.device('cpu'), 1\n\n\ndevice, number = pick()\n",
        "def pick():\n    if torch.cuda.is_available():\n        return 'cuda'\n    name = 'cpu'\n    return name\n\n\ndevice = pick()\n",
    ],
)
def test_the_cpu_for_want_of_cuda_is_told(choice: str) -> None:
    """Each gives the CPU on a Mac, and a device of CUDA's where there is one."""
    assert "MPS503" in rules_of(choice + PLACES)


@pytest.mark.parametrize(
    "choice",
    [
        "device = 'cpu'\nif torch.cuda.is_available():\n    device = 'cuda'\nelse:\n    sys.exit('no GPU')\n",
        "device = 'cpu' if torch.cuda.is_available() else 'cpu'\n",
        "device = 'cpu'\nif torch.cuda.is_available():\n    device = 'cuda'\nelif torch.backends.mps.is_available() and ALLOWED:\n    device = 'mps'\n",
        "device = None if torch.cuda.is_available() else 'cpu'\n",
        "device = 'mps'\nname = torch.cuda.get_device_name(0) if torch.cuda.is_available() else 'cpu'\nsys.path.append(name)\n",
    ],
)
def test_another_choice_is_none_between_cuda_and_the_cpu(choice: str) -> None:
    """What gives the CPU everywhere, ends without CUDA, or is no device where there is CUDA."""
    assert "MPS503" not in rules_of(choice + PLACES)


def test_a_function_that_is_not_called_is_no_answer() -> None:
    """`torch.cuda.is_available` without a call is always true, whatever name it goes by."""
    text = "has = torch.cuda.is_available\ndevice = 'cuda' if has else 'cpu'\n" + PLACES
    found = [finding for finding in check(HEAD + text).findings if finding.rule == "MPS501"]
    assert found
    assert all("without calling it" in finding.fix for finding in found)


def test_what_is_passed_over_is_no_use() -> None:
    """The branch that a Mac passes over reads the device, and nothing else does."""
    text = "device = 'cuda' if torch.cuda.is_available() else 'cpu'\nif torch.cuda.is_available():\n    other = device\nprint(1)\n"
    assert "MPS503" not in rules_of(text + "for _ in range(2):\n    print(2)\n")
