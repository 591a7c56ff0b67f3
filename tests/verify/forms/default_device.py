# expect: pass
import torch
torch.set_default_device("mps")
m = torch.nn.GRU(6, 12, batch_first=True)
head = torch.nn.Linear(12, 1)
opt = torch.optim.RMSprop(list(m.parameters()) + list(head.parameters()))
for i in range(40):
    x = torch.rand(8, 5, 6)
    y = x.sum((1, 2)).unsqueeze(1)
    _, h = m(x)
    loss = (head(h[-1]) - y).abs().mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
