# verify: fail; check: driver memory; says: not joined; torch: 2.13; memory: 4
# verify: pass; torch: 2.14; memory: 4
from __future__ import annotations

import torch
from torch import nn

device = torch.device("mps")
model = nn.Linear(1024, 64).to(device)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(500):
    rows = 60_000 + step * 5 % 12 * 19_000
    loss = torch.nn.functional.gelu(model(torch.ones((rows, 1024), device=device))).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
