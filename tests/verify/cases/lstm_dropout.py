# verify: fail; check: operators; says: trains wrong; torch: 2.13
# verify: pass; torch: 2.14
from __future__ import annotations

import torch
from torch import nn

device = torch.device("mps")
model = nn.LSTM(32, 64, num_layers=2, dropout=0.2, batch_first=True).to(device)
optimizer = torch.optim.AdamW(model.parameters())

for _ in range(30):
    loss = model(torch.ones(4, 20, 32).to(device))[0].square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
