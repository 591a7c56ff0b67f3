# verify: fail; check: values; says: the learning rate is 0 from step 6 on; line: 10; values: yes
from __future__ import annotations

import torch
from torch import nn

device = torch.device("mps")
model = nn.Linear(4, 1).to(device)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: max(0.0, 1 - step / 5))  # epochs, not steps
for _ in range(40):
    loss = model(torch.randn(8, 4, device=device)).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    scheduler.step()
