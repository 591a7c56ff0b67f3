# expect: fail: nan|NaN|finite
import torch
m = torch.nn.Linear(4, 1).to("mps")
opt = torch.optim.SGD(m.parameters(), lr=0.1)
for i in range(30):
    out = m(torch.rand(4, 4, device="mps"))
    loss = torch.log(out - 100).mean()
    loss.backward(); opt.step(); opt.zero_grad()
