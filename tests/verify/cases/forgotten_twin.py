# verify: inconclusive; check: optimizer; says: 4 weight tensors (2.bias of Sequential) get gradients that no optimizer takes
from __future__ import annotations

import torch
from torch import nn

device = torch.device("mps")


def network() -> nn.Sequential:
    return nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 1)).to(device)


first, second = network(), network()
optimizer = torch.optim.Adam(first.parameters(), lr=2e-4)
for _ in range(40):
    rows, wanted = torch.randn(32, 16, device=device), torch.randn(32, 1, device=device)
    loss = nn.functional.mse_loss(first(rows), wanted) + nn.functional.mse_loss(second(rows), wanted)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
first.to("cpu")
