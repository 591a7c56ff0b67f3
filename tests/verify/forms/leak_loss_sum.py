# expect: fail: `total_loss \+= loss` keeps
import torch
net = torch.nn.Sequential(*[torch.nn.Linear(256, 256) for _ in range(6)]).to("mps")
opt = torch.optim.SGD(net.parameters(), lr=0.01)
total_loss = 0
for step in range(500):
    x = torch.randn(512, 256, device="mps")
    loss = net(x).pow(2).mean()
    opt.zero_grad()
    loss.backward(retain_graph=True)
    opt.step()
    total_loss += loss
print(total_loss / 500)
