"""Runs of specifications, each done once for all tests that look at it."""

from __future__ import annotations

import functools
from typing import Any

from mpslint.core.knowledge import configuration_of
from mpslint.verify.outcome import RunResult
from mpslint.verify.script import ScriptOptions
from mpslint.verify.spec import Lengths, RunSpec, VerifiedMac, worst_shape
from mpslint.verify.verify import result_of

MAC = VerifiedMac("2.13", 16, "5.24", "1.15", "26")
SMALL = {"hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 128, "vocab_size": 512}
T5 = {
    "model_type": "t5", "vocab_size": 512, "d_model": 32, "d_kv": 8, "d_ff": 64, "num_layers": 1, "num_heads": 4,
    "decoder_start_token_id": 0,
}  # fmt: skip
GPT2 = {"model_type": "gpt2", "vocab_size": 512, "n_embd": 64, "n_layer": 2, "n_head": 4}
BERT = {"model_type": "bert", **SMALL}
LLAMA = {"model_type": "llama", "num_key_value_heads": 2, **SMALL}
VIT = {"model_type": "vit", "image_size": 32, "patch_size": 8, **SMALL}
WHISPER = {
    "model_type": "whisper", "d_model": 64, "encoder_layers": 1, "decoder_layers": 1, "encoder_attention_heads": 4,
    "decoder_attention_heads": 4, "encoder_ffn_dim": 64, "decoder_ffn_dim": 64, "max_source_positions": 100, "vocab_size": 512,
    "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2, "decoder_start_token_id": 1,
}  # fmt: skip
WAV2VEC2 = {"model_type": "wav2vec2", "layerdrop": 0.0, **SMALL}


def spec_of(model: str, task: str, shape: tuple[int, ...], **settings: Any) -> RunSpec:
    """Return a run whose batches have one shape, of a checkpoint's configuration without a cache where none is given."""
    config = settings.pop("config", None) or {**(configuration_of(model) or {}), "use_cache": False}
    target = Lengths(shape[2]) if len(shape) > 2 else None
    return RunSpec(model, task, Lengths(shape[1]), config, target, train_batch=shape[0], **settings)  # type: ignore[arg-type]


@functools.lru_cache(maxsize=64)
def _done(digest: str, steps: int, machine: VerifiedMac) -> RunResult:
    spec = _SPECS[digest]
    shapes = [[worst_shape(spec)] * spec.accumulation] * steps
    return result_of(spec, shapes, ScriptOptions(machine, use_cache=False))


_SPECS: dict[str, RunSpec] = {}


def done(spec: RunSpec, steps: int = 5, machine: VerifiedMac = MAC) -> RunResult:
    """Return some steps of a run with the longest samples."""
    _SPECS[spec.digest()] = spec
    return _done(spec.digest(), steps, machine)
