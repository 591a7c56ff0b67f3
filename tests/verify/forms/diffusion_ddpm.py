# expect: pass; requires diffusers
import torch
import torch.nn.functional as F
from accelerate import Accelerator
from diffusers import DDPMScheduler, UNet2DModel
from diffusers.optimization import get_cosine_schedule_with_warmup
acc = Accelerator()
model = UNet2DModel(sample_size=8, in_channels=1, out_channels=1, layers_per_block=1, block_out_channels=(8, 8), norm_num_groups=4, down_block_types=("DownBlock2D", "AttnDownBlock2D"), up_block_types=("AttnUpBlock2D", "UpBlock2D"))
sch = DDPMScheduler(num_train_timesteps=100)
opt = torch.optim.AdamW(model.parameters(), lr=1e-4)
dl = torch.utils.data.DataLoader(torch.rand(80, 1, 8, 8), batch_size=4, shuffle=True)
lrs = get_cosine_schedule_with_warmup(optimizer=opt, num_warmup_steps=5, num_training_steps=40)
model, opt, dl, lrs = acc.prepare(model, opt, dl, lrs)
for epoch in range(2):
    for clean in dl:
        noise = torch.randn(clean.shape, device=clean.device)
        ts = torch.randint(0, sch.config.num_train_timesteps, (clean.shape[0],), device=clean.device, dtype=torch.int64)
        noisy = sch.add_noise(clean, noise, ts)
        with acc.accumulate(model):
            pred = model(noisy, ts, return_dict=False)[0]
            loss = F.mse_loss(pred, noise)
            acc.backward(loss)
            acc.clip_grad_norm_(model.parameters(), 1.0)
            opt.step(); lrs.step(); opt.zero_grad()
