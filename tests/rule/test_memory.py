"""Training and evaluation in plain loops whose largest tensor is more than the Mac has, and loops alike that run."""

from __future__ import annotations

from dataclasses import replace

import pytest

from mpslint.engine import check
from mpslint.rule.loading import load_rules
from mpslint.source.reader import read
from mpslint.target.target import default_target

HEAD = "import argparse\nimport torch\nimport torch.nn.functional as F\nfrom torch import nn\n\n"
GPT = """class GPT(nn.Module):
    def __init__(self, vocabulary, width, length):
        super().__init__()
        self.tokens = nn.Embedding(vocabulary, width)
        self.places = nn.Embedding(length, width)
        self.blocks = nn.ModuleList([Block(width, 12) for _ in range(12)])
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, vocabulary, bias=False)

    def forward(self, idx, targets=None):
        b, t = idx.size()
        x = self.tokens(idx) + self.places(torch.arange(0, t, device=idx.device))
        for block in self.blocks:
            x = block(x)
        logits = self.head(self.norm(x))
        loss = None if targets is None else F.cross_entropy(logits.view(-1, logits.size(-1)), targets.view(-1))
        return logits, loss


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads, self.qkv, self.out = heads, nn.Linear(width, 3 * width), nn.Linear(width, width)

    def forward(self, x):
        b, t, c = x.size()
        q, k, v = self.qkv(x).split(c, dim=2)
        q, k, v = (one.view(b, t, self.heads, c // self.heads).transpose(1, 2) for one in (q, k, v))
        x = x + F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).contiguous().view(b, t, c)
        return x + self.out(x)


"""
TRAINED = """model = GPT(50304, 768, 1024).to("mps")
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4)
for step in range(1000):
    x = torch.randint(0, 50304, ({batch}, 1024), device="mps")
    y = torch.randint(0, 50304, ({batch}, 1024), device="mps")
    logits, loss = model(x, y)
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    optimizer.step()
"""
OPTIONS = """parser = argparse.ArgumentParser()
parser.add_argument("--batch", type=int, default=64)
args = parser.parse_args()
"""
ATTENTION = """class Attention(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.q, self.k, self.v = nn.Linear(width, width), nn.Linear(width, width), nn.Linear(width, width)

    def forward(self, x):
        b, t, c = x.shape
        q = self.q(x).view(b, t, self.heads, c // self.heads).transpose(1, 2)
        k = self.k(x).view(b, t, self.heads, c // self.heads).transpose(1, 2)
        v = self.v(x).view(b, t, self.heads, c // self.heads).transpose(1, 2)
        scores = q @ k.transpose(-2, -1) / (c // self.heads) ** 0.5
        return (F.softmax(scores, dim=-1) @ v).transpose(1, 2).reshape(b, t, c)


device = torch.device("mps" if torch.backends.mps.is_available() else "cpu")
net = Attention(1024, 16).to(device)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for step in range(100):
    x = torch.randn(16, {length}, 1024, device=device)
    loss = net(x).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
CONVOLUTION = """from torch.utils.data import DataLoader, Dataset


class Pictures(Dataset):
    def __len__(self):
        return 10_000

    def __getitem__(self, index):
        return torch.rand(3, {side}, {side}), index % 10


net = nn.Sequential(nn.Conv2d(3, 64, 3, padding=1), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, 10)).to("mps")
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for x, y in DataLoader(Pictures(), batch_size=256, shuffle=True):
    x, y = x.to("mps"), y.to("mps")
    loss = criterion(net(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
KEPT = """model = GPT(50257, 768, 1024).to("mps")
model.eval()
kept = []
with torch.no_grad():
    for step in range({rounds}):
        x = torch.randint(0, 50257, (64, 512), device="mps")
        logits, _ = model(x)
        kept.append(logits)
result = torch.cat(kept)
"""

TOLD = {
    "logits": (GPT + TRAINED.format(batch=64), "F.cross_entropy() gets a tensor of 64 x 1,024 x 50,304 x 4 bytes = 12.3 GiB, and its backward pass holds 3 of that size: 36.8 GiB at once."),
    "logits by options": (GPT + OPTIONS + TRAINED.format(batch="args.batch"), "F.cross_entropy() gets a tensor of 64 x 1,024 x 50,304 x 4 bytes = 12.3 GiB with the default options, and its backward pass holds 3 of that size: 36.8 GiB at once."),
    "scores": (ATTENTION.format(length=8192), "F.softmax() gets a tensor of 16 x 16 x 8,192 x 8,192 x 4 bytes = 64.0 GiB, and makes another of that size: 128.0 GiB at once."),
    "activations": (CONVOLUTION.format(side=512), "net() makes a tensor of 256 x 64 x 512 x 512 x 4 bytes = 16.0 GiB, and with its operands 16.8 GiB are in memory at once."),
    "kept logits": (GPT + KEPT.format(rounds=20), "kept keeps 20 tensors of 64 x 512 x 50,257 x 4 bytes = 6.1 GiB, which are then joined in another tensor: 245.4 GiB at once."),
}  # fmt: skip
SILENT = {
    "small": GPT + TRAINED.format(batch=4),
    "a size that isn't known": "import sys\n" + GPT + TRAINED.format(batch="int(sys.argv[1])"),
    "shorter": ATTENTION.format(length=1024),
    "smaller pictures": CONVOLUTION.format(side=128),
    "freed in each step": GPT + KEPT.format(rounds=20).replace("kept.append(logits)", "kept.append(logits.argmax(-1))").replace("x = torch.randint", "x = torch.randint"),
    "compiled": GPT + TRAINED.format(batch=64).replace('.to("mps")', '.to("mps")\nmodel = torch.compile(model)', 1),
    "on the CPU": (GPT + TRAINED.format(batch=64)).replace('"mps"', '"cpu"'),
    "half numbers": CONVOLUTION.format(side=512).replace("    loss = criterion(net(x), y)", '    with torch.autocast("mps", dtype=torch.float16):\n        loss = criterion(net(x), y)'),
    "a path for older releases": ATTENTION.format(length=8192).replace("        scores =", "        if hasattr(F, 'scaled_dot_product_attention'):\n            return F.scaled_dot_product_attention(q, k, v)\n        scores ="),
    "the last of them": (GPT + TRAINED.format(batch=32)).replace("logits.view(-1, logits.size(-1)), targets.view(-1)", "logits[:, -1], targets[:, -1]"),
    "fewer pictures": CONVOLUTION.format(side=512).replace("DataLoader(Pictures()", "DataLoader(torch.utils.data.Subset(Pictures(), range(8))"),
    "some of the pictures": CONVOLUTION.format(side=512).replace("shuffle=True", "sampler=torch.utils.data.SubsetRandomSampler(range(8))"),
    "of no gradient": (GPT + TRAINED.format(batch=40)).replace("loss.backward()", "logits.mean().backward()").replace("model(x, y)", "model(x)").replace("    optimizer.step()", "    accuracy = (logits.softmax(-1).argmax(-1) == y).float().mean()"),
    "in parts": GPT + 'model = GPT(50304, 768, 1024).to("mps")\nfor part in torch.randint(0, 50304, (64, 1024), device="mps").split(8):\n    logits, loss = model(part, part)\n    loss.backward()\n    del logits\n',
}  # fmt: skip


def told(code: str, memory: int | None = None, by: str = "MPS217") -> list[str]:
    """Return what a rule says of a program, for a Mac with some memory."""
    rules = [rule for rule in load_rules() if rule.id == by]
    target = replace(default_target(), memory_gib=memory)
    return [finding.message for finding in check(read("train.py", (HEAD + code).encode()), target, rules).findings]


@pytest.mark.parametrize(("code", "said"), TOLD.values(), ids=TOLD)
def test_what_a_step_needs_is_told_with_its_arithmetic(code: str, said: str) -> None:
    assert [message[: len(said)] for message in told(code)] == [said]


@pytest.mark.parametrize("code", SILENT.values(), ids=SILENT)
def test_what_fits_or_is_not_known_is_left_alone(code: str) -> None:
    assert told(code) == []


def test_a_mac_with_the_memory_is_left_alone() -> None:
    code = GPT + TRAINED.format(batch=64)

    assert told(code, 64) == []
    assert told(code, 24)[0].endswith(
        "On a Mac with 24 GB, MPS works well up to 17.8 GiB, then swaps, and by default raises above 30.2 GiB."
    )


def test_what_is_kept_on_the_device_is_told_with_its_size() -> None:
    """Where nobody knows how many batches there are; a Mac that holds many of them isn't judged."""
    code = "import sys\n" + GPT + KEPT.format(rounds="int(sys.argv[1])").replace("result = torch.cat(kept)\n", "")

    assert told(code, by="MPS208")[0].startswith("`kept` keeps every batch's outputs (64 x 512 x 50,257 x 4 bytes = 6.1 GiB) on the device")
    assert told(code) == [
        "kept keeps a tensor of 64 x 512 x 50,257 x 4 bytes = 6.1 GiB in each round. A Mac with 16 GB has room for 2 of them."
    ]
    assert told(code, 64) == []
    assert "GiB" not in told(code.replace("(64, 512)", "(x, 512)"), by="MPS208")[0]
