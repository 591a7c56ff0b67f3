# expect: fail: jumps by
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
dev = "mps"
net = nn.Sequential(nn.Linear(256, 8192), nn.ReLU(), nn.Linear(8192, 5)).to(dev)
opt = torch.optim.AdamW(net.parameters())
train = DataLoader(TensorDataset(torch.randn(640, 256), torch.randint(0, 5, (640,))), batch_size=64)
val = DataLoader(TensorDataset(torch.randn(20000, 256), torch.randint(0, 5, (20000,))), batch_size=64)
for epoch in range(3):
    net.train()
    for x, y in train:
        opt.zero_grad()
        nn.functional.cross_entropy(net(x.to(dev)), y.to(dev)).backward()
        opt.step()
    net.eval()
    val_losses = []
    for x, y in val:
        val_losses.append(nn.functional.cross_entropy(net(x.to(dev)), y.to(dev)))
    print(sum(val_losses).item() / len(val))
