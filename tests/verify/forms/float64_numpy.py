# expect: fail: float64
import numpy as np
import torch
X = np.random.rand(100, 4)
Y = np.random.rand(100, 1)
model = torch.nn.Linear(4, 1).to("mps")
opt = torch.optim.SGD(model.parameters(), lr=0.1)
for i in range(50):
    xb = torch.from_numpy(X[:10]).to("mps")
    yb = torch.tensor(Y[:10]).to("mps")
    loss = ((model(xb) - yb) ** 2).mean()
    loss.backward()
    opt.step()
    opt.zero_grad()
