# expect: pass
import torch
m = torch.nn.Linear(8, 1).to("mps")
opt = torch.optim.Adam(m.parameters(), lr=1e-2)
X = torch.randn(64, 8, device="mps"); Y = X.sum(1, keepdim=True)
best, bad, patience = float("inf"), 0, 3
for epoch in range(100):
    loss = ((m(X) - Y) ** 2).mean()
    opt.zero_grad(); loss.backward(); opt.step()
    v = loss.item()
    if v < best - 1e-4:
        best, bad = v, 0
        state = {k: p.cpu().clone() for k, p in m.state_dict().items()}
    else:
        bad += 1
        if bad >= patience: break
m.load_state_dict(state)
assert best < 100
