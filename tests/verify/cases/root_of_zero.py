# verify: fail; check: values; says: gradient is not finite at step 3: the backward pass of `sqrt` makes nan or inf; line: 14; values: yes
from __future__ import annotations

import torch
from torch import nn

device = torch.device("mps")
model = nn.Linear(4, 4).to(device)
optimizer = torch.optim.Adam(model.parameters())
for step in range(20):
    inputs = torch.randn(8, 4, device=device)
    other = torch.randn(8, 4, device=device) if step < 2 else inputs
    apart = model(inputs) - model(other)
    distance = apart.square().sum(-1).sqrt()
    loss = distance.mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
