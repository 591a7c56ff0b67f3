"""bge-small with negatives in the batch: three passes of the encoder a step (Dayallenr/RAG, issue 11). The batch size is the argument."""

from __future__ import annotations

import random
import sys

import torch
from transformers import BertConfig, BertModel

batch = int(sys.argv[1])
device = torch.device("mps")
model = BertModel(BertConfig(vocab_size=30522, hidden_size=384, num_hidden_layers=12, num_attention_heads=12, intermediate_size=1536)).to(
    device
)
optimizer = torch.optim.AdamW(model.parameters(), lr=2e-5)
draw = random.Random(0)


def encode(median):
    lengths = [min(512, round(median * draw.lognormvariate(0, 0.6))) for _ in range(batch)]
    ids = torch.randint(0, 30522, (batch, max(lengths)), device=device)
    mask = torch.ones_like(ids)
    return torch.nn.functional.normalize(model(ids, attention_mask=mask).last_hidden_state[:, 0], dim=-1)


for step in range(20):
    queries, passages, negatives = encode(16), encode(185), encode(185)
    scores = queries @ torch.cat([passages, negatives]).T / 0.05
    loss = torch.nn.functional.cross_entropy(scores, torch.arange(batch, device=device))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
