# expect: fail: siamese_triplet_hooks.py:13
"""Activations are kept by a forward hook, and nobody empties the list."""
import torch
import torch.nn as nn

dev = torch.device("mps")
net = nn.Sequential(nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(16 * 14 * 14, 64)).to(dev)
seen = []


def hook(module, inputs, output):
    # for a plot later
    seen.append(output.detach().clone())


net[1].register_forward_hook(hook)
opt = torch.optim.SGD(net.parameters(), lr=0.01, momentum=0.9)
crit = nn.TripletMarginLoss(margin=1.0)
for step in range(500):
    a, p, n = (torch.randn(64, 1, 28, 28, device=dev) for _ in range(3))
    loss = crit(net(a), net(p), net(n))
    opt.zero_grad()
    loss.backward()
    opt.step()
