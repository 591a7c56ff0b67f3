# expect: pass
import torch
m = torch.nn.Linear(8, 2).to("mps")
opt = torch.optim.Adam(m.parameters())
for e in range(4):
    tp = fp = fn = 0
    for i in range(6):
        x = torch.randn(16, 8).to("mps"); y = (x.sum(1) > 0).long()
        out = m(x)
        loss = torch.nn.functional.cross_entropy(out, y)
        opt.zero_grad(); loss.backward(); opt.step()
        p = out.argmax(1)
        tp += ((p == 1) & (y == 1)).sum().item(); fp += ((p == 1) & (y == 0)).sum().item(); fn += ((p == 0) & (y == 1)).sum().item()
    prec, rec = tp / (tp + fp), tp / (tp + fn)
    print(2 * prec * rec / (prec + rec))
