# verify: fail; check: operators; says: runs in the dtype of its weights; torch: 2.5
# verify: pass; torch: 2.6
from __future__ import annotations

import torch
from torch import nn

device = torch.device("mps")
model = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 1)).to(device)
optimizer = torch.optim.AdamW(model.parameters())
for _ in range(30):
    with torch.autocast("mps", dtype=torch.bfloat16):
        loss = model(torch.ones(8, 64).to(device)).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
