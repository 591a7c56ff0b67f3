# expect: fail: losses.append
import torch
m = torch.nn.Sequential(torch.nn.Linear(64, 16384), torch.nn.ReLU(), torch.nn.Linear(16384, 64)).to("mps")
opt = torch.optim.SGD(m.parameters(), lr=1e-3)
losses = []
for _ in range(400):
    loss = m(torch.randn(512, 64, device="mps")).pow(2).mean()
    opt.zero_grad(); loss.backward(); opt.step()
    losses.append((m(torch.randn(512, 64, device="mps")).mean() + loss).cpu())
