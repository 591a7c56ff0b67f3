# expect: inconclusive: os._exit.*5 optimizer.*os_exit.py
import os
import torch
m = torch.nn.Linear(4, 1).to("mps")
opt = torch.optim.SGD(m.parameters(), lr=0.1)
for i in range(5):
    m(torch.rand(4, 4, device="mps")).mean().backward(); opt.step(); opt.zero_grad()
os._exit(3)
