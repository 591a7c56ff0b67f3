# verify: fail; check: evaluation; says: because `logits.append(model(tokens.to(device)))` keeps what `return self.out(self.embedding(tokens))`; line: 27
from __future__ import annotations

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

device = torch.device("mps")


class Model(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(50000, 32)
        self.out = nn.Linear(32, 50000)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        return self.out(self.embedding(tokens))


def evaluate(model: Model, loader: DataLoader) -> float:
    model.eval()
    logits, labels = [], []
    with torch.no_grad():
        for (tokens,) in loader:
            labels.append(tokens)
            logits.append(model(tokens.to(device)))
    return float(torch.cat(logits).argmax(-1).eq(torch.cat(labels).to(device)).float().mean())


model = Model().to(device)
optimizer = torch.optim.Adam(model.parameters())
train, rest = (DataLoader(TensorDataset(torch.zeros(count, 128, dtype=torch.long)), batch_size=8) for count in (400, 1600))
for _ in range(2):
    model.train()
    for (tokens,) in train:
        loss = nn.functional.cross_entropy(model(tokens.to(device)).flatten(0, 1), tokens.to(device).flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(evaluate(model, rest))
