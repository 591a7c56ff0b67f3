# verify: fail; check: values; says: the learning rate is 0; line: 10; values: yes
from __future__ import annotations

import torch
from torch import nn

device = torch.device("mps")
model = nn.Linear(4, 1).to(device)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: step // 10000)
for _ in range(40):
    loss = model(torch.randn(8, 4, device=device)).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    scheduler.step()
