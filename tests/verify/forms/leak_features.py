# expect: fail: `features.append\(h\)` keeps what `h = net
import torch
from torch import nn
net = nn.Sequential(nn.Linear(512, 1024), nn.ReLU(), nn.Linear(1024, 10)).to("mps")
features = []
opt = torch.optim.SGD(net.parameters(), lr=0.01)
for step in range(200):
    x = torch.randn(256, 512).to("mps")
    h = net[1](net[0](x))
    features.append(h)
    loss = net[2](h).logsumexp(1).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
