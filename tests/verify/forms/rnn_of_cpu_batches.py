# expect: fail: found input tensor at cpu and hidden tensor at mps:0
import torch
import torch.nn as nn
torch.set_default_device("mps")
rnn, head = nn.RNN(input_size=5, hidden_size=8), nn.Linear(8, 5)
opt = torch.optim.Adam([*rnn.parameters(), *head.parameters()], lr=0.01)
batch = torch.FloatTensor([[[1, 0, 0, 0, 0]], [[0, 1, 0, 0, 0]]])  # the old constructors ignore the default device
for step in range(30):
    opt.zero_grad()
    out, _ = rnn(batch, torch.zeros(1, 1, 8))
    loss = head(out[-1]).square().mean()
    loss.backward()
    opt.step()
