# expect: pass
import torch
import torch.nn as nn
device = torch.device("mps")
nz = 8
G = nn.Sequential(nn.ConvTranspose2d(nz, 16, 4, 1, 0), nn.BatchNorm2d(16), nn.ReLU(True), nn.ConvTranspose2d(16, 1, 4, 2, 1), nn.Tanh()).to(device)
D = nn.Sequential(nn.Conv2d(1, 16, 4, 2, 1), nn.LeakyReLU(0.2, inplace=True), nn.Conv2d(16, 1, 4, 1, 0), nn.Sigmoid()).to(device)
def weights_init(m):
    if "Conv" in m.__class__.__name__:
        nn.init.normal_(m.weight.data, 0.0, 0.02)
    elif "BatchNorm" in m.__class__.__name__:
        nn.init.normal_(m.weight.data, 1.0, 0.02)
        nn.init.constant_(m.bias.data, 0)
G.apply(weights_init); D.apply(weights_init)
criterion = nn.BCELoss()
fixed_noise = torch.randn(16, nz, 1, 1, device=device)
optD = torch.optim.Adam(D.parameters(), lr=2e-4, betas=(0.5, 0.999))
optG = torch.optim.Adam(G.parameters(), lr=2e-4, betas=(0.5, 0.999))
imgs = []
G_losses, D_losses = [], []
for i in range(40):
    D.zero_grad()
    real = torch.rand(16, 1, 8, 8, device=device)
    label = torch.full((16,), 1.0, dtype=torch.float, device=device)
    out = D(real).view(-1)
    errD_real = criterion(out, label); errD_real.backward()
    noise = torch.randn(16, nz, 1, 1, device=device)
    fake = G(noise)
    label.fill_(0.0)
    errD_fake = criterion(D(fake.detach()).view(-1), label); errD_fake.backward()
    optD.step()
    G.zero_grad()
    label.fill_(1.0)
    errG = criterion(D(fake).view(-1), label)
    errG.backward()
    optG.step()
    G_losses.append(errG.item()); D_losses.append((errD_real + errD_fake).item())
    if i % 20 == 0:
        with torch.no_grad():
            imgs.append(G(fixed_noise).detach().cpu())
