"""What stands in for transformers' own checkpoints says what they say of themselves."""

from __future__ import annotations

from pathlib import Path

import pytest

from mpslint.verify.script import ScriptOptions, verify_script

pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

REFERENCE = """\
import torch
import transformers

model = transformers.AutoModelForCausalLM.from_pretrained("distilgpt2").to("mps")
config = transformers.AutoConfig.from_pretrained(model.config.name_or_path)
reference = getattr(transformers, config.architectures[0]).from_pretrained(model.config.name_or_path).to("mps")
optimizer = torch.optim.SGD(model.parameters())
ids = torch.ones(2, 16, dtype=torch.long, device="mps")
for _ in range(3):
    with torch.no_grad():
        wanted = reference(input_ids=ids).logits
    (model(input_ids=ids).logits - wanted).square().mean().backward()
    optimizer.step()
    optimizer.zero_grad()
"""


def test_a_reference_model_is_made_by_the_class_in_the_configuration(tmp_path: Path) -> None:
    """As TRL's DPOTrainer makes it where none is given: the built-in configuration named no class, which ended in a TypeError."""
    (tmp_path / "train.py").write_text(REFERENCE)
    report = verify_script(tmp_path / "train.py", ScriptOptions(backend="emulated"))
    assert report.status == "pass", report.verdicts


LOADED = """\
import torch
import transformers

model = transformers.AutoModelForCausalLM.from_pretrained("facebook/opt-125m"{options}).to("mps")
print(model.dtype)
optimizer = torch.optim.SGD(model.parameters())
for _ in range(2):
    model(input_ids=torch.ones(2, 16, dtype=torch.long, device="mps")).logits.square().mean().backward()
    optimizer.step()
"""


@pytest.mark.parametrize(("options", "dtype"), [("", "float16"), (', dtype="auto"', "float16"), (", dtype=torch.float32", "float32")])
def test_weights_have_the_dtype_that_they_are_loaded_in(tmp_path: Path, options: str, dtype: str) -> None:
    """transformers 5 loads published half precision as it is: float32 was counted, twice the memory."""
    (tmp_path / "train.py").write_text(LOADED.format(options=options))
    (run,) = verify_script(tmp_path / "train.py", ScriptOptions(backend="emulated")).runs
    assert run.weights_dtype == dtype


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        ("gpt2", "GPT2LMHeadModel"),
        ("llama", "LlamaForCausalLM"),
        ("t5", "T5ForConditionalGeneration"),
        ("whisper", "WhisperForConditionalGeneration"),
        ("roberta", "RobertaForMaskedLM"),
        ("vit", "ViTForImageClassification"),
        ("nothing", None),
    ],
)
def test_the_class_is_the_published_one(kind: str, name: str | None) -> None:
    """A sequence-to-sequence model is none for causal language modelling, although transformers has such a class too."""
    from mpslint.verify.child.transformers_patches import published_classes

    assert published_classes(kind) == (None if name is None else [name])
