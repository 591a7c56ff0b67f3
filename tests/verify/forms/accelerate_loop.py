# expect: pass
import torch
from accelerate import Accelerator
from accelerate.utils import set_seed
from torch.utils.data import DataLoader, TensorDataset
def training_function():
    accelerator = Accelerator(gradient_accumulation_steps=2)
    set_seed(7)
    device = accelerator.device
    model = torch.nn.Sequential(torch.nn.Linear(10, 32), torch.nn.ReLU(), torch.nn.Linear(32, 2))
    opt = torch.optim.AdamW(model.parameters(), lr=1e-3)
    dl = DataLoader(TensorDataset(torch.randn(96, 10), torch.randint(0, 2, (96,))), batch_size=4, shuffle=True, num_workers=2)
    ev = DataLoader(TensorDataset(torch.randn(32, 10), torch.randint(0, 2, (32,))), batch_size=4)
    model, opt, dl, ev = accelerator.prepare(model, opt, dl, ev)
    for epoch in range(2):
        model.train()
        for x, y in dl:
            with accelerator.accumulate(model):
                loss = torch.nn.functional.cross_entropy(model(x), y)
                accelerator.backward(loss)
                if accelerator.sync_gradients:
                    accelerator.clip_grad_norm_(model.parameters(), 1.0)
                opt.step(); opt.zero_grad()
        model.eval()
        acc = torch.zeros((), device=device)
        for x, y in ev:
            with torch.no_grad():
                p = model(x).argmax(-1)
            p, y = accelerator.gather_for_metrics((p, y))
            acc += (p == y).float().sum()
        accelerator.print(acc.item() / 32)
    accelerator.wait_for_everyone()
    torch.save(accelerator.unwrap_model(model).state_dict(), "m.bin")
if __name__ == "__main__":
    training_function()
