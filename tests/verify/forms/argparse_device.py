# expect: pass
import argparse

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


def get_args():
    p = argparse.ArgumentParser()
    p.add_argument("--device", default="mps", choices=["cuda", "mps", "cpu"])
    p.add_argument("--epochs", type=int, default=3)
    p.add_argument("--bs", type=int, default=8)
    return p.parse_args()


def main():
    args = get_args()
    ds = TensorDataset(torch.randn(64, 1, 12, 12), torch.randint(0, 10, (64,)))
    dl = DataLoader(ds, batch_size=args.bs, shuffle=True, num_workers=2, pin_memory=True)
    model = nn.Sequential(nn.Conv2d(1, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.Flatten(), nn.Linear(800, 10))
    model.to(args.device)
    crit = nn.CrossEntropyLoss()
    opt = torch.optim.AdamW(model.parameters(), lr=1e-3)
    sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, args.epochs)
    for ep in range(args.epochs):
        model.train()
        running = 0.0
        for xb, yb in dl:
            xb, yb = xb.to(args.device, non_blocking=True), yb.to(args.device, non_blocking=True)
            opt.zero_grad()
            loss = crit(model(xb), yb)
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            opt.step()
            running += loss.item()
        sched.step()
        model.eval()
        correct = 0
        with torch.no_grad():
            for xb, yb in dl:
                out = model(xb.to(args.device))
                correct += (out.argmax(1).cpu() == yb).sum().item()
        print(f"epoch {ep} loss {running/len(dl):.3f} acc {correct/len(ds):.3f}")
    torch.save(model.state_dict(), "model.pt")


if __name__ == "__main__":
    main()
