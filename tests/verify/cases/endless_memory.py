# verify: inconclusive; check: live memory; says: `seen.append(state)` keeps what `state = torch.rand(64, 64).to(device)`
from __future__ import annotations

import random

import torch
from torch import nn

device = torch.device("mps")
model = nn.Linear(64, 4).to(device)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
seen: list[torch.Tensor] = []
for _ in range(1_000_000):
    state = torch.rand(64, 64).to(device)
    seen.append(state)
    loss = model(random.choice(seen)).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
