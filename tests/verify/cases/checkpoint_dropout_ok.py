# verify: pass
from __future__ import annotations

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

device = torch.device("mps")
block = nn.Sequential(nn.Linear(64, 64), nn.GELU()).to(device)
head = nn.Linear(64, 1).to(device)
optimizer = torch.optim.AdamW([*block.parameters(), *head.parameters()])

for _ in range(30):
    loss = head(checkpoint(block, torch.ones(8, 64).to(device), use_reentrant=False)).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
