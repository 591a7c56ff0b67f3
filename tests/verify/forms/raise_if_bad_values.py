# expect: notfail
import torch
m = torch.nn.Linear(8, 2).to("mps")
opt = torch.optim.Adam(m.parameters())
codes = {0: "a", 1: "b"}
for i in range(30):
    x = torch.randn(16, 8).to("mps")
    out = m(x)
    if out.abs().sum().item() == 0:
        raise RuntimeError("dead network")
    names = [codes[int(k)] for k in out.argmax(1).cpu()]
    loss = out.pow(2).mean()
    opt.zero_grad(); loss.backward(); opt.step()
