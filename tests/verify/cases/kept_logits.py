# verify: fail; check: evaluation; says: keeps what `return self.head(self.embedding(ids))`
from __future__ import annotations

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

device = torch.device("mps")


class Small(nn.Module):
    """A model whose logits are large."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(30000, 64)
        self.head = nn.Linear(64, 30000)

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        """Return the logits."""
        return self.head(self.embedding(ids))


model = Small().to(device)
optimizer = torch.optim.AdamW(model.parameters())
data = TensorDataset(torch.randint(0, 30000, (4000, 64)))
for _ in range(2):
    for (ids,) in DataLoader(data, batch_size=4):
        ids = ids.to(device)
        loss = nn.functional.cross_entropy(model(ids).flatten(0, 1), ids.flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    kept = []
    with torch.no_grad():
        for (ids,) in DataLoader(data, batch_size=16):
            logits = model(ids.to(device))
            kept.append(logits)
