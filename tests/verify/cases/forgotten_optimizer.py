# verify: inconclusive; check: optimizer; says: 4 weight tensors (layers.2.bias of Critic) get gradients that no optimizer takes
from __future__ import annotations

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Critic(nn.Module):
    """Tells real rows from drawn ones."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 1))

    def forward(self, rows: torch.Tensor) -> torch.Tensor:
        return self.layers(rows).flatten()


device = torch.device("mps")
loader = DataLoader(TensorDataset(torch.rand(640, 16)), batch_size=32, shuffle=True)
maker, critic = nn.Linear(8, 16).to(device), Critic().to(device)
making = torch.optim.Adam(maker.parameters(), lr=2e-4)
judging = torch.optim.Adam(maker.parameters(), lr=2e-4)
told = nn.BCEWithLogitsLoss()
for _ in range(2):
    for (real,) in loader:
        made = maker(torch.randn(len(real), 8, device=device))
        judging.zero_grad()
        ones, zeros = torch.ones(len(real), device=device), torch.zeros(len(real), device=device)
        (told(critic(real.to(device)), ones) + told(critic(made.detach()), zeros)).backward()
        judging.step()
        making.zero_grad()
        told(critic(made), ones).backward()
        making.step()
