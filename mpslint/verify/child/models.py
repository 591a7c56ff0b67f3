"""Models from their configuration alone: from a folder, the local Hugging Face cache, or our own table;
never from the network."""

from __future__ import annotations

import copy
import functools
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch

from mpslint.core.checkpoints import configuration_of
from mpslint.core.finding import ReadError
from mpslint.core.knowledge import platform_data
from mpslint.verify.child.preference import Completing, Paired, Preferring
from mpslint.verify.spec import Frozen, RunSpec

# Names under which architectures keep their sizes; a reduced copy gets the value, or as much of the original as is
# smaller.
DEPTHS = (
    "num_layers",
    "num_decoder_layers",
    "num_hidden_layers",
    "n_layer",
    "n_layers",
    "encoder_layers",
    "decoder_layers",
)
WIDTHS = {
    "d_model": 32, "d_kv": 8, "d_ff": 64, "num_heads": 4, "hidden_size": 32, "num_attention_heads": 4,
    "intermediate_size": 64,
    "n_embd": 32, "n_head": 4, "n_inner": 64, "dim": 32, "n_heads": 4, "hidden_dim": 64, "ffn_dim": 64,
    "word_embed_proj_dim": 32,
    "encoder_attention_heads": 4, "decoder_attention_heads": 4, "encoder_ffn_dim": 64, "decoder_ffn_dim": 64,
    "head_dim": 8,
    "embedding_size": 16, "num_key_value_heads": 2,
}  # fmt: skip
SMALL_VOCABULARY = 512
ALL_LINEAR = "all-linear"
"""peft's word for every linear layer."""


def config_values(spec: RunSpec) -> dict[str, Any]:
    """Return the configuration of the spec's model. Raises ReadError saying how to provide it when it is nowhere at
    hand."""
    if spec.config is not None:
        return dict(spec.config)
    path = Path(spec.model) / "config.json"
    if not path.is_file():
        path = _cached(spec.model) or path
    if path.is_file():
        values: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        return values
    known = configuration_of(spec.model)
    if known is None:
        raise ReadError(
            f"the configuration of {spec.model!r} isn't on this machine, and verify does not use the network: download it "
            "once "
            f"(`hf download {spec.model} config.json`), or name a folder with its config.json"
        )
    return dict(known)


def _cached(name: str) -> Path | None:
    """Return the config.json of a checkpoint in the local Hugging Face cache."""
    from huggingface_hub import try_to_load_from_cache
    from huggingface_hub.errors import HFValidationError

    try:
        found = try_to_load_from_cache(name, "config.json")
    except HFValidationError:
        return None
    return Path(found) if isinstance(found, str) else None


def make_config(spec: RunSpec, *, reduced: bool = False) -> Any:
    """Return the transformers configuration of the run; `reduced` keeps its kind and makes it small."""
    import transformers
    from transformers import AutoConfig

    values = {key: value for key, value in config_values(spec).items() if key not in ("architectures", "dtype", "torch_dtype")}
    cls, kind = values.pop("config_class", None), values.pop("model_type", None)
    if cls is None and kind is None:
        raise ReadError(f"the configuration of {spec.model!r} has no model_type")
    try:
        config = AutoConfig.for_model(kind, **values) if cls is None else getattr(transformers, cls)(**values)
    except (AttributeError, ValueError, KeyError, TypeError) as error:
        raise ReadError(f"the configuration of {spec.model!r} is not understood by the installed transformers: {error}") from None
    config.use_cache = False
    if spec.task == "reward":
        # as TRL does: one reward for a text, and a token to tell its end by
        config.num_labels = 1
        config.pad_token_id = 0 if getattr(config, "pad_token_id", None) is None else config.pad_token_id
    config.architectures = config.architectures or []
    if spec.dropout is not None:
        set_dropout(config, spec.dropout)
    return reduce_config(config) if reduced else config


def weights_dtype(spec: RunSpec) -> str:
    """Return in what the weights of a run are kept: as the spec says, for `auto` as the checkpoint was published."""
    if spec.weights_dtype != "auto":
        return spec.weights_dtype
    values = config_values(spec)
    published = str(values.get("dtype") or values.get("torch_dtype") or "float32")
    return published if published in ("float16", "bfloat16") else "float32"


def set_dropout(config: Any, value: float) -> None:
    """Set every dropout of a configuration."""
    for name, current in list(vars(config).items()):
        if isinstance(current, float) and ("dropout" in name or name.endswith("_pdrop") or name == "layerdrop"):
            setattr(config, name, value)


def dropout_of(config: Any) -> float:
    """Return the largest dropout of a configuration."""
    rates = [value for name, value in vars(config).items() if isinstance(value, float) and ("dropout" in name or name.endswith("_pdrop"))]
    return max(rates, default=0.0)


def reduce_config(config: Any) -> Any:
    """Return a copy with two layers and narrow ones, of the same architecture."""
    small = copy.deepcopy(config)
    for name in DEPTHS:
        if isinstance(getattr(small, name, None), int):
            setattr(small, name, min(2, getattr(small, name)))
    for name, value in WIDTHS.items():
        current = getattr(small, name, None)
        if isinstance(current, int) and not isinstance(current, bool):
            setattr(small, name, min(value, current))
    if isinstance(getattr(small, "vocab_size", None), int):
        _reduce_vocabulary(small)
    return small


def _reduce_vocabulary(config: Any) -> None:
    """Make the vocabulary small, and bring the special tokens into it."""
    config.vocab_size = min(SMALL_VOCABULARY, config.vocab_size)
    for name, value in list(vars(config).items()):
        if name.endswith("_token_id") and isinstance(value, int) and value >= config.vocab_size:
            setattr(config, name, config.vocab_size - 1)


def make_model(spec: RunSpec, config: Any, device: str) -> torch.nn.Module:
    """Return the run's model in training mode with random weights on `device`,
    adapters and checkpointing as the spec says."""
    import transformers

    entry: Mapping[str, Any] = platform_data("models/tasks")[spec.task]
    auto = getattr(transformers, entry["class"])
    with torch.device(device):
        try:
            model = auto.from_config(config, attn_implementation=spec.attention)
        except ValueError as error:
            if "attn_implementation" not in str(error) and "scaled_dot_product_attention" not in str(error):
                raise ReadError(f"{spec.model!r} cannot be built for {spec.task}: {error}") from None
            model = auto.from_config(config, attn_implementation="eager")
        freeze(model, spec.frozen)
        if spec.lora_rank:
            model = _with_adapters(model, spec)
    dtype = weights_dtype(spec)
    if dtype != "float32":
        model = model.to(getattr(torch, dtype))
    if spec.gradient_checkpointing:
        getattr(model, "activation_checkpointing_enable", model.gradient_checkpointing_enable)()
        if spec.lora_rank:
            model.enable_input_require_grads()
    return _with_loss(model, spec).train()


def _with_loss(model: Any, spec: RunSpec) -> torch.nn.Module:
    """Return the model with the loss of its trainer, where that is not the model's own."""
    if spec.task == "reward":
        return Paired(model)
    if spec.task in ("preference", "policy"):
        half = {"fp16": torch.float16, "bf16": torch.bfloat16}.get(spec.precision)
        kind = Preferring if spec.task == "preference" else Completing
        return kind(model, has_reference=spec.has_reference, is_tiled=spec.has_tiled_head, tile_type=half)
    return model  # type: ignore[no-any-return]


def _with_adapters(model: Any, spec: RunSpec) -> Any:
    try:
        from peft import LoraConfig, get_peft_model
    except ImportError:
        raise ReadError("the run uses LoRA, which needs peft: pip install peft") from None
    targets: Any = list(spec.lora_targets) or None
    if targets in ([ALL_LINEAR], None):
        targets = ALL_LINEAR if targets else None
    try:
        return get_peft_model(model, LoraConfig(r=spec.lora_rank, lora_dropout=spec.dropout or 0.0, target_modules=targets))
    except ValueError as error:
        raise ReadError(f"peft makes no adapters: {str(error).splitlines()[0]}") from None


def freeze(model: Any, parts: Sequence[Frozen]) -> None:
    """Switch the weights of some parts of a model off and on, in order. Raises ReadError for a part that it doesn't have."""
    for one in parts:
        try:
            part = functools.reduce(getattr, one.part.split("."), model) if one.part else model
        except AttributeError:
            raise ReadError(f"the model has no part {one.part!r}, whose weights the code freezes") from None
        if one.method:
            if not hasattr(part, one.method):
                raise ReadError(f"the model has no method {one.method!r}, by which the code freezes weights")
            getattr(part, one.method)()
            continue
        for name, parameter in part.named_parameters():
            is_picked = not one.names or any(name.startswith(text) if one.begins else text in name for text in one.names)
            if is_picked is not one.others:
                parameter.requires_grad_(one.is_trained)
