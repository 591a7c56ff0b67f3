# verify: fail; check: live memory; says: keeps what
from __future__ import annotations

import torch
from torch import nn

device = torch.device("mps")
model = nn.Sequential(nn.Linear(512, 2048), nn.GELU(), nn.Linear(2048, 512)).to(device)
optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
losses = []
for _ in range(200):
    loss = model(torch.ones(512, 512).to(device)).square().mean()
    optimizer.zero_grad()
    loss.backward(retain_graph=True)
    optimizer.step()
    losses.append(loss)
