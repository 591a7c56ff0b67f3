# expect: pass
import torch, torch.nn as nn, torch.nn.functional as F
args = {"device": "mps", "epochs": 2}
class VAE(nn.Module):
    def __init__(s):
        super().__init__()
        s.a, s.mu, s.lv, s.d = nn.Linear(64, 32), nn.Linear(32, 4), nn.Linear(32, 4), nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 64), nn.Sigmoid())
    def forward(s, x):
        h = F.relu(s.a(x)); mu, lv = s.mu(h), s.lv(h)
        z = mu + torch.exp(0.5 * lv) * torch.randn_like(mu)
        return s.d(z), mu, lv
model = VAE().to(args["device"])
opt = torch.optim.Adam(model.parameters(), 1e-3)
data = torch.utils.data.DataLoader(torch.rand(160, 64), batch_size=8, shuffle=True)
for e in range(args["epochs"]):
    train_loss = 0
    for b in data:
        b = b.to(args["device"])
        r, mu, lv = model(b)
        loss = F.binary_cross_entropy(r, b, reduction="sum") - 0.5 * torch.sum(1 + lv - mu.pow(2) - lv.exp())
        opt.zero_grad(); loss.backward(); train_loss += loss.item(); opt.step()
    print(f"====> Epoch: {e} Average loss: {train_loss / len(data.dataset):.4f}")
    with torch.no_grad():
        sample = model.d(torch.randn(4, 4).to(args["device"])).cpu().numpy()
