# verify: pass
from __future__ import annotations

import torch
from torch import nn

device = torch.device("mps")
model = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.AdaptiveAvgPool2d(7), nn.Flatten(), nn.Linear(8 * 49, 2)).to(device)
optimizer = torch.optim.AdamW(model.parameters())

for _ in range(30):
    loss = model(torch.ones(4, 3, 28, 28).to(device)).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
