# expect: fail: device|Placeholder
import torch
m = torch.nn.Linear(4, 4).to("mps")
opt = torch.optim.SGD(m.parameters(), lr=0.1)
weights = torch.tensor([0.1, 0.2, 0.3, 0.4])
for _ in range(10):
    x = torch.randn(2, 4).to("mps")
    loss = torch.nn.functional.cross_entropy(m(x), torch.tensor([0, 1], device="mps"), weight=weights)
    loss.backward(); opt.step(); opt.zero_grad()
