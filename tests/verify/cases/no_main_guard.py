# verify: fail; check: operators; says: before the current process has finished
from __future__ import annotations

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

device = torch.device("mps")
model = nn.Linear(8, 1).to(device)
optimizer = torch.optim.AdamW(model.parameters())
for (batch,) in DataLoader(TensorDataset(torch.ones(640, 8)), batch_size=16, num_workers=2):
    loss = model(batch.to(device)).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
