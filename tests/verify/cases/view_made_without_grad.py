# verify: pass; values: yes
from __future__ import annotations

import torch
from torch import nn

device = torch.device("mps")
model = nn.Embedding(10, 4).to(device)
with torch.no_grad():
    padding = model.weight[0]
    model.weight.normal_()
    padding.zero_()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(20):
    loss = model(torch.randint(0, 10, (8,), device=device)).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
