# verify: fail; check: fits; says: does not fit a 16 GB Mac
# verify: pass; memory: 64
from __future__ import annotations

import torch
from torch import nn

device = torch.device("mps")
model = nn.TransformerEncoderLayer(512, 16, 2048, batch_first=True).to(device)
optimizer = torch.optim.AdamW(model.parameters())

for _ in range(30):
    loss = model(torch.ones(7, 3072, 512).to(device)).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
