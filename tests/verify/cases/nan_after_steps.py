# verify: fail; check: values; says: the first gradient that isn't finite is that of 0.weight of Sequential; values: yes
from __future__ import annotations

import torch
from torch import nn

device = torch.device("mps")
torch.manual_seed(0)
inputs, wanted = torch.randn(64, 16).to(device), torch.randn(64, 1).to(device)
model = nn.Sequential(nn.Linear(16, 64), nn.Tanh(), nn.Linear(64, 1)).to(device)
optimizer = torch.optim.SGD(model.parameters(), lr=1e6)
for _ in range(200):
    loss = nn.functional.mse_loss(model(inputs), wanted)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
