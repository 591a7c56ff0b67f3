# expect: pass
import torch
from torch import nn
device = torch.device("mps")
class Tiny(nn.Module):
    def __init__(self, A=3, C=4):
        super().__init__()
        self.body = nn.Sequential(nn.Conv2d(3, 8, 3, 2, 1), nn.ReLU(), nn.Conv2d(8, 16, 3, 2, 1), nn.ReLU())
        self.cls, self.box = nn.Conv2d(16, A * C, 1), nn.Conv2d(16, A * 4, 1)
        self.C = C
    def forward(self, x):
        f = self.body(x)
        n = x.shape[0]
        return self.cls(f).permute(0, 2, 3, 1).reshape(n, -1, self.C), self.box(f).permute(0, 2, 3, 1).reshape(n, -1, 4)
def iou(a, b):
    lt = torch.max(a[:, None, :2], b[None, :, :2]); rb = torch.min(a[:, None, 2:], b[None, :, 2:])
    wh = (rb - lt).clamp(min=0); inter = wh[..., 0] * wh[..., 1]
    area = lambda t: (t[:, 2] - t[:, 0]) * (t[:, 3] - t[:, 1])
    return inter / (area(a)[:, None] + area(b)[None] - inter + 1e-6)
model = Tiny().to(device)
opt = torch.optim.SGD(model.parameters(), lr=1e-3, momentum=0.9)
anchors = torch.rand(8 * 8 * 3, 4).to(device)
anchors[:, 2:] += anchors[:, :2]
for step in range(25):
    imgs = torch.stack([torch.randn(3, 32, 32) for _ in range(2)]).to(device)
    targets = []
    for _ in range(2):
        k = int(torch.randint(1, 4, (1,)))
        b = torch.rand(k, 4); b[:, 2:] += b[:, :2]
        targets.append({"boxes": b.to(device), "labels": torch.randint(0, 4, (k,)).to(device)})
    logits, deltas = model(imgs)
    total = 0
    for l, d, t in zip(logits, deltas, targets):
        m = iou(anchors, t["boxes"])
        best, idx = m.max(1)
        pos = best > 0.3
        labels = torch.zeros(len(anchors), dtype=torch.long, device=device)
        labels[pos] = t["labels"][idx[pos]]
        total = total + nn.functional.cross_entropy(l, labels)
        if pos.any():
            total = total + nn.functional.smooth_l1_loss(d[pos], t["boxes"][idx[pos]])
    opt.zero_grad(); total.backward(); opt.step()
