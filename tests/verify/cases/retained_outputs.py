# verify: fail; check: live memory; says: keeps what
from __future__ import annotations

import torch
from torch import nn

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
history = []
for _ in range(500):
    ids = torch.randint(0, 30000, (4, 64)).to(device)
    logits = model(ids)
    loss = nn.functional.cross_entropy(logits.flatten(0, 1), ids.flatten())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    history.append((loss, logits))
