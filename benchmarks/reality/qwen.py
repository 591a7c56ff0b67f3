"""Qwen2.5-0.5B in bfloat16, its optimizer inside the backward pass, a loss in 8 chunks, batches of 2 (pytorch/torchtune, issue 2473)."""

from __future__ import annotations

import random

import torch
from torch.nn.functional import cross_entropy
from transformers import Qwen2Config, Qwen2ForCausalLM

device = "mps"
config = Qwen2Config(
    vocab_size=151936, hidden_size=896, intermediate_size=4864, num_hidden_layers=24, num_attention_heads=14,
    num_key_value_heads=2, tie_word_embeddings=True,
)  # fmt: skip
torch.set_default_dtype(torch.bfloat16)
model = Qwen2ForCausalLM(config).to(device)
optimizers = {p: torch.optim.AdamW([p], lr=2e-5, fused=True) for p in model.parameters()}


def step_at_once(parameter):
    optimizers[parameter].step()
    optimizers[parameter].zero_grad()


for parameter in model.parameters():
    parameter.register_post_accumulate_grad_hook(step_at_once)

draw = random.Random(0)
for step in range(60):
    length = max(min(512, round(draw.lognormvariate(4.5, 0.6))) for _ in range(2))
    ids = torch.randint(0, 151936, (2, length), device=device)
    hidden = model.model(ids).last_hidden_state
    labels = ids.roll(-1, 1)
    loss = sum(
        cross_entropy(model.lm_head(part).float().flatten(0, 1), wanted.flatten(), reduction="sum")
        for part, wanted in zip(hidden.chunk(8, 1), labels.chunk(8, 1))
    )
    (loss / ids.numel()).backward()
