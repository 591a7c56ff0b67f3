# expect: pass
import torch
x = torch.linspace(-1, 1, 100, device="mps").unsqueeze(1)
y = torch.sin(3 * x)
net = torch.nn.Sequential(torch.nn.Linear(1, 16), torch.nn.Tanh(), torch.nn.Linear(16, 1)).to("mps")
opt = torch.optim.LBFGS(net.parameters(), lr=0.5, max_iter=5)
for i in range(10):
    def closure():
        opt.zero_grad()
        loss = ((net(x) - y) ** 2).mean()
        loss.backward()
        return loss
    loss = opt.step(closure)
    print(i, loss.item())
