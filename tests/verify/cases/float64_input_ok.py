# verify: pass; values: yes
from __future__ import annotations

import numpy as np
import torch
from torch import nn

device = torch.device("mps")
model = nn.Linear(8, 1).to(device)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
generator = np.random.default_rng(0)
for _ in range(30):
    inputs = torch.from_numpy(generator.random((4, 8))).float().to(device)
    loss = model(inputs).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
