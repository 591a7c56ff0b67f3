"""Autocast on tensors without values: it casts what torch's own casts on fake CPU tensors."""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")

import torch

from mpslint.verify.child import rig
from mpslint.verify.emulator.autocast import Autocast, sees_all
from mpslint.verify.spec import Lengths, RunSpec, VerifiedMac

# Libraries beside torch deprecate each other; that is not ours to fix.
pytestmark = pytest.mark.filterwarnings("ignore::FutureWarning")

SMALL = {"hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 128, "vocab_size": 512}
PARTS = {"encoder_layers": 1, "decoder_layers": 1, "encoder_attention_heads": 4, "decoder_attention_heads": 4, "vocab_size": 512}
BART = {"model_type": "bart", "d_model": 64, "encoder_ffn_dim": 64, "decoder_ffn_dim": 64, **PARTS}
CASES: list[tuple[str, dict[str, Any], tuple[int, ...]]] = [
    ("sequence_classification", {"model_type": "bert", **SMALL}, (3, 40)),
    ("causal_lm", {"model_type": "gpt2", "n_embd": 64, "n_layer": 2, "n_head": 4, "vocab_size": 512}, (3, 40)),
    ("causal_lm", {"model_type": "llama", "num_key_value_heads": 2, **SMALL}, (3, 40)),
    ("image_classification", {"model_type": "vit", "image_size": 32, "patch_size": 8, **SMALL}, (3, 1)),
    ("ctc", {"model_type": "wav2vec2", "apply_spec_augment": False, "layerdrop": 0.0, **SMALL}, (2, 4000, 9)),
    ("seq2seq_lm", BART, (2, 40, 9)),
]


def peak(task: str, config: dict[str, Any], shape: tuple[int, ...]) -> int:
    """Return the peak of a step under bf16 autocast."""
    made = rig.Rig(RunSpec("x", task, Lengths(shape[1]), config=config, precision="bf16"), VerifiedMac())  # type: ignore[arg-type]
    made.micro_batch(shape)
    made.cut()
    made.optimizer_step()
    made.cut()
    made.record_first(shape)
    return made.memory.peak


@pytest.mark.parametrize(("task", "config", "shape"), CASES, ids=[str(config["model_type"]) for _, config, _ in CASES])
def test_the_peak_is_that_of_torchs_own_autocast(
    task: str, config: dict[str, Any], shape: tuple[int, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """With our casts on tensors without values, and with torch's on fake CPU tensors."""
    ours = peak(task, config, shape)
    monkeypatch.setattr(rig, "sees_all", lambda model: False)

    assert ours == pytest.approx(peak(task, config, shape), rel=1e-6)


def test_a_weight_is_cast_once_and_gradients_come_back_in_its_dtype() -> None:
    """Two layers that share a weight share its cast; the loss is float32 again."""
    weight = torch.nn.Parameter(torch.empty(8, 8, device="meta"))
    source = torch.empty(2, 8, device="meta")
    with Autocast(torch.bfloat16) as mode:
        hidden = torch.nn.functional.linear(torch.nn.functional.linear(source, weight), weight)
        assert len(mode._weights) == 1
        loss = torch.nn.functional.mse_loss(hidden, source)
    loss.backward()

    assert (hidden.dtype, loss.dtype) == (torch.bfloat16, torch.float32)
    assert weight.grad is not None
    assert weight.grad.dtype == torch.float32


def test_models_whose_casts_are_hidden_are_told() -> None:
    """A MultiheadAttention calls its matrix products inside one function."""
    assert sees_all(torch.nn.Linear(2, 2))
    assert not sees_all(torch.nn.Sequential(torch.nn.MultiheadAttention(4, 2)))


def test_weights_that_are_made_on_the_cpu_wherever_the_model_is_built_are_on_the_device() -> None:
    """wav2vec2's masked_spec_embed is made by torch.Tensor(n): its gradient was refused, so no such run could be verified."""
    spec = RunSpec("x", "ctc", Lengths(4000), config={"model_type": "wav2vec2", **SMALL}, train_batch=2)
    made = rig.Rig(spec, VerifiedMac())
    made.micro_batch((2, 4000, 9))

    assert all(parameter.is_meta for parameter in made.model.parameters())
