# expect: pass
import torch
from torch import nn

device = "mps"


class Tagger(nn.Module):
    def __init__(self, vocab=500, emb=32, hid=24, tags=9):
        super().__init__()
        self.emb = nn.Embedding(vocab, emb, padding_idx=0)
        self.rnn = nn.GRU(emb, hid, num_layers=2, batch_first=True, bidirectional=True, dropout=0.2)
        self.att = nn.Linear(2 * hid, 1)
        self.out = nn.Linear(2 * hid, tags)

    def forward(self, x):
        h, _ = self.rnn(self.emb(x))
        w = torch.softmax(self.att(h).masked_fill((x == 0).unsqueeze(-1), -1e9), dim=1)
        return self.out((w * h).sum(1))


net = Tagger().to(device)
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
lossf = nn.CrossEntropyLoss()
for it in range(60):
    x = torch.randint(0, 500, (16, 40), device=device)
    y = torch.randint(0, 9, (16,), device=device)
    loss = lossf(net(x), y)
    opt.zero_grad(set_to_none=True)
    loss.backward()
    nn.utils.clip_grad_norm_(net.parameters(), 5.0)
    opt.step()
