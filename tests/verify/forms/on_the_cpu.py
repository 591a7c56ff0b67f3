# expect: inconclusive: nothing of the run is on MPS
import torch
from torch import nn, optim

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
net = nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, 2)).to(device)
opt = optim.SGD(net.parameters(), lr=0.1)
for epoch in range(50):
    x, y = torch.randn(32, 8).to(device), torch.randint(2, (32,)).to(device)
    opt.zero_grad()
    loss = nn.functional.cross_entropy(net(x), y)
    loss.backward()
    opt.step()
