# verify: fail; check: compiled graphs; says: new compiled graphs a step; torch: 2.13
# verify: fail; check: compiled graphs; says: new compiled graphs a step; torch: 2.9
from __future__ import annotations

import torch
from torch import nn

device = torch.device("mps")


class Encoder(nn.Module):
    """A transformer layer over texts of any length."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(8000, 256)
        self.layer = nn.TransformerEncoderLayer(256, 4, 1024, batch_first=True)
        self.head = nn.Linear(256, 2)

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        """Return the logits."""
        return self.head(self.layer(self.embedding(ids)).mean(1))


model = Encoder().to(device)
optimizer = torch.optim.AdamW(model.parameters())
for step in range(500):
    longest = 64 + step * 37 % 448
    ids = torch.ones((16, longest), dtype=torch.long).to(device)
    loss = nn.functional.cross_entropy(model(ids), torch.zeros(16, dtype=torch.long).to(device))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
