# expect: pass
import torch, gc, time
m = torch.nn.Linear(128, 128).to("mps")
opt = torch.optim.Adam(m.parameters())
start = torch.mps.Event(enable_timing=True); end = torch.mps.Event(enable_timing=True)
for i in range(24):
    start.record()
    loss = m(torch.randn(16, 128, device="mps")).mean()
    loss.backward(); opt.step(); opt.zero_grad()
    end.record(); torch.mps.synchronize()
    print(start.elapsed_time(end), torch.mps.current_allocated_memory() / 1e6, torch.mps.driver_allocated_memory() / 1e6)
    if i % 10 == 0:
        gc.collect(); torch.mps.empty_cache()
