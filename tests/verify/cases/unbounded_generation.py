# verify: fail; check: operators; says: without a bound
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
for _ in range(20):
    ids = torch.randint(0, 30000, (4, 64)).to(device)
    loss = nn.functional.cross_entropy(model(ids).flatten(0, 1), ids.flatten())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
model.eval()
with torch.no_grad():
    ids = torch.ones((1, 4), dtype=torch.long, device=device)
    while True:
        token = model(ids)[:, -1].argmax(-1)
        ids = torch.cat([ids, token[:, None]], dim=1)
        if token.item() == 2:
            break
