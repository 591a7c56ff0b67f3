# verify: fail; check: values; says: the loss is nan at step 2: the batch (float32) holds nan already; line: 13; values: yes
from __future__ import annotations

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

device = torch.device("mps")
rows = torch.tensor([[0.1, 0.2, float("nan" if row == 37 else 0.3), 0.4] for row in range(320)])
model = nn.Linear(4, 1).to(device)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for _ in range(2):
    for (inputs,) in DataLoader(TensorDataset(rows), batch_size=32):
        centred = inputs.to(device) - 1
        loss = model(centred).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
