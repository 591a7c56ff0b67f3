# verify: fail; check: values; says: the gradients aren't reset; line: 16; values: yes
from __future__ import annotations

import torch
from torch import nn

device = torch.device("mps")
model = nn.Sequential(nn.Linear(30, 64), nn.ReLU(), nn.Linear(64, 3)).to(device)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
accumulate = 4
for batch in range(80):
    loss = nn.functional.cross_entropy(model(torch.randn(16, 30, device=device)), torch.randint(0, 3, (16,), device=device))
    (loss / accumulate).backward()
    if (batch + 1) % accumulate == 0:
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
