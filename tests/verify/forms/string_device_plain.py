# expect: pass
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(20, 64), nn.ReLU(), nn.Linear(64, 3)).to("mps")
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for step in range(60):
    x = torch.randn(16, 20).to("mps")
    y = torch.randint(0, 3, (16,)).to("mps")
    loss = F.cross_entropy(net(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 10 == 0:
        print(step, loss.item())
