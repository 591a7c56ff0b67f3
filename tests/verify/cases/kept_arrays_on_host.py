# verify: fail; check: evaluation; says: collects
from __future__ import annotations

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

device = torch.device("mps")
model = nn.Sequential(nn.Embedding(50000, 32), nn.Linear(32, 50000)).to(device)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
data = TensorDataset(torch.randint(0, 50000, (4000, 32)))
for (ids,) in DataLoader(data, batch_size=4):
    loss = nn.functional.cross_entropy(model(ids.to(device)).flatten(0, 1), ids.flatten().to(device))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
kept = np.zeros((0, 32, 50000), np.float32)
with torch.no_grad():
    for (ids,) in DataLoader(data, batch_size=16):
        kept = np.concatenate([kept, model(ids.to(device)).cpu().numpy()])
