# expect: pass
import sys
import torch
def main():
    m = torch.nn.Linear(4, 1).to("mps")
    opt = torch.optim.SGD(m.parameters(), lr=0.1)
    for i in range(12):
        m(torch.rand(4, 4, device="mps")).mean().backward(); opt.step(); opt.zero_grad()
    return 0
if __name__ == "__main__":
    sys.exit(main())
