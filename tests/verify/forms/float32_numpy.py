# expect: pass
import numpy as np
import torch
X = np.random.rand(100, 4).astype(np.float32)
Y = np.random.rand(100, 1)
model = torch.nn.Linear(4, 1).to("mps")
opt = torch.optim.SGD(model.parameters(), lr=0.1)
for i in range(50):
    idx = np.random.choice(100, 10)
    xb = torch.from_numpy(X[idx]).to("mps")
    yb = torch.tensor(Y[idx], dtype=torch.float32, device="mps")
    loss = ((model(xb) - yb) ** 2).mean()
    loss.backward()
    opt.step()
    opt.zero_grad()
    if (i + 1) % 10 == 0:
        preds = model(xb).detach().cpu().numpy()
        print(np.abs(preds - yb.cpu().numpy()).mean())
