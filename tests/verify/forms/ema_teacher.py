# expect: pass
import copy

import torch
import torch.nn.functional as F
from torch import nn


def get_device():
    if torch.cuda.is_available():
        return "cuda"
    return "mps" if torch.backends.mps.is_available() else "cpu"


@torch.no_grad()
def update(teacher, student, m=0.99):
    for pt, ps in zip(teacher.parameters(), student.parameters()):
        pt.mul_(m).add_(ps.detach(), alpha=1 - m)


def main():
    d = get_device()
    student = nn.Sequential(nn.Linear(64, 128), nn.GELU(), nn.BatchNorm1d(128), nn.Linear(128, 32)).to(d)
    teacher = copy.deepcopy(student).eval()
    for p in teacher.parameters():
        p.requires_grad = False
    opt = torch.optim.AdamW(student.parameters(), lr=3e-4, weight_decay=0.04)
    sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, 100)
    center = torch.zeros(1, 32, device=d)
    history = []
    for step in range(100):
        x = torch.randn(32, 64).to(d)
        with torch.no_grad():
            t = teacher(x + 0.1 * torch.randn_like(x))
        s = student(x)
        loss = -(F.softmax((t - center) / 0.04, -1) * F.log_softmax(s / 0.1, -1)).sum(-1).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        sched.step()
        update(teacher, student)
        center = 0.9 * center + 0.1 * t.mean(0, keepdim=True)
        history.append(loss.item())
    print(sum(history) / len(history), opt.param_groups[0]["lr"])


if __name__ == "__main__":
    main()
