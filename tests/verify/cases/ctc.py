# verify: fail; check: operators; says: aten::_ctc_loss.Tensor has no MPS kernel in torch 2.13; torch: 2.13
# verify: pass; torch: 2.14
from __future__ import annotations

import torch
from torch import nn

device = torch.device("mps")
model = nn.Linear(40, 32).to(device)
optimizer = torch.optim.AdamW(model.parameters())
lengths, sizes = torch.full((4,), 50), torch.full((4,), 10)
targets = torch.randint(1, 32, (4, 10)).to(device)

for _ in range(30):
    loss = nn.functional.ctc_loss(model(torch.ones(50, 4, 40).to(device)).log_softmax(-1), targets, lengths, sizes)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
