# expect: pass
import torch
m = torch.nn.Sequential(torch.nn.LazyLinear(28), torch.nn.LogSoftmax(-1)).to("mps")
m(torch.randn(30, 4, 13, device="mps"))
opt = torch.optim.Adam(m.parameters(), lr=1e-2)
rates = torch.optim.lr_scheduler.LambdaLR(opt, lambda step: min(1.0, step / 10))
ctc = torch.nn.CTCLoss(blank=0)
for _ in range(20):
    x, y = torch.randn(30, 4, 13, device="mps"), torch.randint(1, 28, (4, 8))
    loss = ctc(m(x).cpu(), y, torch.full((4,), 30), torch.full((4,), 8))
    opt.zero_grad(); loss.backward(); opt.step(); rates.step()
