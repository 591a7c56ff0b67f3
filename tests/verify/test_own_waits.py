"""The waits that a user's own code writes into a step are counted from the file."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from mpslint.session.session import Options, check_file, files_of
from mpslint.verify.files import own_waits
from mpslint.verify.reading import runs_of

LOOP = """import torch
from torch.utils.data import DataLoader
from transformers import AutoModelForCausalLM

model = AutoModelForCausalLM.from_pretrained("gpt2").to("mps")
optimizer = torch.optim.AdamW(model.parameters())
total = 0.0
for epoch in range(2):
    for step, batch in enumerate(DataLoader(data, batch_size=4)):
        loss = model(**batch).loss
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
{line}
    print(total.item())
"""
TRAINER = """from transformers import AutoModelForCausalLM, Trainer, TrainingArguments


class Mine(Trainer):
    def compute_loss(self, model, inputs, return_outputs=False):
        outputs = model(**inputs)
        {line}
        return outputs.loss

    def report(self, outputs):
        return outputs.loss.item()


trainer = Mine(AutoModelForCausalLM.from_pretrained("gpt2"), TrainingArguments("out"))
trainer.train()
"""
FUNCTION = """import torch

model = torch.nn.Linear(3, 3).to("mps")
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)


def train(loader):
    total = 0.0
    for batch in loader:
        loss = model(batch).sum()
        loss.backward()
        optimizer.step()
        {line}
    return total


for epoch in range(3):
    train(torch.utils.data.DataLoader(data))
"""


@pytest.mark.parametrize(
    ("text", "line", "waits"),
    [
        (LOOP, "        total += loss.item()", 1),
        (LOOP, "        total += loss.item(); print(loss.detach().tolist())", 2),
        (LOOP, "        total += loss.detach()", 0),
        (LOOP, "        if step % 100 == 0:\n            print(loss.item())", 0),
        (LOOP, "    print(loss.item())", 0),
        (TRAINER, "self.seen = outputs.loss.item()", 1),
        (TRAINER, "self.seen = outputs.loss.detach()", 0),
        (FUNCTION, "total += loss.item()", 1),
        (FUNCTION, "total += loss.detach()", 0),
    ],
)
def test_what_waits_in_each_step(tmp_path: Path, text: str, line: str, waits: int) -> None:
    """Beside the backward pass or in what a Trainer calls; not after the loop, and not under a test of its own."""
    path = tmp_path / "train.py"
    path.write_text(text.replace("{line}", line))
    (found,) = files_of([str(path)], Options())
    checked = check_file(replace(found, is_named=True), Options()).checked
    assert checked is not None
    (run,) = [one for one in runs_of(checked) if one.plan.kind in ("loop", "trainer")]

    assert own_waits(run, 1) == waits
    assert own_waits(run, 4) == 4 * waits
