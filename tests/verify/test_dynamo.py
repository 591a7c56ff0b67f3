"""Torch's compiler stays out of runs that compile nothing, and comes when something needs it."""

from __future__ import annotations

import subprocess
import sys

import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")

CODE = """
import sys
from mpslint.verify.child.dynamo import leave_compiler_out

leave_compiler_out()
import torch
from transformers import T5Config, T5ForConditionalGeneration

model = T5ForConditionalGeneration(T5Config(vocab_size=64, d_model=16, d_kv=4, d_ff=16, num_layers=1, num_heads=2, decoder_start_token_id=0))
ids = torch.ones(1, 4, dtype=torch.long)
model(input_ids=ids, labels=ids).loss.backward()
torch.optim.AdamW(model.parameters()).step()
assert not isinstance(model, torch._dynamo.eval_frame.OptimizedModule)  # as accelerate asks of every model
print("torch._dynamo.eval_frame" in sys.modules)
torch._dynamo.config.verbose
print("torch._dynamo.eval_frame" in sys.modules)
print(float(torch.compile(lambda x: x + 1, backend="eager")(torch.ones(()))))
"""


def test_a_model_is_built_and_trained_without_the_compiler() -> None:
    """transformers imports one module of it and marks functions for it, which loads nothing; what asks for more gets all of it."""
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", CODE], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "True", "2.0"]
