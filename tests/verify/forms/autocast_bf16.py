# expect: pass
import torch
net = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.GELU(), torch.nn.Linear(64, 8)).to("mps")
opt = torch.optim.AdamW(net.parameters(), lr=1e-3)
for i in range(40):
    x, y = torch.randn(16, 64, device="mps"), torch.randint(0, 8, (16,), device="mps")
    with torch.autocast(device_type="mps", dtype=torch.bfloat16):
        loss = torch.nn.functional.cross_entropy(net(x), y)
    loss.backward()
    opt.step()
    opt.zero_grad()
