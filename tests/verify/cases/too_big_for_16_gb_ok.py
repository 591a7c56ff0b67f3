# verify: pass
from __future__ import annotations

import torch
from torch import nn

device = torch.device("mps")
model = nn.TransformerEncoderLayer(512, 16, 2048, batch_first=True).to(device)
optimizer = torch.optim.AdamW(model.parameters())

for _ in range(30):
    loss = model(torch.ones(1, 3072, 512).to(device)).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
