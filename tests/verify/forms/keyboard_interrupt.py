# expect: fail: KeyboardInterrupt.*keyboard_interrupt.py:7
import torch
m = torch.nn.Linear(4, 1).to("mps")
opt = torch.optim.SGD(m.parameters(), lr=0.1)
for i in range(3):
    m(torch.rand(4, 4, device="mps")).mean().backward(); opt.step(); opt.zero_grad()
raise KeyboardInterrupt
