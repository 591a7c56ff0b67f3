# expect: notfail
import numpy as np
import torch
import torch.nn as nn
from torch.distributions import Categorical


class Env:
    def reset(self):
        self.t, self.s = 0, np.random.randn(4).astype(np.float32)
        return self.s

    def step(self, a):
        self.t += 1
        self.s = self.s + 0.1 * np.random.randn(4).astype(np.float32)
        return self.s, 1.0, self.t >= 20


class Agent(nn.Module):
    def __init__(self):
        super().__init__()
        self.critic = nn.Sequential(nn.Linear(4, 32), nn.Tanh(), nn.Linear(32, 1))
        self.actor = nn.Sequential(nn.Linear(4, 32), nn.Tanh(), nn.Linear(32, 2))

    def act(self, x, action=None):
        dist = Categorical(logits=self.actor(x))
        action = dist.sample() if action is None else action
        return action, dist.log_prob(action), dist.entropy(), self.critic(x).squeeze(-1)


dev = "mps" if torch.backends.mps.is_available() else "cpu"
agent, env = Agent().to(dev), Env()
opt = torch.optim.Adam(agent.parameters(), lr=2.5e-4, eps=1e-5)
STEPS = 64
obs = torch.zeros(STEPS, 4, device=dev)
acts, logps, rews, dones, vals = (torch.zeros(STEPS, device=dev) for _ in range(5))
s, done = torch.tensor(env.reset(), device=dev), 0.0
for update in range(10):
    for i in range(STEPS):
        obs[i], dones[i] = s, done
        with torch.no_grad():
            a, lp, _, v = agent.act(s)
        acts[i], logps[i], vals[i] = a, lp, v
        nxt, r, d = env.step(a.item())
        rews[i], done = r, float(d)
        s = torch.tensor(env.reset() if d else nxt, device=dev)
    with torch.no_grad():
        adv, last = torch.zeros_like(rews), 0.0
        for t in reversed(range(STEPS)):
            nextv = vals[t + 1] if t < STEPS - 1 else agent.critic(s).squeeze()
            delta = rews[t] + 0.99 * nextv * (1 - dones[t]) - vals[t]
            adv[t] = last = delta + 0.99 * 0.95 * (1 - dones[t]) * last
        ret = adv + vals
    idx = np.arange(STEPS)
    for epoch in range(4):
        np.random.shuffle(idx)
        for lo in range(0, STEPS, 16):
            mb = idx[lo:lo + 16]
            _, lp, ent, v = agent.act(obs[mb], acts.long()[mb])
            ratio = (lp - logps[mb]).exp()
            a = adv[mb]
            a = (a - a.mean()) / (a.std() + 1e-8)
            loss = torch.max(-a * ratio, -a * ratio.clamp(0.8, 1.2)).mean() + 0.5 * ((v - ret[mb]) ** 2).mean() - 0.01 * ent.mean()
            opt.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(agent.parameters(), 0.5)
            opt.step()
