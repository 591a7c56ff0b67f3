# verify: fail; check: values; says: `log` makes inf of finite operands (float32); line: 14; values: yes
from __future__ import annotations

import torch
from torch import nn

device = torch.device("mps")
torch.manual_seed(0)
model = nn.Sequential(nn.Linear(8, 32), nn.ReLU()).to(device)
optimizer = torch.optim.Adam(model.parameters())
mask = torch.triu(torch.full((32, 32), float("-inf"), device=device), 1)
for _ in range(20):
    weights = torch.softmax(mask + model(torch.randn(32, 8, device=device)), -1)
    entropy = -(weights * torch.log(weights)).sum(-1)
    loss = entropy.mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
