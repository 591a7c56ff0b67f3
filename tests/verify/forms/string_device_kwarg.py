# expect: pass
import torch
from torch import nn

device = "mps" if torch.backends.mps.is_available() else "cpu"
g = torch.Generator(device=device)
g.manual_seed(3)
model = nn.Linear(8, 8, device=device)
w = torch.zeros(8, device=device)
o = torch.ones(4, 8, device=device)
eye = torch.eye(8, device=device)
optim = torch.optim.Adam(model.parameters(), lr=1e-3)
for epoch in range(4):
    for i in range(10):
        x = torch.randn(4, 8, device=device, generator=g)
        t = torch.arange(8, device=device).float().expand(4, 8)
        pred = model(x + o) @ eye + w
        loss = ((pred - t) ** 2).mean()
        optim.zero_grad(set_to_none=True)
        loss.backward()
        optim.step()
