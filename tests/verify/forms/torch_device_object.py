# expect: pass
import torch
device = torch.device("mps:0")
class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = torch.nn.Embedding(50, 16)
        self.pos = torch.nn.Parameter(torch.zeros(1, 10, 16))
        enc = torch.nn.TransformerEncoderLayer(16, 4, 32, batch_first=True)
        self.enc = torch.nn.TransformerEncoder(enc, 2)
        self.out = torch.nn.Linear(16, 50)
        self.register_buffer("mask", torch.triu(torch.ones(10, 10), 1).bool())
    def forward(self, x):
        h = self.emb(x) + self.pos
        return self.out(self.enc(h, mask=self.mask))
net = Net().to(device)
opt = torch.optim.AdamW(net.parameters(), 3e-4)
for _ in range(50):
    ids = torch.randint(0, 50, (4, 11), device=device)
    logits = net(ids[:, :-1])
    loss = torch.nn.functional.cross_entropy(logits.reshape(-1, 50), ids[:, 1:].reshape(-1))
    opt.zero_grad(); loss.backward(); opt.step()
