# verify: inconclusive; check: optimizer; says: 2 weight tensors (1.bias of Sequential) get gradients that no optimizer takes; line: 9
from __future__ import annotations

import torch
from torch import nn

device = torch.device("mps")
model = nn.Sequential(nn.Linear(4, 8), nn.Linear(8, 2)).to(device)
optimizer = torch.optim.Adam(model[0].parameters())
for _ in range(20):
    loss = model(torch.randn(8, 4, device=device)).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
