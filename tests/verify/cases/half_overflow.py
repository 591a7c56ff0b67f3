# verify: fail; check: values; says: `pow` makes inf of finite operands (float16); line: 14; values: yes
from __future__ import annotations

import torch
from torch import nn

device = torch.device("mps")
model = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 1)).half().to(device)
optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
for _ in range(20):
    inputs = torch.randn(32, 16, device=device).half()
    wanted = inputs.sum(-1, keepdim=True) * 1000
    error = model(inputs) - wanted
    loss = (error**2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
