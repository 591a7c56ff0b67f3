"""What the interpreter knows of tensors in code whose parts nobody can see: it names nothing that may be otherwise."""

from __future__ import annotations

from pathlib import Path

import pytest

import mpslint
from mpslint.core.finding import Safety
from mpslint.facts.events import Certainty
from mpslint.session.runs import check_paths
from mpslint.session.session import Options
from mpslint.tensors.traits import PLACE, devices_of, dtype_of, joined_dtype, joined_trait
from tests.tensors.programs import HEAD
from tests.tensors.walked import events_of, names_of

SILENT = {
    "a class of another package": "from elsewhere import Net\nnet = Net().to(dev)\nx, lengths = net(torch.zeros(2, 4).to(dev), torch.ones(2))\nlengths.numpy()\n",
    "a class that nothing makes": "class Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n        self.eye = torch.eye(4)\n        self.fc = nn.Linear(4, 4)\n    def loss(self):\n        return self.fc(self.eye.to(dev))\nnets = {'net': Net}\n",
    "one of a list with what isn't known": "net = nn.Linear(4, 4)\ndef put(*parts):\n    return [part.to(dev) for part in parts]\nput(net, unseen)\nnet(torch.zeros(2, 4).to(dev))\n",
    "registered by a name that isn't known": "class Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n        self.heads = [nn.Linear(4, 4) for _ in range(3)]\n        for number, head in enumerate(self.heads):\n            self.add_module('head_{}'.format(number), head)\n    def forward(self, x):\n        return [head(x) for head in self.heads]\nNet().to(dev)(torch.zeros(2, 4).to(dev))\n",
    "a class that says what moves": "class Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n        self.anchors = torch.ones(4)\n    def _apply(self, fn):\n        super()._apply(fn)\n        self.anchors = fn(self.anchors)\n        return self\n    def forward(self, x):\n        return x + self.anchors\nNet().to(dev)(torch.ones(2, 4, device=dev))\n",
    "a hook that moves what it is given": "net = nn.Linear(4, 2).to(dev)\nnet.register_forward_pre_hook(lambda module, given: tuple(one.to(dev) for one in given))\nnet(torch.ones(3, 4))\n",
    "data that is replaced": "net = nn.Linear(4, 2)\nfor one in net.parameters():\n    one.data = one.data.to(dev)\nnet(torch.ones(3, 4, device=dev))\ny = torch.zeros(4)\ny.data = y.data.to(dev)\ny + torch.ones(4, device=dev)\n",
    "an operator of the program": "class Meter:\n    def __init__(self):\n        self.sum = torch.zeros(2, device=dev)\n    def __add__(self, other):\n        return self.sum + other.to(dev)\nMeter() + torch.zeros(2)\n",
    "moved by a statement, which moves no tensor": "x = load()\nx.cpu()\nnet = nn.Linear(4, 4).to(dev)\nnet(x)\nx + torch.ones(4, device=dev)\n",
    "written into another tensor": "out = torch.empty(4, dtype=torch.long, device=dev)\ntorch.arange(4, out=out) + torch.ones(4, device=dev)\n",
    "moved in a branch": "net, x = nn.Linear(4, 4), torch.zeros(2, 4)\nif unseen():\n    net, x = net.to(dev), x.to(dev)\nnet(x)\n",
    "a batch of a tokenizer, moved": "from transformers import AutoTokenizer\nnet = nn.Embedding(9, 4).to(dev)\nwords = AutoTokenizer.from_pretrained('gpt2')('a', return_tensors='pt').to(dev)\nnet(words['input_ids'])\nnet(words.input_ids)\n",
    "a batch of a tokenizer, moved in place": "from transformers import AutoTokenizer\nnet = nn.Embedding(9, 4).to(dev)\nwords = AutoTokenizer.from_pretrained('gpt2')('a', return_tensors='pt')\nwords.to(dev)\nnet(words['input_ids'])\nnet(**words)\n",
    "a Trainer on the CPU": "import lightning as L\nclass Net(L.LightningModule):\n    def __init__(self):\n        super().__init__()\n        self.lin = nn.Linear(4, 2)\n    def training_step(self, batch, number):\n        return F.cross_entropy(self.lin(batch[0]), batch[1], weight=torch.ones(2))\nL.Trainer(accelerator='cpu').fit(Net(), data)\n",
    "moved in a comprehension": "a, b = nn.Linear(4, 4), nn.Linear(4, 4)\n[one.to(dev) for one in (a, b)]\nb(torch.zeros(2, 4).to(dev))\n",
    "in a list and an object of another package's": "import elsewhere\nbatch = elsewhere.batch()\nbatch.masks = [torch.ones(3)]\nbatch.part.mask = torch.ones(3)\nbatch = batch.to(dev)\nbatch.masks[0] + torch.ones(3, device=dev)\nbatch.part.mask + torch.ones(3, device=dev)\n",
    "in a list of PyG's data": "from torch_geometric.data import Data\ndata = Data(x=torch.ones(3, 2))\ndata.rows = [torch.ones(2)]\ndata = data.to(dev)\ndata.rows[0] + torch.ones(2, device=dev)\n",
    "put into PyG's data later": "from torch_geometric.data import HeteroData\ndata = HeteroData()\ndata = data.to(dev)\ndata['b'].x = torch.ones(2, 2)\ndata['b'].x + torch.ones(2)\n",
    "moved by a function that PyG applies": "from torch_geometric.data import Data\ndata = Data()\ndata.n = torch.ones(3)\ndata = data.to(dev)\ndata.apply(lambda one: one.cpu())\ndata.n + torch.ones(3)\n",
    "an index without dimensions": "rows, at = torch.linspace(0, 1, 10), torch.randint(0, 10, ())\ntorch.ones(3, device=dev) * rows[at]\n",
    "fields that are replaced": "import dataclasses\n@dataclasses.dataclass\nclass Pair:\n    x: torch.Tensor\n    def to(self, dev):\n        return dataclasses.replace(self, **{one.name: getattr(self, one.name).to(dev) for one in dataclasses.fields(self)})\nPair(torch.ones(3)).to(dev).x + torch.ones(3, device=dev)\n",
    "a list is no array": "def move(x):\n    return torch.from_numpy(x).to(dev) if isinstance(x, np.ndarray) else x\ny = move([])\nif isinstance(y, torch.Tensor):\n    y + torch.ones(4)\n",
    "weights of an attention that aren't needed": "net = nn.MultiheadAttention(4, 2).to(dev)\nx = torch.ones(3, 2, 4, device=dev)\nout, weights = net(x, x, x, need_weights=False)\ntorch.zeros(3, dtype=torch.float64, device=dev if weights is not None else 'cpu')\n",
    "what a distribution makes of a number": "place = 'cpu'\ntry:\n    torch.distributions.Bernoulli(probs=0.5).probs.cpu()\nexcept AttributeError:\n    place = dev\ntorch.zeros(3, dtype=torch.float64, device=place)\n",
    "what a layer makes of packed sequences": "net = nn.LSTM(3, 4).to(dev)\npacked = nn.utils.rnn.pack_padded_sequence(torch.ones(5, 2, 3, device=dev), [5, 4])\ndata, sizes, at, back = net(packed)[0]\nsizes + torch.ones(1)\ndata, sizes, at, back = packed\nsizes + torch.ones(1)\n",
    "an attribute of a library's dict": "from easydict import EasyDict\ncfg = EasyDict()\ncfg.model = {'device': 'cpu'}\ntorch.zeros(3, dtype=torch.float64, device=getattr(cfg.model, 'device', dev))\n",
    "what a library calls before": "import lightning as L\nclass Net(L.LightningModule):\n    def __init__(self):\n        super().__init__()\n        self.table = None\n    def setup(self, stage):\n        self.table = torch.ones(3)\n    def training_step(self, batch, number):\n        torch.zeros(3, dtype=torch.float64 if self.table is None else torch.float32, device=dev)\nL.Trainer().fit(Net(), data)\n",
}


@pytest.mark.parametrize("code", SILENT.values(), ids=SILENT)
def test_what_may_be_otherwise_is_no_sure_event(code: str) -> None:
    """Each of these was a wrong finding once."""
    assert not [event for event in events_of(HEAD + code) if event.certainty is Certainty.SURE]


def test_what_follows_from_what_raises_is_not_said_as_well() -> None:
    """The result of an operation that raises is nowhere, on the CPU neither."""
    code = "net = nn.Sequential(nn.Linear(4, 4), nn.ReLU())\nout = net(torch.zeros(2, 4).to(dev))\nF.mse_loss(out, torch.zeros(2, 4).to(dev))\n"

    assert len([event for event in events_of(HEAD + code) if event.certainty is Certainty.SURE]) == 1


def test_modules_of_one_class_within_one_another_are_followed() -> None:
    """Each block runs the one that it was given: a block is no call within itself, and its result lies where the blocks do."""
    block = "class Block(nn.Module):\n    def __init__(self, inner=None):\n        super().__init__()\n        self.fc = nn.Linear(4, 4)\n        self.inner = nn.Identity() if inner is None else inner\n    def forward(self, x):\n        return self.inner(self.fc(x))\n"
    net = "net = Block()\nfor _ in range(3):\n    net = Block(net)\nnet.to(dev)(torch.ones(2, 4, device=dev)).numpy()\n"

    assert [event.kind for event in events_of(HEAD + block + net) if event.certainty is Certainty.SURE] == ["numpy"]


def test_a_tensor_that_each_of_many_blocks_makes_smaller_is_followed() -> None:
    """Blocks are appended to a container that was given a list; no round leaves the dimensions of the one before it."""
    net = "class Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n        self.blocks = nn.ModuleList([])\n        for _ in range(3):\n            self.blocks.append(nn.Conv2d(2, 2, 3))\n    def forward(self, x):\n        for block in self.blocks:\n            x = block(x)\n        return x\n"
    run = "y = Net().to(dev)(torch.ones(1, 2, 9, 9, device=dev))\n"

    assert devices_of(joined_trait(names_of(HEAD + net + run)["y"], PLACE)) == {"mps"}


def test_what_a_library_gives_for_the_device_of_a_caller_is_no_sure_event() -> None:
    """`kmeans` computes there, and gives its result back on the CPU."""
    code = "from kmeans_pytorch import kmeans\nclass Net(nn.Module):\n    def __init__(self, x, device):\n        super().__init__()\n        self.ids, _ = kmeans(X=x, device=device)\n        self.ids.numpy()\n"

    assert not mpslint.check(f"import torch\nfrom torch import nn\n{code}", select=["MPS538"]).findings


def test_float64_on_the_device_of_an_option_keeps_a_fix_from_being_safe(tmp_path: Path) -> None:
    """The option's default is what the fix writes, so that nothing else speaks against it."""
    options = "import argparse\nimport torch\nparser = argparse.ArgumentParser()\nparser.add_argument('--dev', default='cuda')\nopt = parser.parse_args()\n"
    (tmp_path / "train.py").write_text(options + "x = torch.zeros(2, dtype=torch.float64, device=opt.dev)\n")
    (result,) = check_paths([str(tmp_path)], Options(isolated=True, select=("MPS502",)))
    (found,) = result.findings

    assert found.fix is not None
    assert not found.fix.edits
    assert "float64" in found.fix.summary


LIGHTNING = "import lightning as L\nclass Net(L.LightningModule):\n    def training_step(self, batch, number):\n        return {what}\nL.Trainer(accelerator='mps').fit(Net(), data)\n"


@pytest.mark.parametrize(
    "what", ["torch.ones(2, device=self.device) * torch.ones(2)", "torch.ones(2, dtype=torch.float64).to(self.device)"]
)
def test_a_model_that_lightning_moves_says_its_device(what: str) -> None:
    """The device of `self` is where the Trainer puts it."""
    assert [event.certainty for event in events_of(HEAD + LIGHTNING.format(what=what))][:1] == [Certainty.SURE]


def test_a_sample_with_one_of_two_numbers_is_collated_like_either() -> None:
    """Whichever it is, torch makes float64 of it."""
    data = "class Data(torch.utils.data.Dataset):\n    def __getitem__(self, number):\n        return 1.0 if number > 3 else 0.0\n"
    walk = "for y in torch.utils.data.DataLoader(Data()):\n    y.to(dev)\n"

    assert [(event.kind, event.certainty) for event in events_of(HEAD + data + walk)] == [("float64", Certainty.SURE)]


@pytest.mark.parametrize("where", ["train", "choice"])
def test_a_cast_that_changes_a_run_with_cuda_is_not_safe(where: str, tmp_path: Path) -> None:
    """The choice of the device may stand in another file of the run."""
    choice = "dev = 'cuda' if torch.cuda.is_available() else 'mps'\n"
    (tmp_path / "choice.py").write_text("import torch\n" + (choice if where == "choice" else "dev = None\n"))
    own = choice if where == "train" else ""
    (tmp_path / "train.py").write_text(
        f"import numpy as np\nimport torch\nfrom choice import dev\n{own}print(torch.from_numpy(np.ones(4)).to(dev))\n"
    )
    found = [one for result in check_paths([str(tmp_path)], Options(isolated=True, select=("MPS116",))) for one in result.findings]

    assert [one.fix.safety for one in found if one.fix is not None] == [Safety.UNSAFE]


def test_a_data_set_of_several_gives_what_they_give() -> None:
    """`ConcatDataset` is given a list of data sets, not one."""
    data = (
        "from torch.utils.data import ConcatDataset, DataLoader, TensorDataset\ndata = TensorDataset(torch.from_numpy(np.ones((8, 4))))\n"
    )
    walk = "for x, in DataLoader(ConcatDataset([data, data])):\n    x.to(dev)\n"

    assert [(event.kind, event.certainty) for event in events_of(HEAD + data + walk)] == [("float64", Certainty.SURE)]


@pytest.mark.parametrize("wrapped", ["f", "Net().add"])
def test_a_compiled_function_is_the_function(wrapped: str) -> None:
    """What torch.compile gives does what it's given."""
    code = f"def f(x):\n    return x + torch.zeros(4)\nclass Net:\n    def add(self, x):\n        return x + torch.zeros(4)\ng = torch.compile({wrapped})\ng(torch.ones(4, device=dev))\n"

    assert [event.kind for event in events_of(HEAD + code) if event.certainty is Certainty.SURE] == ["mismatch"]


@pytest.mark.parametrize(("moved", "count"), [("packed.to(dev)", 0), ("packed", 1), ("packed.to(dev).to('cpu')", 1)])
def test_packed_sequences_move_as_tensors_do(moved: str, count: int) -> None:
    """`.to` gives another PackedSequence, on the device."""
    text = f"""import torch
from torch import nn

dev = "mps"
packed = nn.utils.rnn.pack_padded_sequence(torch.ones(3, 2, 4), torch.tensor([3, 2]))
nn.LSTM(4, 4).to(dev)({moved})
"""
    found = mpslint.check(text, select=["MPS576"]).findings

    assert len(found) == count


@pytest.mark.parametrize(("place", "count"), [("cpu", 0), ("mps", 1)])
def test_the_lengths_of_unpacked_sequences_lie_on_the_cpu(place: str, count: int) -> None:
    """Wherever the sequences lie themselves."""
    packed = "packed = nn.utils.rnn.pack_padded_sequence(torch.ones(3, 2, 4, device=dev), torch.tensor([3, 2]))\n"
    code = f"{HEAD}{packed}x, lengths = nn.utils.rnn.pad_packed_sequence(packed)\ntorch.arange(2, device='{place}') < lengths\n"

    assert len(events_of(code)) == count


LAYERS = "import elsewhere\n{head}class Net(nn.Module):\n    def __init__(self, width):\n        super().__init__()\n        self.layers = nn.ModuleList()\n        for _ in range({count}):\n            self.layers.append(nn.Linear(width, 4))\n    def forward(self, x):\n        for layer in self.layers:\n            x = layer(x)\n        return x\nnet = Net({width}).to(dev)\nfor batch in elsewhere.loader():\n    batch = batch.to(dev)\n    y = net(batch.x)\n    z = nn.Linear(4, 4).to(dev)(y)\n"


@pytest.mark.parametrize("count", [3, 4, 5, 6])
def test_what_many_layers_give_is_the_same_in_each_round(count: int) -> None:
    """However many they are: nothing is forgotten because another walk shows no news again."""
    events = events_of(LAYERS.format(head=HEAD, count=count, width=4))

    assert not [event for event in events if event.certainty is Certainty.UNKNOWN]


def test_the_real_part_of_complex_numbers_is_real() -> None:
    """It has half their bits."""
    assert dtype_of(joined_dtype(names_of(HEAD + "x = torch.ones(3, dtype=torch.complex64).real\n")["x"])) == "float32"
