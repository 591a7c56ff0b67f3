"""A language model of 30.55 million weights with an AdamW of its own, batches of 16 x 128 (datawhalechina/diy-llm, pull request 44)."""

from __future__ import annotations

import math

import torch
from torch import nn

device = torch.device("mps")
VOCABULARY, WIDTH, HEADS, LAYERS, INNER, LENGTH, BATCH = 50257, 256, 8, 6, 704, 128, 16


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.qkv = nn.Linear(WIDTH, 3 * WIDTH, bias=False)
        self.out = nn.Linear(WIDTH, WIDTH, bias=False)
        self.up, self.gate = nn.Linear(WIDTH, INNER, bias=False), nn.Linear(WIDTH, INNER, bias=False)
        self.down = nn.Linear(INNER, WIDTH, bias=False)
        self.norms = nn.ParameterList([torch.ones(WIDTH), torch.ones(WIDTH)])

    def forward(self, x, mask):
        q, k, v = self.qkv(norm(x, self.norms[0])).view(*x.shape[:2], 3, HEADS, -1).permute(2, 0, 3, 1, 4)
        scores = (q @ k.transpose(-1, -2) / math.sqrt(q.shape[-1])).masked_fill(mask, -1e9)
        x = x + self.out((torch.softmax(scores, -1) @ v).transpose(1, 2).reshape(x.shape))
        y = norm(x, self.norms[1])
        return x + self.down(nn.functional.silu(self.gate(y)) * self.up(y))


def norm(x, weight):
    return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-5) * weight


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(VOCABULARY, WIDTH)
        self.blocks = nn.ModuleList(Block() for _ in range(LAYERS))
        self.norm = nn.Parameter(torch.ones(WIDTH))
        self.head = nn.Linear(WIDTH, VOCABULARY, bias=False)

    def forward(self, ids):
        mask = torch.ones(ids.shape[1], ids.shape[1], dtype=torch.bool, device=ids.device).triu(1)
        x = self.embedding(ids)
        for block in self.blocks:
            x = block(x, mask)
        return self.head(norm(x, self.norm))


class OwnAdamW(torch.optim.Optimizer):
    def __init__(self, parameters):
        super().__init__(parameters, {"lr": 1e-3})

    def step(self, closure=None):
        for group in self.param_groups:
            for p in group["params"]:
                state = self.state[p]
                if not state:
                    state["m"], state["v"] = torch.zeros_like(p), torch.zeros_like(p)
                state["m"].mul_(0.9).add_(p.grad, alpha=0.1)
                state["v"].mul_(0.95).addcmul_(p.grad, p.grad, value=0.05)
                p.data.addcdiv_(state["m"], state["v"].sqrt().add_(1e-8), value=-group["lr"])
                p.data.mul_(1 - group["lr"] * 0.1)


model = Model().to(device)
optimizer = OwnAdamW(model.parameters())
for step in range(200):
    tokens = torch.randint(0, VOCABULARY, (BATCH, LENGTH + 1), device=device)
    optimizer.zero_grad()
    logits = model(tokens[:, :-1])
    loss = nn.functional.cross_entropy(logits.reshape(-1, VOCABULARY), tokens[:, 1:].reshape(-1))
    loss.backward()
    optimizer.step()
