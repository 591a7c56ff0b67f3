"""A device of the program's own choice, which is the CPU, beside a model that a device map puts on the Mac's GPU."""

from __future__ import annotations

import pytest

import mpslint

LOADED = """import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

tokenizer = AutoTokenizer.from_pretrained("gpt2")
device = "cuda" if torch.cuda.is_available() else "cpu"
model = AutoModelForCausalLM.from_pretrained("gpt2", device_map="auto"{more})
ids = tokenizer("a", return_tensors="pt").input_ids.to(device)
model{way}(input_ids=ids)
"""


@pytest.mark.parametrize(
    ("way", "transformers", "severity"),
    [
        ("", "5.19", "error"),
        ("", "5.20", "error"),
        (".forward", "5.20", "error"),
        (".generate", "5.19", "error"),
        (".generate", "5.20", "warning"),
    ],
)
def test_generate_moves_its_inputs_since_5_20(way: str, transformers: str, severity: str) -> None:
    """The model's own call doesn't."""
    (found,) = mpslint.check(LOADED.format(way=way, more=""), select=["MPS503"], target={"transformers": transformers}).findings

    assert found.severity == severity


def test_a_quantized_model_is_on_the_gpu_too() -> None:
    """So the GPU isn't unused, as it would be without a device map."""
    text = LOADED.format(way=".generate", more=", quantization_config=config")
    (found,) = mpslint.check(text, select=["MPS503"]).findings

    assert "while device_map places models on the Mac's GPU" in found.message


MAPPED = """import torch
from transformers import AutoModelForSeq2SeqLM

model = AutoModelForSeq2SeqLM.from_pretrained("google/flan-t5-base", device_map={mapped})


def answer(inputs):
    device = "cuda" if torch.cuda.is_available() else "cpu"
    {moves}
    return model.generate(input_ids=inputs.to(device))


print(answer(ids))
"""


@pytest.mark.parametrize(
    ("mapped", "moves", "safety"),
    [
        ('"auto" if torch.cuda.is_available() else "cpu"', "pass", "manual"),
        ('"auto" if torch.cuda.is_available() else None', "pass", "manual"),
        ('"auto" if torch.cuda.is_available() else None', "model.to(device)", "safe"),
    ],
)
def test_a_model_that_a_map_leaves_on_the_cpu_keeps_its_inputs_there(mapped: str, moves: str, safety: str) -> None:
    """Unless the program moves the model as well."""
    (found,) = mpslint.check(MAPPED.format(mapped=mapped, moves=moves), select=["MPS503"]).findings

    assert found.safety == safety
