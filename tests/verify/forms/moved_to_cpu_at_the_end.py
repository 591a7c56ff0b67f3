# expect: pass
import torch
from torch import nn

model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 2)).to("mps")
opt = torch.optim.SGD(model.parameters(), lr=0.1)
for i in range(12):
    out = model(torch.randn(4, 8).to("mps"))
    loss = nn.functional.cross_entropy(out, torch.randint(0, 2, (4,)).to("mps"))
    opt.zero_grad()
    loss.backward()
    opt.step()
last = model(torch.randn(4, 8).to("mps"))
model.to("cpu")
model.eval()
with torch.no_grad():
    print(model(torch.randn(1, 8)))
