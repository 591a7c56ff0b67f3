# expect: pass
import math, time, os
import numpy as np, torch
from dataclasses import dataclass
from torch import nn
from torch.nn import functional as F
@dataclass
class Config:
    block_size: int = 32
    vocab_size: int = 65
    n_layer: int = 2
    n_head: int = 2
    n_embd: int = 32
    dropout: float = 0.0
class Block(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.ln1, self.ln2 = nn.LayerNorm(c.n_embd), nn.LayerNorm(c.n_embd)
        self.qkv, self.proj = nn.Linear(c.n_embd, 3 * c.n_embd), nn.Linear(c.n_embd, c.n_embd)
        self.mlp = nn.Sequential(nn.Linear(c.n_embd, 4 * c.n_embd), nn.GELU(), nn.Linear(4 * c.n_embd, c.n_embd))
        self.h = c.n_head
    def forward(self, x):
        B, T, C = x.size()
        q, k, v = self.qkv(self.ln1(x)).split(C, dim=2)
        q, k, v = [t.view(B, T, self.h, C // self.h).transpose(1, 2) for t in (q, k, v)]
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).contiguous().view(B, T, C)
        x = x + self.proj(y)
        return x + self.mlp(self.ln2(x))
class GPT(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.wte, self.wpe = nn.Embedding(c.vocab_size, c.n_embd), nn.Embedding(c.block_size, c.n_embd)
        self.h = nn.ModuleList([Block(c) for _ in range(c.n_layer)])
        self.ln_f, self.lm_head = nn.LayerNorm(c.n_embd), nn.Linear(c.n_embd, c.vocab_size, bias=False)
        self.wte.weight = self.lm_head.weight
    def forward(self, idx, targets=None):
        pos = torch.arange(0, idx.size(1), dtype=torch.long, device=idx.device)
        x = self.wte(idx) + self.wpe(pos)
        for b in self.h: x = b(x)
        logits = self.lm_head(self.ln_f(x))
        return logits, None if targets is None else F.cross_entropy(logits.view(-1, logits.size(-1)), targets.view(-1), ignore_index=-1)
    @torch.no_grad()
    def generate(self, idx, n):
        for _ in range(n):
            logits, _ = self(idx[:, -32:])
            idx = torch.cat((idx, torch.multinomial(F.softmax(logits[:, -1], -1), 1)), 1)
        return idx
device = 'mps'
device_type = 'cuda' if 'cuda' in device else 'cpu'
from contextlib import nullcontext
ctx = nullcontext() if device_type == 'cpu' else torch.amp.autocast(device_type=device_type, dtype=torch.bfloat16)
data = np.random.randint(0, 65, 5000).astype(np.uint16)
def get_batch():
    ix = torch.randint(len(data) - 32, (8,))
    x = torch.stack([torch.from_numpy(data[i:i + 32].astype(np.int64)) for i in ix])
    y = torch.stack([torch.from_numpy(data[i + 1:i + 33].astype(np.int64)) for i in ix])
    if device_type == 'cuda':
        x, y = x.pin_memory().to(device, non_blocking=True), y.pin_memory().to(device, non_blocking=True)
    else:
        x, y = x.to(device), y.to(device)
    return x, y
model = GPT(Config()); model.to(device)
scaler = torch.cuda.amp.GradScaler(enabled=False)
decay = [p for p in model.parameters() if p.dim() >= 2]; no = [p for p in model.parameters() if p.dim() < 2]
optimizer = torch.optim.AdamW([{"params": decay, "weight_decay": .1}, {"params": no, "weight_decay": 0.}], lr=6e-4, betas=(.9, .95))
@torch.no_grad()
def estimate_loss():
    out = {}
    model.eval()
    for split in ["train", "val"]:
        losses = torch.zeros(5)
        for k in range(5):
            X, Y = get_batch()
            with ctx: logits, loss = model(X, Y)
            losses[k] = loss.item()
        out[split] = losses.mean()
    model.train()
    return out
X, Y = get_batch()
iter_num = 0
while True:
    for g in optimizer.param_groups: g["lr"] = 6e-4 * min(1, (iter_num + 1) / 10)
    if iter_num % 20 == 0: print(estimate_loss())
    for micro in range(2):
        with ctx:
            logits, loss = model(X, Y); loss = loss / 2
        X, Y = get_batch()
        scaler.scale(loss).backward()
    scaler.unscale_(optimizer); torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    scaler.step(optimizer); scaler.update(); optimizer.zero_grad(set_to_none=True)
    iter_num += 1
    if iter_num > 60: break
print(model.generate(torch.zeros((1, 1), dtype=torch.long, device=device), 10)[0].tolist())
