# expect: fail: lengths|CPU
import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence

model = nn.GRU(4, 8, batch_first=True).to("mps")
opt = torch.optim.Adam(model.parameters())
for step in range(30):
    x = torch.randn(3, 7, 4, device="mps")
    lengths = torch.tensor([7, 5, 2], device="mps")
    packed = pack_padded_sequence(x, lengths, batch_first=True)
    _, h = model(packed)
    h.sum().backward()
    opt.step(); opt.zero_grad()
