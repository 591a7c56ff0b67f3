"""A device fix that certainly raises on the Mac's GPU is advice that says what to change."""

from __future__ import annotations

from pathlib import Path

import pytest

import mpslint
from mpslint.core.finding import Finding, Safety
from mpslint.session.runs import check_paths
from mpslint.session.session import Options

HEAD = 'import gymnasium as gym\nimport numpy as np\nimport torch\nfrom torch import nn\n\ndevice = torch.device("cuda" if torch.cuda.is_available() else "cpu")\n'
NET = "class Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n        self.lin = nn.Linear(4, 4)\n        {more}\n\n    def forward(self, x):\n        return {forward}\n\n\nnet = Net().to(device)\nfor x in torch.zeros(3, 2, 4):\n    net(x.to(device)).sum().backward()\n"
PROGRAMS = {
    "made in forward": (
        NET.format(more="self.n = 4", forward="self.lin(x) + torch.zeros(4)"),
        NET.format(more="self.n = 4", forward="self.lin(x) + torch.zeros(4, device=x.device)"),
        "`torch.zeros(4)` in line 14 stays on the CPU: move it too",
    ),
    "rewards of a vector of environments": (
        "net = nn.Linear(4, 2).to(device)\nenvs = gym.vector.SyncVectorEnv([])\nobs, reward, done, cut, info = envs.step(0)\nr = torch.tensor(reward).to(device)\nnet(torch.zeros(3, 4).to(device)).sum().backward()\n",
        "net = nn.Linear(4, 2).to(device)\nenvs = gym.vector.SyncVectorEnv([])\nobs, reward, done, cut, info = envs.step(0)\nr = torch.tensor(reward, dtype=torch.float32).to(device)\nnet(torch.zeros(3, 4).to(device)).sum().backward()\n",
        "is float64, which MPS doesn't support: make it float32",
    ),
    "a hook": (
        "net = nn.Linear(4, 2).to(device)\nnet.register_forward_hook(lambda module, given, out: out + torch.ones(2))\nnet(torch.zeros(3, 4).to(device)).sum().backward()\n",
        "net = nn.Linear(4, 2).to(device)\nnet(torch.zeros(3, 4).to(device)).sum().backward()\n",
        "in line 8 does with tensors isn't followed",
    ),
    "a backward pass of its own": (
        "class Own(torch.autograd.Function):\n    @staticmethod\n    def forward(ctx, x):\n        return x * 2\n    @staticmethod\n    def backward(ctx, grad):\n        return grad * torch.ones(2)\n\n\nnet = nn.Linear(4, 2).to(device)\nOwn.apply(net(torch.zeros(3, 4).to(device))).sum().backward()\n",
        "net = nn.Linear(4, 2).to(device)\nnet(torch.zeros(3, 4).to(device)).sum().backward()\n",
        "does with tensors isn't followed",
    ),
    "weights by name": (
        "import copy\nnet = nn.Linear(4, 2)\nema = copy.deepcopy(net)\nnet = net.to(device)\na, b = ema.state_dict(), net.state_dict()\nfor key in a:\n    a[key].mul_(0.9).add_(b[key], alpha=0.1)\nnet(torch.zeros(3, 4).to(device)).sum().backward()\n",
        "import copy\nnet = nn.Linear(4, 2).to(device)\nema = copy.deepcopy(net)\na, b = ema.state_dict(), net.state_dict()\nfor key in a:\n    a[key].mul_(0.9).add_(b[key], alpha=0.1)\nnet(torch.zeros(3, 4).to(device)).sum().backward()\n",
        "`a[key].mul_(0.9)` in line 13",
    ),
}


def choice_in(folder: Path) -> Finding:
    """Return the finding about the choice of the device."""
    files = check_paths([str(folder)], Options(isolated=True, select=("MPS503",)))
    (found,) = (one for file in files if file.checked for one in file.checked.findings)
    return found


@pytest.mark.parametrize(("raising", "sound", "said"), PROGRAMS.values(), ids=PROGRAMS)
def test_a_fix_that_raises_is_advice(tmp_path: Path, raising: str, sound: str, said: str) -> None:
    """The same program without what raises keeps its safe fix."""
    path = tmp_path / "train.py"
    path.write_text(HEAD + raising)
    refuted = choice_in(tmp_path).fix
    path.write_text(HEAD + sound)
    kept = choice_in(tmp_path).fix

    assert refuted is not None
    assert refuted.safety is Safety.MANUAL
    assert said in refuted.summary
    assert kept is not None
    assert kept.safety is Safety.SAFE


def test_what_another_file_of_the_run_makes_counts(tmp_path: Path) -> None:
    """It's named with its file."""
    (tmp_path / "tables.py").write_text(
        "import numpy as np\nimport torch\n\n\ndef extract(arr, t):\n    return torch.from_numpy(arr).to(device=t.device)[t].float()\n\n\nBETAS = np.linspace(0.1, 0.2, 10)\n"
    )
    (tmp_path / "train.py").write_text(
        HEAD
        + "from tables import BETAS, extract\n\nnet = nn.Linear(4, 2).to(device)\nt = torch.zeros(3, dtype=torch.long).to(device)\nscale = extract(BETAS, t)\nnet(torch.zeros(3, 4).to(device)).sum().backward()\n"
    )

    fix = choice_in(tmp_path).fix

    assert fix is not None
    assert fix.safety is Safety.MANUAL
    assert "(arr).to(device=t.device)` in line 6 of " in fix.summary
    assert "tables.py is float64" in fix.summary


def test_what_moves_for_cuda_only_keeps_a_fix_from_being_made(tmp_path: Path) -> None:
    """Nothing calls the method, so that where its input lies isn't known; but as it is written it would move it."""
    text = "class Trainer:\n    def __init__(self, net):\n        self.device = 'cuda'\n        self.net = net.to(self.device)\n\n    def step(self, x):\n        if self.device == 'cuda':\n            x = x.cuda()\n{more}        return self.net(x)\n"
    for name, more in (("left", ""), ("moved", "        else:\n            x = x.to(self.device)\n")):
        (tmp_path / f"{name}.py").write_text("import torch\n\n\n" + text.format(more=more))
    left, moved = (file.findings for file in check_paths([str(tmp_path)], Options(isolated=True, select=("MPS501",))))

    assert [one.fix for one in left if one.fix.safety is Safety.SAFE] == []
    assert "`x` in line 11 is moved for CUDA only: move it too" in left[0].fix.summary
    assert moved[0].fix.safety is Safety.SAFE


OTHER = """

def train(loader, target):
    accelerator = Accelerator()
    model = accelerator.prepare(nn.Linear(4, 4))
    for x in loader:
        nn.functional.mse_loss(model(x.to(accelerator.device)), target).backward()


def describe(image, device=device):
    return nn.Linear(4, 4).to(device)(image.to(device))


describe(torch.zeros(4))
train(torch.zeros(3, 4), load({target}))
"""


def test_what_the_fix_leaves_where_it_is_speaks_not_against_it(tmp_path: Path) -> None:
    """What meets on the GPU already, and may meet something of the CPU there, does so without the fix, too."""
    (tmp_path / "train.py").write_text(HEAD + "from accelerate import Accelerator\n" + OTHER.format(target="1"))

    fix = choice_in(tmp_path).fix

    assert fix is not None
    assert fix.safety is Safety.SAFE, fix.summary


ENDS = {
    "a key that a dict lacks": 'bs = {"cuda": 64, "cpu": 8}[device]',
    "an entry that a dict of its own class lacks": "class Sizes(dict):\n    pass\nsizes = Sizes(cuda=64)\nsizes['cpu'] = 8\nbs = sizes[device]",
    "a function that a dict lacks": 'wait = {"cuda": torch.cuda.synchronize, "cpu": lambda: None}.get(device)\nwait()',
    "an attribute that a namespace lacks": "from types import SimpleNamespace\nbs = getattr(SimpleNamespace(cuda=64, cpu=8), device)",
    "a key that a TypedDict lacks": "from typing import TypedDict\nclass Sizes(TypedDict):\n    cuda: int\n    cpu: int\nbs = Sizes(cuda=64, cpu=8)[device]",
    "a number that the device has not": "where = torch.device(device + ':0' if device == 'cuda' else device)\nn = where.index + 1 if where.type != 'cpu' else 0",
    "a method of an object that a configuration chooses": "import hydra\nrun = hydra.utils.instantiate(load())\nrun.evaluate(device=torch.device(device))",
    "another file": "w = torch.load(f'weights_{device}.pt')",
    "a generator of a loader": "torch.utils.data.DataLoader([1, 2], shuffle=True, generator=torch.Generator(device=device).manual_seed(0))",
    "a generator on the CPU": "x = torch.randn(2, device=device, generator=torch.Generator())",
    "an item that a list lacks": 'number = ["cpu", "cuda"].index(device)',
    "an assertion": 'assert device in ("cuda", "cpu")',
    "the last of closed choices": 'if device == "cuda":\n    n = 2\nelif device == "cpu":\n    n = 1\nelse:\n    raise ValueError(device)',
    "an exit": 'import sys\nif device not in ("cuda", "cpu"):\n    sys.exit("unknown device")',
    "a name that no case gives a value": 'match device:\n    case "cuda":\n        n = 2\n    case "cpu":\n        n = 1\nprint(n)',
    "a function of the module that is named after it": 'def on_cuda(): pass\ndef on_cpu(): pass\nglobals()["on_" + device]()',
    "a caught KeyError behind which it exits": 'import sys\ntry:\n    n = {"cuda": 1, "cpu": 2}[device]\nexcept KeyError:\n    sys.exit("unknown device")',
    "a failed assertion behind which it exits, beside a finally": 'import sys\ntry:\n    assert device in ("cuda", "cpu")\nexcept AssertionError:\n    sys.exit(2)\nfinally:\n    print(1)',
    "an assertion beside a finally": 'try:\n    assert device in ("cuda", "cpu")\nfinally:\n    print(1)',
    "a part that a text lacks": 'number = int(device.split(":")[1]) if device != "cpu" else -1',
}
RUN = 'import torch\n\ndevice = "cuda" if torch.cuda.is_available() else "cpu"\n{}\nmodel = torch.nn.Linear(2, 2).to(device)\nmodel(torch.ones(2, 2).to(device))\n'


@pytest.mark.parametrize("code", ENDS.values(), ids=ENDS)
def test_what_the_new_device_would_end_keeps_a_fix_from_being_made(code: str, tmp_path: Path) -> None:
    """The program knows two devices only: with a third one it raises, exits, or reads a name that has no value."""
    (tmp_path / "train.py").write_text(RUN.format(code))

    assert choice_in(tmp_path).fix.safety is Safety.MANUAL


GOES_ON = {
    "a loader of its own that moves what it gives": "class Moving:\n    def __init__(self, loader):\n        self.loader = loader\n    def __iter__(self):\n        for x in self.loader:\n            yield x.to(device)\nfor x in Moving(torch.utils.data.DataLoader(load())):\n    torch.nn.Linear(2, 2).to(device)(x)",
    "a method of a library that takes a device": "from sentence_transformers import SentenceTransformer\nSentenceTransformer('a').encode(['b'], device=device)",
    "a dict that makes what it lacks": "class Sizes(dict):\n    def __missing__(self, key):\n        return 8\nbs = Sizes(cuda=64)[device]",
    "a file that the program wrote": "torch.save({}, f'w_{device}.pt')\nw = torch.load(f'w_{device}.pt')",
    "a generator on the device": "g = torch.Generator(device)\ng.manual_seed(0)\nx = torch.randn(2, device=device, generator=g)",
    "a generator of the CPU for a loader": "torch.utils.data.DataLoader([1, 2], shuffle=True, generator=torch.Generator().manual_seed(0))",
}


@pytest.mark.parametrize("code", GOES_ON.values(), ids=GOES_ON)
def test_what_takes_any_device_speaks_not_against_it(code: str, tmp_path: Path) -> None:
    """The same kinds of places, where nothing goes wrong."""
    (tmp_path / "train.py").write_text(RUN.format(code))

    assert choice_in(tmp_path).fix.safety is Safety.SAFE


def test_what_the_program_catches_ends_nothing(tmp_path: Path) -> None:
    """An exception with a handler is a way like others."""
    (tmp_path / "train.py").write_text(RUN.format('try:\n    n = {"cuda": 1, "cpu": 2}[device]\nexcept KeyError:\n    n = 3'))

    assert choice_in(tmp_path).fix.safety is Safety.SAFE


BATCHES = 'import torch\nfrom elsewhere import Data\n\ndevice = "cuda" if torch.cuda.is_available() else "cpu"\nnet = torch.nn.Linear(2, 2).to(device)\nfor batch in torch.utils.data.DataLoader(Data()):\n    for {}\n    net(batch["x"]).sum().backward()\n'


@pytest.mark.parametrize(
    ("move", "is_whole"),
    [
        ("name in batch:\n        batch[name] = batch[name].to(device)", True),
        ("name in batch.keys():\n        batch[name] = batch[name].to(device)", True),
        ("name in list(batch):\n        batch[name] = batch[name].to(device)", True),
        ("name, x in list(batch.items()):\n        batch[name] = x.to(device)", True),
        ("name, x in batch.items():\n        if torch.is_tensor(x):\n            batch[name] = x.to(device)", True),
        ("name, x in batch.items():\n        if name != 'x':\n            batch[name] = x.to(device)", False),
        ("name, x in batch.items():\n        x = x.to(device)", False),
    ],
)
def test_a_batch_that_is_moved_entry_by_entry_has_moved(move: str, is_whole: bool, tmp_path: Path) -> None:
    """Each entry of a batch that nobody sees is written anew, or some are."""
    (tmp_path / "train.py").write_text(BATCHES.format(move))

    assert (choice_in(tmp_path).fix.safety is Safety.SAFE) is is_whole


@pytest.mark.parametrize(
    ("test", "ends"),
    [
        ("assert args.device in {'cuda', 'cpu'}", True),
        ("if args.device != 'cuda':\n    raise ValueError('CUDA only')", True),
        ("if args.device == 'cuda':\n    print('fine')\nelse:\n    raise SystemExit(1)", True),
        ("if args.device not in ('cuda', 'cpu'):\n    p.error('CUDA or the CPU')", True),
        ("if args.device == 'tpu':\n    raise SystemExit(1)", False),
        ("assert args.device in {'cuda', 'mps', 'cpu'}", False),
    ],
)
def test_a_default_that_a_program_refuses_is_advice(test: str, ends: bool) -> None:
    """The program as it is written comes to its test, too, with another answer."""
    code = f"import argparse\nimport torch\n\np = argparse.ArgumentParser()\np.add_argument('--device', default='cuda')\nargs = p.parse_args()\n{test}\nm = torch.nn.Linear(2, 2).to(args.device)\n"
    (found,) = mpslint.check(code, select=["MPS502"]).findings

    assert (found.safety == "manual", "ends the run then" in found.fix) == (ends, ends)


OPTION = 'import argparse\nimport torch\nfrom transformers import Trainer, TrainingArguments\n\np = argparse.ArgumentParser()\np.add_argument("--{name}", default={default})\nargs = p.parse_args()\n{reads}\n{uses}'
TRAINER = 'Trainer(model=torch.nn.Linear(2, 2), args=TrainingArguments("out", fp16=args.fp16)).train()\n'
MODEL = "net = torch.nn.Linear(2, 2).to(args.device)\nnet(torch.zeros(2, 2, device=args.device))\n"


@pytest.mark.parametrize(
    ("reads", "said"),
    [
        ("if args.fp16:\n    dtype = torch.float16\nprint(dtype)", "`dtype` in line 10 has no value then"),
        ("assert args.fp16", "`assert args.fp16` in line 8 ends the run then"),
        ("dtype = {True: torch.float16}[args.fp16]", "ends the run then"),
        ("p.add_argument('--only', action='store_true')\nif p.parse_args().only:\n    assert args.fp16", ""),
        ("if args.fp16:\n    dtype = torch.float16\nelse:\n    dtype = torch.float32\nprint(dtype)", ""),
        ("dtype = {True: torch.float16}.get(args.fp16)", ""),
        ("dtype = torch.float32\nif args.fp16:\n    dtype = torch.float16\nprint(dtype)", ""),
    ],
)
def test_what_else_reads_an_option_has_to_take_its_new_default(reads: str, said: str) -> None:
    """With the default that a fix gives the program is another one wherever it reads the option."""
    code = OPTION.format(name="fp16", default=True, reads=reads, uses=TRAINER)
    (found,) = mpslint.check(code, select=["MPS101"], target={"torch": "2.5.1", "transformers": "4.46.3"}).findings

    assert (found.safety == "manual", said in found.fix) == (bool(said), True)


OWN = "HfArgumentParser(Own).parse_args_into_dataclasses()[0]"
SETTINGS = "import os\nimport torch\nfrom dataclasses import dataclass\nfrom transformers import HfArgumentParser, Trainer, TrainingArguments\n\nmodel = torch.nn.Linear(2, 2)\n"


@pytest.mark.parametrize(
    ("made", "reads", "args"),
    [
        ("args = TrainingArguments('out', fp16=True)", "assert args.fp16", "args"),
        (
            "@dataclass\nclass Own(TrainingArguments):\n    fp16: bool = True",
            "own, = HfArgumentParser(Own).parse_args_into_dataclasses()\nassert own.fp16",
            OWN,
        ),
        ("kept = dict(fp16=True)", "if not kept['fp16']:\n    raise ValueError", "TrainingArguments('out', **kept)"),
        (
            "@dataclass\nclass Own(TrainingArguments):\n    fp16: bool = True\n    def __post_init__(self):",
            "        assert self.fp16",
            OWN,
        ),
        (
            "os.environ['ACCELERATE_MIXED_PRECISION'] = 'fp16'",
            "assert os.environ['ACCELERATE_MIXED_PRECISION'] == 'fp16'",
            "TrainingArguments('out')",
        ),
    ],
)
@pytest.mark.parametrize("is_read", [True, False])
def test_what_else_reads_a_setting_has_to_take_its_new_value(made: str, reads: str, args: str, is_read: bool) -> None:
    """It may be written in the call itself, in a class, a dict or the environment, and read again from there."""
    lines = SETTINGS + made + "\n" + (reads if is_read else "        pass" if "post_init" in made else "")
    code = f"{lines}\nTrainer(model, {args}).train()\n"
    (found,) = mpslint.check(code, select=["MPS101"], target={"torch": "2.5.1", "transformers": "4.46.3"}).findings

    assert (found.safety, "ends the run then" in found.fix) == (("manual", True) if is_read else ("safe", False))


@pytest.mark.parametrize(("name", "safety"), [("args.dtype.replace('fp', 'float')", "manual"), ("'float16'", "safe")])
def test_a_module_has_to_have_the_name_that_a_fix_makes(name: str, safety: str) -> None:
    """There is a torch.float16, and no torch.no."""
    code = OPTION.format(name="dtype", default='"fp16"', reads=f"dtype = getattr(torch, {name})", uses="")
    code = f"from accelerate import Accelerator\n{code}Accelerator(mixed_precision=args.dtype).prepare(torch.nn.Linear(2, 2))\n"
    (found,) = mpslint.check(code, select=["MPS101"], target={"torch": "2.5.1", "accelerate": "1.0.0"}).findings

    assert found.safety == safety


def test_a_name_that_only_the_old_default_binds_keeps_it() -> None:
    """`--device` may say "cuda" on the command line, too, but the fix is judged by the default that it gives."""
    reads = 'if args.device == "cuda":\n    dtype = torch.float16\nprint(dtype)'
    code = OPTION.format(name="device", default='"cuda"', reads=reads, uses=MODEL)
    (found,) = mpslint.check(code, select=["MPS502"]).findings

    assert (found.safety, "`dtype` in line 10 has no value then" in found.fix) == ("manual", True)


STATE = 'import torch\nfrom torch import nn\n\ndevice = "cuda" if torch.cuda.is_available() else "cpu"\nnet = nn.{cell}(4, 4).to(device)\n\n\ndef detached(state):\n    if isinstance(state, torch.Tensor):\n        return state.detach()\n    return tuple(detached(one) for one in state)\n\n\nstate = {state}\nfor step in range(100):\n    x = torch.zeros({shape}, device=device)\n    state = {new}\n    {call}\n    state[0].sum()\n'
HERE = "torch.zeros({}, device=device), torch.zeros({}, device=device)"


@pytest.mark.parametrize("new", ["detached(state)", "tuple(one.detach() for one in state)", "[one.detach() for one in state]"])
@pytest.mark.parametrize(
    ("cell", "shape", "call"), [("LSTM", "2, 3, 4", "out, state = net(x, state)"), ("LSTMCell", "3, 4", "state = net(x, state)")]
)
@pytest.mark.parametrize("is_moved", [True, False])
def test_the_state_of_a_recurrent_layer_lies_where_it_is_made(
    cell: str, shape: str, call: str, new: str, is_moved: bool, tmp_path: Path
) -> None:
    """A layer gives its state as a tuple, whose tensors are detached one by one before the next step."""
    state = HERE.format(*[shape.replace("2, ", "1, ")] * 2)
    state = state if is_moved else state.replace(", device=device", "", 1)
    (tmp_path / "train.py").write_text(STATE.format(cell=cell, shape=shape, call=call, new=new, state=state))

    assert (choice_in(tmp_path).fix.safety is Safety.SAFE) is is_moved


WRITTEN = 'import torch\nfrom {source} import {name}\n\ndata = {name}("p")[0]\ndata.x = torch.zeros(4, 4)\ndevice = "cuda" if torch.cuda.is_available() else "cpu"\ndata{taken} = data.to(device)\nnet = torch.nn.Linear(4, 4).to(device)\nnet(data{taken}.x)\n'


@pytest.mark.parametrize(
    ("source", "name", "said"),
    [("torch_geometric.datasets", "Planetoid", ""), ("elsewhere", "Samples", "`{}.x` in line 9 may stay on the CPU")],
)
@pytest.mark.parametrize("taken", ["", "_on_gpu"])
def test_what_was_written_into_data_moves_with_it(source: str, name: str, said: str, taken: str, tmp_path: Path) -> None:
    """A graph takes all its tensors along; of another object that isn't known, as of a module."""
    (tmp_path / "train.py").write_text(WRITTEN.format(source=source, name=name, taken=taken))
    fix = choice_in(tmp_path).fix

    assert (fix.safety is Safety.SAFE, said.format(f"data{taken}") in fix.summary) == (not said, True)


@pytest.mark.parametrize("move", ["b = b.to(device)", "b.to(device)", "b = {name: one.to(device) for name, one in b.items()}"])
@pytest.mark.parametrize("written", ['b["labels"] = torch.ones(1, 4)', 'b.update({"labels": torch.ones(1, 4)})'])
def test_labels_that_are_written_into_a_tokenizers_batch_move_with_it(move: str, written: str) -> None:
    """A BatchEncoding takes all its tensors along, those that the program added, too."""
    lines = [
        "import torch",
        "from transformers import AutoTokenizer",
        'device = "mps"',
        'b = AutoTokenizer.from_pretrained("x")(["a"], return_tensors="pt")',
    ]
    code = "\n".join([*lines, written, move, 'b["labels"] + torch.ones(1, device=device)', ""])

    assert not mpslint.check(code, select=["MPS576"]).findings


@pytest.mark.parametrize(("late", "fixed"), [("import os\n    os.environ['PYTORCH_ENABLE_MPS_FALLBACK'] = '1'", []), ("pass", ["MPS101"])])
def test_a_fix_imports_nothing_above_a_variable_that_the_import_reads(late: str, fixed: list[str]) -> None:
    """The fallback is set in the main block, right before torch is imported; the fix asks torch at the top of the file."""
    lines = [
        "import argparse",
        "def read():",
        "    p = argparse.ArgumentParser()",
        "    p.add_argument('--fp16', default=True, type=bool)",
        "    return p.parse_args()",
        "if __name__ == '__main__':",
        "    args = read()",
        f"    {late}",
        "    import torch",
        "    from transformers import AutoModelForCausalLM, Trainer, TrainingArguments",
        "    Trainer(AutoModelForCausalLM.from_pretrained('gpt2'), TrainingArguments('o', fp16=args.fp16)).train()",
    ]

    assert [one.rule for one in mpslint.fix("\n".join(lines), target={"torch": "2.6"}).applied] == fixed


STAYS = {
    "Accelerate": "from accelerate import Accelerator\nnet = Accelerator({cpu}).prepare(torch.nn.Linear(3, 3))\nnet(torch.ones(3, 3).to(device)).sum().backward()\n",
    "Lightning": "import lightning.pytorch as pl\nscale = torch.ones(3, device=device)\nclass Net(pl.LightningModule):\n    def __init__(self):\n        super().__init__()\n        self.lin = torch.nn.Linear(3, 3)\n    def training_step(self, batch, number):\n        return (self.lin(batch) * scale).sum()\npl.Trainer({accelerator}).fit(Net(), torch.utils.data.DataLoader(torch.ones(3, 3)))\n",
    "ignite": "from ignite.engine import create_supervised_trainer\nnet = torch.nn.Linear(3, 3){moved}\ncreate_supervised_trainer(net, torch.optim.SGD(net.parameters(), 0.1), torch.nn.MSELoss(), device=device).run(load())\n",
    "Trainer": "from transformers import AutoModelForCausalLM, Trainer, TrainingArguments\nclass Own(Trainer):\n    def compute_loss(self, model, inputs, return_outputs=False):\n        return model(**{{name: one.to(device) for name, one in inputs.items()}})[0]\nnet = AutoModelForCausalLM.from_pretrained('gpt2')\nOwn(net, TrainingArguments('o'{mps}), train_dataset=load()).train()\n",
}


@pytest.mark.parametrize("code", STAYS.values(), ids=STAYS)
@pytest.mark.parametrize("is_on_cpu", [True, False])
def test_a_model_that_its_library_leaves_on_the_cpu_keeps_its_inputs_there(code: str, is_on_cpu: bool) -> None:
    """A switch of the library decides for the CPU, or the library moves batches only."""
    words = {"cpu": "cpu=True", "accelerator": "accelerator='cpu'", "moved": "", "mps": ""}
    if not is_on_cpu:
        words = {"cpu": "", "accelerator": "", "moved": ".to(device)", "mps": ", use_mps_device=True"}
    code = 'import torch\ndevice = "cuda" if torch.cuda.is_available() else "cpu"\n' + code.format(**words)
    (found,) = mpslint.check(code, select=["MPS503"], target={"transformers": "4.29.0", "torch": "2.0"}).findings

    assert found.safety == ("manual" if is_on_cpu else "safe"), found.fix
    assert not is_on_cpu or "doesn't use the Mac's GPU" in found.message


SWITCHES = {
    "an option's default": "trainer = pl.Trainer(accelerator=args.accelerator)\ntrainer.fit(net, data)",
    "one side": "pl.Trainer(accelerator='gpu' if args.gpu else 'cpu').fit(net, data)",
    "one of two runs": "pl.Trainer(accelerator='gpu').fit(net, data)\npl.Trainer(accelerator='cpu').fit(net, data)",
    "a file of settings": "pl.Trainer(**load('settings.yaml')['trainer']).fit(net, data)",
    "an object": "from pytorch_lightning.accelerators import CPUAccelerator\npl.Trainer(accelerator=CPUAccelerator()).fit(net, data)",
    "an object that isn't known": "pl.Trainer(accelerator=chosen()).fit(net, data)",
}


@pytest.mark.parametrize("runs", SWITCHES.values(), ids=SWITCHES)
def test_a_model_that_may_stay_on_the_cpu_moves_no_inputs(runs: str) -> None:
    """By default it is there, or in one of several calls: nothing that goes wrong on the Mac's GPU is sure, and no fix is safe."""
    parser = "import argparse\nparser = argparse.ArgumentParser()\nparser.add_argument('--accelerator', default='cpu')\nparser.add_argument('--gpu', action='store_true')\nargs = parser.parse_args()\n"
    model = "class Net(pl.LightningModule):\n    def __init__(self):\n        super().__init__()\n        self.lin = torch.nn.Linear(3, 3)\n    def training_step(self, batch, number):\n        device = 'cuda' if torch.cuda.is_available() else 'cpu'\n        return self.lin(batch.to(device)).sum()\nnet = Net()\n"
    code = f"import torch\nimport lightning.pytorch as pl\n{parser}{model}data = torch.utils.data.DataLoader(torch.ones(3, 3))\n{runs}\n"
    found = mpslint.check(code, select=["MPS503", "MPS576"]).findings

    assert [(one.rule, one.safety) for one in found if one.severity != "note"] == [("MPS503", "manual")]


@pytest.mark.parametrize(
    "made",
    ["os.environ['ACCELERATE_USE_CPU'] = 'true'\naccelerator = Accelerator()", "accelerator = Accelerator(True, 1, 'no', None, True)"],
)
def test_a_model_that_accelerate_leaves_on_the_cpu_keeps_its_inputs_there(made: str) -> None:
    """A variable and an argument by position say so as well as a keyword does."""
    head = "import os\nimport torch\nfrom accelerate import Accelerator\ndevice = 'cuda' if torch.cuda.is_available() else 'cpu'\n"
    code = f"{head}{made}\nnet = accelerator.prepare(torch.nn.Linear(3, 3))\nnet(torch.ones(3, 3).to(device)).sum().backward()\n"
    found = mpslint.check(code, select=["MPS503", "MPS576"]).findings

    assert [(one.rule, one.safety) for one in found if one.severity != "note"] == [("MPS503", "manual")]


def test_what_a_fix_leads_to_holds_it_back_where_it_would_be_made() -> None:
    """A warning that only the new device brings: `fix` makes no more than a check says."""
    code = "import argparse\nimport torch\nparser = argparse.ArgumentParser()\nparser.add_argument('--device', default='cuda')\ndevice = torch.device(parser.parse_args().device)\nplace = device.index if device.index is not None else torch.cuda.current_device()\nnet = torch.nn.Linear(3, 3).to(device)\nnet(torch.ones(3).to(device)).sum().backward()\ntorch.ones(3).to(place)\n"

    assert not mpslint.fix(code).applied


@pytest.mark.parametrize(
    "run",
    [
        "import lightning\nfrom lightning.pytorch.accelerators import CPUAccelerator\nlightning.Trainer(accelerator=CPUAccelerator()).fit(Net(), data)\n",
        "import os\nos.environ['ACCELERATE_USE_CPU'] = '1'\nfrom accelerate import Accelerator\nnet = Accelerator().prepare(torch.nn.Linear(3, 3))\n",
    ],
)
def test_what_is_told_to_stay_on_the_cpu_uses_no_gpu(run: str) -> None:
    """By an object, or by a variable."""
    choice = "import torch\ndevice = torch.device('cuda' if torch.cuda.is_available() else 'cpu')\nx = torch.ones(2).to(device) + 1\n"
    (found,) = mpslint.check(choice + run, select=["MPS503"]).findings

    assert "Trainer or Accelerator" not in found.message
