# verify: fail; check: operators; says: grid_sampler_2d_backward has no MPS kernel; torch: 2.12
# verify: pass; torch: 2.13
from __future__ import annotations

import torch
from torch import nn

device = torch.device("mps")
model = nn.Linear(8, 6).to(device)
optimizer = torch.optim.AdamW(model.parameters())

for _ in range(30):
    loss = nn.functional.grid_sample(
        torch.ones(4, 3, 16, 16).to(device),
        nn.functional.affine_grid(model(torch.ones(4, 8).to(device)).view(4, 2, 3), [4, 3, 16, 16], align_corners=False),
        align_corners=False,
    ).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
