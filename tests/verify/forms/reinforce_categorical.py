# expect: pass
import torch
from torch.distributions import Categorical, Normal
dev = "mps"
pi = torch.nn.Sequential(torch.nn.Linear(3, 16), torch.nn.Tanh(), torch.nn.Linear(16, 4)).to(dev)
opt = torch.optim.Adam(pi.parameters(), lr=1e-2)
for ep in range(20):
    logps, rewards = [], []
    s = torch.zeros(3, device=dev)
    for t in range(10):
        d = Categorical(logits=pi(s))
        a = d.sample()
        logps.append(d.log_prob(a))
        rewards.append(1.0 if a.item() == 2 else 0.0)
        s = torch.randn(3, device=dev)
    R, ret = 0.0, []
    for r in rewards[::-1]:
        R = r + 0.9 * R
        ret.insert(0, R)
    ret = torch.tensor(ret, device=dev)
    ret = (ret - ret.mean()) / (ret.std() + 1e-8)
    loss = torch.stack([-l * r for l, r in zip(logps, ret)]).sum()
    opt.zero_grad(); loss.backward(); opt.step()
