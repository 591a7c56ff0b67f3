"""Which use of CUDA a finding names."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from click.testing import CliRunner

import mpslint
from mpslint.cli import group
from mpslint.engine import check
from mpslint.source.reader import read
from mpslint.target.target import default_target

LOADED_IN_A_TRY = """
import argparse
import sys

import torch
from transformers import CLIPTextModel

parser = argparse.ArgumentParser()
parser.add_argument("--device", default="cuda")
args = parser.parse_args()
try:
    encoder = CLIPTextModel.from_pretrained("base").to(args.device, dtype=torch.float32)
except Exception as error:
    print(f"Error loading base models: {error}")
    sys.exit(1)
generator = torch.Generator(device=args.device).manual_seed(1)
"""


def test_a_use_that_a_handler_catches_is_named_before_one_that_may_not_be_reached() -> None:
    """The program ends in the handler, so `torch.Generator` raises nothing."""
    checked = check(read("train.py", LOADED_IN_A_TRY.encode()), default_target())

    messages = [finding.message for finding in checked.findings if finding.rule == "MPS502"]

    assert len(messages) == 1
    assert "`.to(args.device)` raises AssertionError" in messages[0]


@pytest.mark.parametrize(("guard", "safety"), [("", "manual"), ("if args.distributed:\n    ", "safe")])
def test_a_run_that_needs_nccl_is_no_matter_of_devices(guard: str, safety: str) -> None:
    """Where it joins the group whatever it is told, other devices don't make it run on a Mac."""
    text = (
        f'import torch\nimport torch.distributed as dist\n\n{guard}dist.init_process_group("nccl")\nmodel = torch.nn.Linear(2, 2).cuda()\n'
    )
    (found,) = mpslint.check(text, select=["MPS501"]).findings

    assert found.safety == safety


TRAINED_IN_A_TRY = """
import torch

net = torch.nn.Linear(4, 2).cuda()
for _ in range(10):
    try:
        x = torch.randn(2, 4).cuda()
        net(x).sum().backward()
    except Exception as error:
        {handler}
"""


@pytest.mark.parametrize("handler", ["print('skip', error)", "continue", "torch.cuda.empty_cache()"])
def test_work_that_a_handler_gives_up_moves_with_the_model(handler: str) -> None:
    """A fix of the model alone would give a run that trains nothing and ends well."""
    text = TRAINED_IN_A_TRY.format(handler=handler)
    found = mpslint.check(text, select=["MPS501"]).findings

    assert [(one.line, one.safety) for one in found] == [(4, "safe"), (7, "safe")]
    assert ".cuda()" not in mpslint.fix(text, select=["MPS501"]).text


def test_a_function_that_gives_up_its_batch_moves_with_the_model() -> None:
    """The work comes after the `try`, which the handler leaves."""
    body = "    try:\n        x = x.cuda()\n    except Exception:\n        return None\n    return net(x).sum().backward()\n"
    text = f"import torch\nnet = torch.nn.Linear(4, 2).cuda()\ndef step(x):\n{body}step(torch.randn(2, 4))\n"

    assert [one.line for one in mpslint.check(text, select=["MPS501"]).findings] == [2, 5]


@pytest.mark.parametrize(
    "text",
    [
        "try:\n    x = x.cuda()\nexcept Exception:\n    x = x.cpu()\nprint(net(x))\n",
        "try:\n    x = x.cuda()\nexcept Exception:\n    pass\nprint(net(x))\n",
        "try:\n    net.cuda()\nexcept Exception:\n    print('no GPU')\nprint(net(x))\n",
        "def out():\n    try:\n        return net.cuda()(x.cuda())\n    except Exception:\n        return net(x)\nprint(out())\n",
        "def run():\n    print(net(x))\ntry:\n    print(net.cuda()(x.cuda()))\nexcept Exception:\n    run()\n",
        "def has():\n    try:\n        torch.zeros(1).cuda()\n        return True\n    except Exception:\n        return False\nprint(has())\n",
        "ok = False\ntry:\n    y = x.cuda()\n    print(y + y)\n    ok = True\nexcept Exception:\n    pass\nprint(ok)\n",
    ],
)
def test_a_handler_that_goes_on_without_cuda_is_left_alone(text: str) -> None:
    """Another device, the CPU that everything is on already, or the answer to whether there is CUDA."""
    text = f"import torch\nnet, x = torch.nn.Linear(4, 2), torch.randn(2, 4)\n{text}"

    assert not mpslint.check(text, select=["MPS501"]).findings


LOST = """
import contextlib, torch
from contextlib import suppress as quiet

net = torch.nn.Linear(4, 2){put}
def step():
    {head}
        {first}
        x = torch.randn(2, 4).cuda()
        loss = net(x).sum()
        loss.backward()
        return loss.item()
    {handler}
for _ in range(10):
    step()
"""
QUIET = ("with quiet(Exception):", "")
SUPPRESSED, CAUGHT = ("with contextlib.suppress(Exception):", ""), ("try:", "except Exception:\n        return 0.0")


@pytest.mark.parametrize(("around", "first"), [(SUPPRESSED, "pass"), (QUIET, "pass"), (CAUGHT, "torch.cuda.set_device(0)")])
def test_a_model_moves_alone_by_no_safe_fix(around: tuple[str, str], first: str) -> None:
    """Once the model is moved, the rest would raise where the program catches it, and a run that failed would train nothing."""
    text = LOST.format(put=".cuda()", head=around[0], handler=around[1], first=first)
    found = mpslint.check(text, select=["MPS501"]).findings

    assert found[0].line == 5
    assert {one.safety for one in found} == {"manual"}
    assert "line 8" in found[0].fix if first != "pass" else "line 9" in found[0].fix


def test_a_run_that_goes_on_without_its_work_isnt_changed() -> None:
    """What `step` gives on a Mac today is 0.0; behind a model on CUDA the run never came to it."""
    safety = {}
    for put in ("", ".cuda()"):
        found = mpslint.check(LOST.format(put=put, head=CAUGHT[0], handler=CAUGHT[1], first="pass"), select=["MPS501"]).findings
        safety[put] = [(one.line, one.safety) for one in found]

    assert safety == {"": [(9, "manual")], ".cuda()": [(5, "safe"), (9, "safe")]}


def test_fixes_that_share_a_name_are_made_together() -> None:
    """Else the second one is judged in a program that nobody wrote."""
    text = LOST.format(put=".cuda()", head=CAUGHT[0], handler=CAUGHT[1], first="pass")

    assert ".cuda()" not in mpslint.fix(text, select=["MPS501"]).text


@pytest.mark.parametrize(
    "text",
    [
        "state = torch.load('a.pt', map_location=lambda storage, place: storage.cuda(0))",
        "put = lambda storage, place: storage.cuda(0)\nstate = torch.load('a.pt', map_location=put)",
        "def put(storage, place):\n    return storage.cuda(0)\n\nstate = torch.load('a.pt', map_location=put)",
    ],
    ids=["lambda", "named lambda", "function"],
)
def test_a_storage_has_no_to_with_a_device(text: str) -> None:
    """`storage.to("mps")` raises TypeError on every machine; `torch.load` calls the function with each storage."""
    with pytest.raises(TypeError, match="positional"):
        torch.zeros(2).untyped_storage().to("cpu")

    text = f"import torch\n{text}\nnet = torch.nn.Linear(2, 2).cuda()\n"
    assert "storage.cuda(0)" in mpslint.fix(text, select=["MPS501"]).text


@pytest.mark.parametrize(("call", "expected"), [("x = to_gpu(x)", 1), ("if options():\n    x = to_gpu(x)", 0)])
def test_the_name_of_a_function_says_nothing_where_it_certainly_runs(call: str, expected: int) -> None:
    """A function for machines with CUDA is called where there is one."""
    program = f"import torch\n\ndef to_gpu(x):\n    return x.cuda()\n\nx = torch.ones(2)\n{call}\n"

    assert len(mpslint.check(program, select=["MPS501"]).findings) == expected


MOVED = "import torch\n{head}\nmodel = torch.nn.Linear(2, 2)\n{moved}.cuda()\nprint(model({moved}))\n"


@pytest.mark.parametrize(
    ("head", "moved", "safety"),
    [
        ("from mylib import Model", "Model(3)", "safe"),
        ("class Batch:\n    def cuda(self):\n        return self\n", "unknown", "unsafe"),
        ("from timm import create_model", "create_model('a')", "safe"),
        ("class Batch(torch.nn.Module):\n    def cuda(self):\n        return self\n", "unknown", "safe"),
    ],
)
def test_what_may_have_no_to_is_not_moved_by_it(head: str, moved: str, safety: str) -> None:
    """Where a run has a class with `.cuda()` alone, what isn't known may be one of its objects; models and batches have both."""
    found = mpslint.check(MOVED.format(head=head, moved=moved), select=["MPS501"]).findings

    assert [one.safety for one in found] == [safety]


@pytest.mark.parametrize("rows", ["enumerate(tqdm(loader))", "enumerate(get_loader(32))", "enumerate(SubjectsLoader(data))"])
def test_model_and_batches_are_moved_together(rows: str) -> None:
    """Whoever makes the batches: to move the model alone would break what ran with CUDA nowhere, and run nowhere either."""
    head = "import torch\nfrom torch.utils.data import DataLoader\nfrom tqdm import tqdm\nfrom torchio import SubjectsLoader\nfrom loading import get_loader\n"
    code = f"{head}\nloader = DataLoader(data)\nnet = torch.nn.Linear(2, 2).cuda()\nfor i, batch in {rows}:\n    net(batch[0].cuda())\n"

    assert [one.safety for one in mpslint.check(code, select=["MPS501"]).findings] == ["safe", "safe"]


@pytest.mark.parametrize(("decorated", "safety"), [("@torch.jit.script\n", "unsafe"), ("", "safe")])
def test_what_torchscript_compiles_makes_no_choice(decorated: str, safety: str) -> None:
    """TorchScript reads no constant of a module, on any machine."""
    code = f"import torch\n\n{decorated}def f(x):\n    return x + torch.ones(3, device='cuda')\n\nf(torch.randn(2, 3).cuda())\n"

    assert {one.safety for one in mpslint.check(code, select=["MPS501"]).findings} == {safety}


def test_a_method_of_the_project_is_judged_by_what_it_does(tmp_path: Path) -> None:
    """`Batch.cuda` has no `.to` beside it, and the run shows where CUDA is asked for."""
    (tmp_path / "batch.py").write_text(
        "class Batch:\n    def __init__(self, x):\n        self.x = x\n    def cuda(self):\n        return self\n"
    )
    (tmp_path / "train.py").write_text("import torch\nfrom batch import Batch\n\nprint(Batch(torch.ones(1)).cuda())\n")

    said = CliRunner().invoke(group, ["check", str(tmp_path), "--no-cache", "--format", "concise", "--select", "MPS501"]).output
    assert "MPS501" not in said


def test_a_net_of_skorch_raises_where_it_is_fitted() -> None:
    """Its constructor only keeps the device."""
    text = 'from skorch import NeuralNetClassifier\n\nnet = NeuralNetClassifier(Net, device="cuda")\nnet.fit(X, y)\n'

    found = mpslint.check(text, select=["MPS501"]).findings

    assert "raises AssertionError in fit()" in found[0].message
