# verify: pass; torch: 2.13
# verify: fail; check: operators; says: computes in float64; torch: 2.7
from __future__ import annotations

import torch
from torch import nn

device = torch.device("mps")
model = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 1)).to(device)
optimizer = torch.optim.AdamW(model.parameters())
scaler = torch.amp.GradScaler("mps")
for _ in range(30):
    with torch.autocast("mps", dtype=torch.float16):
        loss = model(torch.ones(8, 64).to(device)).square().mean()
    optimizer.zero_grad()
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
