# expect: pass; requires diffusers
import torch
import torch.nn.functional as F
from diffusers import DDPMScheduler, UNet2DModel

device = torch.device("mps" if torch.backends.mps.is_available() else "cpu")
unet = UNet2DModel(sample_size=16, in_channels=3, out_channels=3, layers_per_block=1, block_out_channels=(8, 16),
                   norm_num_groups=4, down_block_types=("DownBlock2D", "AttnDownBlock2D"), up_block_types=("AttnUpBlock2D", "UpBlock2D")).to(device)
noise_scheduler = DDPMScheduler(num_train_timesteps=1000)
opt = torch.optim.AdamW(unet.parameters(), lr=1e-4)
data = torch.utils.data.DataLoader(torch.randn(256, 3, 16, 16), batch_size=8, shuffle=True)

for epoch in range(2):
    for step, clean in enumerate(data):
        clean = clean.to(device)
        noise = torch.randn(clean.shape, device=clean.device)
        timesteps = torch.randint(0, noise_scheduler.config.num_train_timesteps, (clean.shape[0],), device=clean.device, dtype=torch.int64)
        noisy = noise_scheduler.add_noise(clean, noise, timesteps)
        pred = unet(noisy, timesteps, return_dict=False)[0]
        loss = F.mse_loss(pred, noise)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(unet.parameters(), 1.0)
        opt.step()
        opt.zero_grad()
        if step % 10 == 0:
            print(f"{epoch=} {step=} {loss.detach().item():.4f}")
