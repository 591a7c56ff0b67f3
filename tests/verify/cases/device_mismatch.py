# verify: fail; check: starts; says: Placeholder storage
from __future__ import annotations

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

device = torch.device("mps")
torch.manual_seed(0)
inputs = torch.randn(640, 32)
labels = (inputs.sum(1) > 0).long()
model = nn.Sequential(nn.Linear(32, 64), nn.ReLU(), nn.Linear(64, 2)).to(device)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
for _ in range(4):
    for batch, wanted in DataLoader(TensorDataset(inputs, labels), batch_size=16, shuffle=True):
        loss = nn.functional.cross_entropy(model(batch.to(device)), wanted)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
