# expect: pass
import torch
from transformers import ViTConfig, ViTForImageClassification
m = ViTForImageClassification(ViTConfig(image_size=16, patch_size=4, hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=32, num_labels=3))
m = m.to(device="mps")
o = torch.optim.AdamW(m.parameters(), lr=1e-4, fused=True)
for i in range(20):
    b = {"pixel_values": torch.rand(4, 3, 16, 16), "labels": torch.randint(0, 3, (4,))}
    b = {k: v.to("mps") for k, v in b.items()}
    out = m(**b); out.loss.backward(); o.step(); o.zero_grad()
    print(f"{i}: {out.loss:.4f}")
