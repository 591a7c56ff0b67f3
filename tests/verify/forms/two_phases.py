# expect: fail: grows by
"""Train the head first, then everything with a new optimizer; the second phase keeps its features."""
import torch
import torch.nn as nn

device = "mps"
backbone = nn.Sequential(nn.Linear(256, 512), nn.ReLU()).to(device)
head = nn.Linear(512, 10).to(device)
criterion = nn.CrossEntropyLoss()
features = []


def fit(params, steps, keep=False):
    opt = torch.optim.Adam(params, lr=1e-3)
    for i in range(steps):
        x = torch.randn(2048, 256, device=device)
        y = torch.randint(0, 10, (2048,), device=device)
        h = backbone(x)
        loss = criterion(head(h), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        if keep:
            features.append(h)


for p in backbone.parameters():
    p.requires_grad = False
fit(head.parameters(), 3)
for p in backbone.parameters():
    p.requires_grad = True
fit(list(backbone.parameters()) + list(head.parameters()), 2000, keep=True)
