# expect: pass
import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence, pad_sequence

DEVICE = "mps"

class Tagger(nn.Module):
    def __init__(self, vocab=100, dim=16, tags=5):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim, padding_idx=0)
        self.lstm = nn.LSTM(dim, dim, batch_first=True, bidirectional=True)
        self.fc = nn.Linear(2 * dim, tags)

    def forward(self, x, lengths):
        packed = pack_padded_sequence(self.embed(x), lengths.cpu(), batch_first=True, enforce_sorted=False)
        out, _ = self.lstm(packed)
        out, _ = pad_packed_sequence(out, batch_first=True)
        return self.fc(out)

model = Tagger().to(DEVICE)
opt = torch.optim.Adam(model.parameters())
for step in range(30):
    lens = torch.randint(3, 9, (6,))
    seqs = pad_sequence([torch.randint(1, 100, (int(n),)) for n in lens], batch_first=True)
    x = seqs.to(DEVICE)
    logits = model(x, lens)
    y = torch.randint(0, 5, logits.shape[:2]).to(DEVICE)
    loss = nn.functional.cross_entropy(logits.transpose(1, 2), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
