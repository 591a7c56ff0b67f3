# verify: pass
from __future__ import annotations

import torch
from torch import nn

device = torch.device("mps")
model = nn.Sequential(nn.Linear(4, 8), nn.Linear(8, 2)).to(device)
optimizer = torch.optim.Adam(model[1].parameters())
for _ in range(20):
    loss = model(torch.randn(8, 4, device=device)).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
