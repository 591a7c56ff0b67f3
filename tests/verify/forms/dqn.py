# expect: pass
import random
from collections import deque, namedtuple
import torch
import torch.nn as nn
device = torch.device("cuda" if torch.cuda.is_available() else "mps" if torch.backends.mps.is_available() else "cpu")
Transition = namedtuple("Transition", ("state", "action", "next_state", "reward"))
class Memory:
    def __init__(self, n): self.memory = deque([], maxlen=n)
    def push(self, *a): self.memory.append(Transition(*a))
    def sample(self, n): return random.sample(self.memory, n)
    def __len__(self): return len(self.memory)
class DQN(nn.Module):
    def __init__(self):
        super().__init__()
        self.l1, self.l2 = nn.Linear(4, 32), nn.Linear(32, 2)
    def forward(self, x): return self.l2(torch.relu(self.l1(x)))
policy, target = DQN().to(device), DQN().to(device)
target.load_state_dict(policy.state_dict())
opt = torch.optim.AdamW(policy.parameters(), lr=1e-4, amsgrad=True)
memory = Memory(500)
steps = 0
def select(state):
    global steps
    steps += 1
    if random.random() > 0.5:
        with torch.no_grad():
            return policy(state).max(1).indices.view(1, 1)
    return torch.tensor([[random.randrange(2)]], device=device, dtype=torch.long)
def optimize():
    if len(memory) < 16: return
    batch = Transition(*zip(*memory.sample(16)))
    mask = torch.tensor(tuple(map(lambda s: s is not None, batch.next_state)), device=device, dtype=torch.bool)
    nonfinal = torch.cat([s for s in batch.next_state if s is not None])
    s, a, r = torch.cat(batch.state), torch.cat(batch.action), torch.cat(batch.reward)
    q = policy(s).gather(1, a)
    nxt = torch.zeros(16, device=device)
    with torch.no_grad():
        nxt[mask] = target(nonfinal).max(1).values
    loss = nn.SmoothL1Loss()(q, (nxt * 0.99 + r).unsqueeze(1))
    opt.zero_grad(); loss.backward()
    nn.utils.clip_grad_value_(policy.parameters(), 100)
    opt.step()
for ep in range(6):
    state = torch.randn(4, device=device).unsqueeze(0)
    for t in range(30):
        action = select(state)
        done = action.item() == 1 and random.random() < 0.1
        nxt = None if done else torch.randn(1, 4, device=device)
        memory.push(state, action, nxt, torch.tensor([1.0], device=device))
        state = nxt
        optimize()
        tsd, psd = target.state_dict(), policy.state_dict()
        for k in psd: tsd[k] = psd[k] * 0.005 + tsd[k] * 0.995
        target.load_state_dict(tsd)
        if done: break
