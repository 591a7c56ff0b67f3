# expect: fail: float32|CUDA|cuda
import torch
device = "mps"
net = torch.nn.Linear(64, 8).to(device)
opt = torch.optim.AdamW(net.parameters(), lr=1e-3)
scaler = torch.cuda.amp.GradScaler()
for i in range(40):
    x, y = torch.randn(16, 64).to(device), torch.randint(0, 8, (16,)).to(device)
    with torch.cuda.amp.autocast():
        loss = torch.nn.functional.cross_entropy(net(x), y)
    scaler.scale(loss).backward()
    scaler.step(opt)
    scaler.update()
    opt.zero_grad()
