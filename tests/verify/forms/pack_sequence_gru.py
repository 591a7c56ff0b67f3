# expect: pass
import random
import torch
from torch import nn
from torch.nn.utils.rnn import pack_sequence

dev = torch.device("mps" if torch.backends.mps.is_available() else "cpu")
rnn = nn.GRU(10, 20, num_layers=2, dropout=0.1).to(dev)
clf = nn.Linear(20, 2).to(dev)
params = [*rnn.parameters(), *clf.parameters()]
opt = torch.optim.Adam(params, lr=1e-3)
random.seed(1)
for i in range(25):
    batch = [torch.randn(random.randint(2, 12), 10, device=dev) for _ in range(5)]
    packed = pack_sequence(batch, enforce_sorted=False)
    _, h = rnn(packed)
    loss = nn.functional.cross_entropy(clf(h[-1]), torch.randint(0, 2, (5,), device=dev))
    opt.zero_grad()
    loss.backward()
    opt.step()
