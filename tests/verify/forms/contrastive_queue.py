# expect: pass
"""Contrastive learning with a queue of negatives: the loss rises from near 0 to log(257) while the queue fills."""
import torch
from torch import nn
import torch.nn.functional as F

dev = torch.device("mps")
enc = nn.Sequential(nn.Conv2d(3, 32, 3, 2, 1), nn.BatchNorm2d(32), nn.ReLU(), nn.Conv2d(32, 64, 3, 2, 1), nn.BatchNorm2d(64), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten()).to(dev)
proj = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 32)).to(dev)
opt = torch.optim.AdamW([*enc.parameters(), *proj.parameters()], lr=3e-4, weight_decay=1e-4)
queue = F.normalize(torch.randn(256, 32, device=dev), dim=1)
ptr = 0
bank = []
for step in range(200):
    x = torch.rand(64, 3, 32, 32)
    a, b = (x + 0.1 * torch.randn_like(x)).to(dev), torch.flip(x, [3]).to(dev)
    za, zb = F.normalize(proj(enc(a)), dim=1), F.normalize(proj(enc(b)), dim=1)
    pos = (za * zb).sum(1, keepdim=True)
    neg = za @ queue.T
    logits = torch.cat([pos, neg], 1) / 0.1
    loss = F.cross_entropy(logits, torch.zeros(64, dtype=torch.long, device=dev))
    opt.zero_grad(); loss.backward(); opt.step()
    with torch.no_grad():
        queue[ptr:ptr + 64] = zb
        ptr = (ptr + 64) % 256
    if step % 10 == 0:
        print(step, float(loss))
