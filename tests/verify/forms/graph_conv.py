# expect: pass
import torch
dev = "mps"
N, E = 50, 200
edge = torch.randint(0, N, (2, E)).to(dev)
x = torch.randn(N, 8).to(dev)
y = torch.randint(0, 3, (N,)).to(dev)
mask = (torch.rand(N) > 0.3).to(dev)
class GCN(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.l1, self.l2 = torch.nn.Linear(8, 16), torch.nn.Linear(16, 3)
    def agg(self, h):
        out = torch.zeros_like(h)
        out.index_add_(0, edge[1], h[edge[0]])
        deg = torch.zeros(N, device=h.device).scatter_add_(0, edge[1], torch.ones(E, device=h.device)).clamp(min=1)
        return out / deg.unsqueeze(-1)
    def forward(self, x):
        return self.l2(self.agg(torch.relu(self.l1(self.agg(x)))))
m = GCN().to(dev)
opt = torch.optim.Adam(m.parameters(), lr=0.01, weight_decay=5e-4)
for e in range(30):
    out = m(x)
    loss = torch.nn.functional.cross_entropy(out[mask], y[mask])
    opt.zero_grad(); loss.backward(); opt.step()
    acc = (out[~mask].argmax(1) == y[~mask]).float().mean().item()
