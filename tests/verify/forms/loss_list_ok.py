# expect: pass
import torch
net = torch.nn.Linear(32, 32).to("mps")
opt = torch.optim.SGD(net.parameters(), lr=0.01)
losses = []
for step in range(100):
    loss = net(torch.randn(8, 32, device="mps")).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    losses.append(loss.detach())
print(torch.stack(losses).mean().item())
