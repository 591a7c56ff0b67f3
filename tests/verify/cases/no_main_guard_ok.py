# verify: pass; values: yes
from __future__ import annotations

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def main() -> None:
    """Train."""
    device = torch.device("mps")
    model = nn.Linear(8, 1).to(device)
    optimizer = torch.optim.AdamW(model.parameters())
    for (batch,) in DataLoader(TensorDataset(torch.ones(640, 8)), batch_size=16, num_workers=2):
        loss = model(batch.to(device)).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


if __name__ == "__main__":
    main()
