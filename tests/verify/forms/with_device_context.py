# expect: pass
import torch
with torch.device("mps"):
    model = torch.nn.Linear(4, 2)
    target = torch.zeros(3, 2)
opt = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
for _ in range(30):
    loss = (model(torch.randn(3, 4).to(target.device)) - target).pow(2).sum()
    opt.zero_grad(); loss.backward(); opt.step()
