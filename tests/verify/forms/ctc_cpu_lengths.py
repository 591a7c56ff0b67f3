# expect: fail: ctc
import torch
m = torch.nn.Sequential(torch.nn.Linear(13, 28), torch.nn.LogSoftmax(-1)).to("mps")
opt = torch.optim.Adam(m.parameters())
ctc = torch.nn.CTCLoss(blank=0)
for _ in range(20):
    x = torch.randn(30, 4, 13, device="mps")
    y = torch.randint(1, 28, (4, 8), device="mps")
    loss = ctc(m(x), y, torch.full((4,), 30), torch.full((4,), 8))
    opt.zero_grad(); loss.backward(); opt.step()
