"""What a Mac doesn't reach, because the program ends there without CUDA, is not reported."""

from __future__ import annotations

import json

import pytest

from mpslint.api import check
from mpslint.program.evaluator import evaluate_program
from mpslint.program.parse import parse_program
from mpslint.source import reader
from mpslint.target.target import default_target
from tests.notebooks import notebook

HEAD = "import os, sys\nimport torch\n\n"
REST = "x = torch.ones(2).cuda()\ntorch.cuda.synchronize()\n"
EXITS = [
    "if not torch.cuda.is_available():\n    print('no GPU')\n    sys.exit(1)\n",
    "if not torch.cuda.is_available():\n    raise RuntimeError('no GPU')\n",
    "if torch.cuda.is_available():\n    device = torch.device('cuda')\nelse:\n    raise SystemExit('no GPU')\n",
    "if torch.cuda.device_count() == 0:\n    exit()\n",
    "assert torch.cuda.is_available(), 'no GPU'\n",
]


@pytest.mark.parametrize("ends", EXITS)
def test_only_the_exit_is_reported(ends: str) -> None:
    """One cause is one finding: what follows never runs on the Mac."""
    assert [finding.rule for finding in check(HEAD + ends + REST).findings] == ["MPS504"]


@pytest.mark.parametrize("ends", EXITS)
def test_an_exit_of_a_function_ends_that_function(ends: str) -> None:
    """What follows in the function is not reached; what another one does is judged."""
    inside = "".join(f"    {line}\n" for line in (ends + REST).splitlines())
    text = HEAD + f"def train():\n{inside}\n\ndef other():\n    torch.cuda.synchronize()\n\ntrain()\nother()\n"
    assert [finding.rule for finding in check(text).findings] == ["MPS504", "MPS505"]


@pytest.mark.parametrize(
    "goes_on",
    [
        "if not torch.cuda.is_available():\n    print('slow')\n",
        "if not torch.cuda.is_available() and '--cpu' not in sys.argv:\n    sys.exit(1)\n",
        "try:\n    assert torch.cuda.is_available()\nexcept AssertionError:\n    pass\n",
    ],
)
def test_what_may_be_reached_is_reported(goes_on: str) -> None:
    """A warning, a test that the Mac doesn't decide and an exit that is caught go on."""
    assert "MPS501" in [finding.rule for finding in check(HEAD + goes_on + REST).findings]


@pytest.mark.parametrize("ends", ["raise SystemExit(0)\n", "sys.exit()\n", "exit()\n", "with open('a') as f:\n    quit()\n"])
def test_nothing_runs_below_an_exit_of_every_machine(ends: str) -> None:
    """In a notebook the next cell can be run all the same; functions above are judged as in every other script."""
    assert check(HEAD + ends + REST).findings == ()
    assert [finding.rule for finding in check(HEAD + "def f():\n    torch.ones(2).cuda()\n\n" + ends).findings] == ["MPS501"]
    cells = notebook(HEAD, ends + "torch.cuda.synchronize()\n", "torch.cuda.set_device(0)\n").decode()
    assert [finding.cell for finding in check(cells, filename="n.ipynb").findings] == [3]


def test_a_script_that_ends_after_its_work_is_judged_whole() -> None:
    """`sys.exit(main())` ends what is done, so helpers that nothing calls are judged, as in every other script."""
    text = (
        HEAD
        + "def main():\n    if not torch.cuda.is_available():\n        print('slow')\n\n\ndef helper():\n    torch.ones(2).cuda()\n\n\nif __name__ == '__main__':\n    sys.exit(main())\n"
    )
    assert [finding.rule for finding in check(text).findings] == ["MPS501"]


def test_a_cell_that_raises_keeps_nobody_from_the_next() -> None:
    """A notebook is run cell by cell."""
    cells = [HEAD, EXITS[1], REST]
    written = {"cells": [{"cell_type": "code", "metadata": {}, "outputs": [], "execution_count": None, "source": one} for one in cells]}
    text = json.dumps({**written, "metadata": {}, "nbformat": 4, "nbformat_minor": 5})
    assert [finding.rule for finding in check(text, filename="a.ipynb").findings] == ["MPS504", "MPS501", "MPS505"]


def test_the_rest_of_a_cell_that_raises_is_not_reported() -> None:
    """It isn't reached; the names that it gives values are, once the check is put right, what later cells read."""
    cells = [
        "import torch\nassert torch.cuda.is_available()\ntorch.cuda.synchronize()\nDEVICE = 'cuda:0'",
        "x = torch.ones(2).to(DEVICE)",
    ]
    written = {"cells": [{"cell_type": "code", "metadata": {}, "outputs": [], "execution_count": None, "source": one} for one in cells]}
    text = json.dumps({**written, "metadata": {}, "nbformat": 4, "nbformat_minor": 5})
    assert [finding.rule for finding in check(text, filename="a.ipynb").findings] == ["MPS504", "MPS501"]


def test_a_text_that_is_cleaned_was_decided_where_it_was_written() -> None:
    """`requested.strip().lower()` is not the place that one changes."""
    text = "import torch\n\ndef choose(name):\n    return name.strip().lower()\n\nx = torch.ones(2).to(choose('cuda'))\n"
    assert [finding.line for finding in check(text).findings] == [6]


PARSED = "import argparse\nparser = argparse.ArgumentParser()\n{}\nargs = parser.parse_args()\n\n"
CHAIN = """def init(args):
    if {}:
        args.gpu = 0
    elif "RANK" in os.environ and "WORLD_SIZE" in os.environ:
        args.gpu = int(os.environ["LOCAL_RANK"])
    else:
        print("Not distributed")
        return
    torch.cuda.set_device(args.gpu)


init(args)
"""


@pytest.mark.parametrize("first", ["args.itp", 'int(os.environ.get("ITP", 0))', "args.address", "args.itp and args.address"])
def test_what_follows_a_chain_that_leaves_at_its_end_rests_on_each_of_its_tests(first: str) -> None:
    """A plain start returns; only a launcher that sets RANK gets to the rest."""
    options = 'parser.add_argument("--itp", action="store_true")\nparser.add_argument("--address")'
    assert check(HEAD + PARSED.format(options) + CHAIN.format(first)).findings == ()


def test_a_chain_that_is_decided_by_default_is_not_guarded() -> None:
    """The option's default leads to the rest."""
    options = 'parser.add_argument("--itp", action="store_true")\nparser.add_argument("--one", default=True)'
    chain = CHAIN.format("args.itp").replace('"RANK" in os.environ and "WORLD_SIZE" in os.environ', "args.one")
    assert [finding.rule for finding in check(HEAD + PARSED.format(options) + chain).findings] == ["MPS505"]


PICKED = """def pick():
    return "cuda" if torch.cuda.is_available() else "mps" if torch.backends.mps.is_available() else "cpu"


device = pick() if args.device == "" else args.device
"""


@pytest.mark.parametrize(
    "ends",
    [
        'assert device == "cuda", "no GPU"\n',
        'if device != "cuda":\n    raise SystemExit("no GPU")\n',
        'if not args.device:\n    sys.exit("no device")\n',
    ],
)
def test_a_file_that_ends_by_default_is_not_judged_below(ends: str) -> None:
    """What follows at the top level runs with another option only; a Mac has none that helps."""
    text = HEAD + PARSED.format('parser.add_argument("--device", default="")') + PICKED + ends + "torch.cuda.synchronize()\n"
    assert "MPS505" not in [finding.rule for finding in check(text).findings]


def test_an_exit_by_default_in_a_cell_leaves_the_next_one() -> None:
    """A notebook goes on with the next cell."""
    first = PARSED.format('parser.add_argument("--device", default="")') + 'assert args.device == "cuda"'
    found = check(notebook(HEAD + first, "torch.cuda.synchronize()").decode(), filename="a.ipynb").findings
    assert "MPS505" in [finding.rule for finding in found]


SETUP = """def setup(args):
    if "RANK" in os.environ:
        args.rank = 1
    else:
        args.distributed = {}
        return
    args.distributed = True


setup(args)
model = torch.nn.Linear(2, 2)
if args.distributed:
    model = torch.nn.parallel.DistributedDataParallel(model)
"""


@pytest.mark.parametrize(("early", "expected"), [("False", []), ("True", ["MPS513"])])
def test_what_an_early_return_left_behind_counts(early: str, expected: list[str]) -> None:
    """A function that may have returned before its end wrote something else by then."""
    text = HEAD + PARSED.format("") + SETUP.format(early)
    assert [finding.rule for finding in check(text).findings] == expected


@pytest.mark.parametrize(("inside", "found"), [("pass", ["MPS101"]), ("fp16 = False", [])])
def test_many_managers_hand_on_what_was_written_in_the_block(inside: str, found: list[str]) -> None:
    """Each of them may swallow an exception, or raise one, before the block or behind it."""
    managers = ", ".join(f"elsewhere.a{number}() as b{number}" for number in range(25))
    text = f"import elsewhere\nfrom transformers import TrainingArguments\n\nfp16 = True\nwith {managers}:\n    {inside}\n    elsewhere.work()\n"
    assert [finding.rule for finding in check(f"{text}TrainingArguments('out', fp16=fp16)\n").findings] == found


@pytest.mark.parametrize(
    ("read", "raised"),
    [
        ('os.popen("nvidia-smi -L").readlines()[0]', "IndexError"),
        ('os.popen("nvidia-smi -L").read().strip().split(",")[1]', "IndexError"),
        ('float(os.popen("nproc").read()[:4])', "ValueError"),
        ("GPUtil.getGPUs()[-1]", "IndexError"),
        ('name, memory = os.popen("nvidia-smi -L").read().split(",")', "ValueError"),
        ('dict(lines=os.popen("nvidia-smi -L").readlines())["lines"][0]', "IndexError"),
        ('os.popen("nvidia-smi -L | wc -l").readlines()[0]', ""),
        ('os.popen("git log").readlines()[0]', ""),
        ('os.popen("nvidia-smi -L").read().split(",")[0]', ""),
        ("[][0]", ""),
    ],
)
def test_what_is_read_of_a_command_that_macos_lacks_is_empty(read: str, raised: str) -> None:
    """It raises wherever the program takes something of it, and nothing else does for that reason."""
    document = reader.read("train.py", f"import os\nimport GPUtil\n{read}\n".encode())
    facts = evaluate_program(document, parse_program(document, document.python).body, default_target().versions)

    assert "".join(event.name for event in facts.events if event.kind == "empty") == raised
