"""Evaluation on the emulator: forward passes without gradient, logits that are kept and joined,
tokens generated one by one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch

from mpslint.verify.child.batches import Shape
from mpslint.verify.child.rig import Rig
from mpslint.verify.emulator.breakdown import LOGITS
from mpslint.verify.emulator.replay import Replay
from mpslint.verify.emulator.segment import Segment


def record_forward(rig: Rig, shape: Shape) -> Segment:
    """Return an evaluation batch: what Trainer would collect (all outputs but the loss) is left alive as `logits`."""
    rig.model.eval()
    rig.drop_gradients()
    batch = rig.batch(shape)
    with rig.running(), torch.no_grad():
        rig.memory.phase = "evaluation"
        with rig.autocast():
            outputs = rig.model(**batch)
        kept = collected(outputs)
        if rig.spec.precision != "no":
            kept = [tensor.float() for tensor in kept]
    rig.kept = [(f"logits{place}", tensor) for place, tensor in enumerate(kept)]
    del outputs, kept, batch
    segment = rig.cut()
    rig.kept = []
    rig.discard()
    rig.model.train()
    return segment


def collected(outputs: Any) -> list[torch.Tensor]:
    """Return the tensors that Trainer's evaluation loop keeps of a model's outputs."""
    values = [value for name, value in outputs.items() if name not in ("loss", "past_key_values", "mems")]
    return [value for value in values if isinstance(value, torch.Tensor)]


def play_evaluation(replay: Replay, batches: Iterator[Segment], keeps: bool, every: int | None) -> int:
    """Play evaluation batches; return the bytes that went to the process's own memory.

    Each batch's kept outputs are joined to those before it on the device, which needs both at once;
    after `every` batches they leave it.
    """
    joined: dict[str, int] = {}
    host = 0
    for number, segment in enumerate(batches, start=1):
        replay.play(segment, "evaluation")
        names = [label for _, label in segment.labels if label.startswith("logits")]
        for name in names:
            size = replay.held[name][-1].size
            if keeps:
                total = joined.get(name, 0) + size
                replay.hold(f"joined {name} {number}", total, LOGITS)
                replay.drop(f"joined {name} {number - 1}")
                joined[name] = total
            replay.drop(name)
        if keeps and every and number % every == 0:
            host += sum(joined.values())
            for name in names:
                replay.drop(f"joined {name} {number}")
            joined.clear()
    host += sum(joined.values())
    for label in [label for label in replay.held if label.startswith("joined ")]:
        replay.drop(label)
    return host if keeps else 0


def record_token(rig: Rig, shape: Shape, beams: int) -> Segment:
    """Return one generated token: `shape` is batch, prompt length, tokens generated so far. The cache is made anew,
    one longer."""
    batch, prompt, past = shape[0] * beams, shape[1], shape[2]
    rig.model.eval()
    rig.drop_gradients()
    with rig.running(), torch.no_grad(), rig.autocast():
        rig.memory.phase = "generation"
        state = _start(rig, batch, prompt, past)
        rig.kept = [(f"cache{place}", tensor) for place, tensor in enumerate(_cached(state["past_key_values"]))]
        rig.cut()
        outputs = rig.network(**state, use_cache=True)
        rig.kept = [(f"cache{place}", tensor) for place, tensor in enumerate(_cached(outputs.past_key_values))]
        del state, outputs
    segment = rig.cut()
    rig.kept = []
    rig.discard()
    rig.model.train()
    return segment


def _start(rig: Rig, batch: int, prompt: int, past: int) -> dict[str, Any]:
    """Return the inputs of the next decoding step, its cache filled with `past` tokens."""

    def ids(length: int) -> torch.Tensor:
        return torch.ones((batch, length), dtype=torch.int64, device=rig.device)

    if not rig.config.is_encoder_decoder:
        outputs = rig.network(input_ids=ids(prompt + past), attention_mask=ids(prompt + past), use_cache=True)
        return {
            "input_ids": ids(1),
            "attention_mask": ids(prompt + past + 1),
            "past_key_values": outputs.past_key_values,
        }
    encoder = rig.network.get_encoder()
    sound = rig.spec.task == "speech_seq2seq"
    given = torch.ones((batch, rig.config.num_mel_bins, prompt), device=rig.device) if sound else ids(prompt)
    hidden = encoder(given)
    first = rig.network(encoder_outputs=hidden, decoder_input_ids=ids(max(past, 1)), use_cache=True)
    return {"encoder_outputs": hidden, "decoder_input_ids": ids(1), "past_key_values": first.past_key_values}


def _cached(cache: Any) -> list[torch.Tensor]:
    """Return the tensors of a key-value cache that grow with each token."""
    own = getattr(cache, "self_attention_cache", cache)
    return [tensor for layer in own.layers for tensor in (layer.keys, layer.values)]
