# expect: fail: weight
import torch
m = torch.nn.Linear(4, 1).to("mps")
opt = torch.optim.Adam(m.parameters(), lr=0.0)
for _ in range(30):
    loss = m(torch.randn(4, 4, device="mps")).pow(2).mean()
    loss.backward(); opt.step(); opt.zero_grad()
