"""Losses over answers: TRL's reward model, DPO and GRPO, around a model of transformers.

The buffers are those of trl/trainer/reward_trainer.py and dpo_trainer.py, 0.24 to 1.16, of grpo_trainer.py, 1.16, and of
trl/kernels/chunked_logprob.py where the logits are made in tiles (from 1.15 on).
"""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Iterator
from typing import Any

import torch
from torch.nn import functional
from transformers.utils.generic import ModelOutput

TOKENS, WORDS = 4096, 32768
"""The size of a tile of logits."""
BETA = 0.1
"""DPO's default; no memory depends on it."""
IGNORED = -100


class Paired(torch.nn.Module):
    """A model whose batches hold the chosen answers, then the rejected ones, and which gives the loss of preferring the former."""

    def __init__(self, model: Any) -> None:
        super().__init__()
        self.model = model

    def forward(self, input_ids: torch.Tensor, attention_mask: torch.Tensor) -> ModelOutput:
        """Return the loss of a reward model."""
        rewards = self.model(input_ids=input_ids, attention_mask=attention_mask, use_cache=False).logits.squeeze(-1)
        chosen, rejected = rewards.chunk(2)
        return ModelOutput(loss=-functional.logsigmoid(chosen - rejected).mean())


class Preferring(Paired):
    """The same for DPO: answers are as likely as their tokens, and compared with a model that is not trained."""

    def __init__(self, model: Any, *, has_reference: bool, is_tiled: bool, tile_type: torch.dtype | None) -> None:
        super().__init__(model)
        self.is_tiled, self.tile_type = is_tiled, tile_type
        self.has_adapters = hasattr(model, "disable_adapter")
        self.compares = has_reference
        self.reference = copy.deepcopy(model).requires_grad_(False).eval() if has_reference and not self.has_adapters else None

    def train(self, mode: bool = True) -> Preferring:
        """Switch to training; the reference stays as it is used."""
        super().train(mode)
        if self.reference is not None:
            self.reference.eval()
        return self

    def forward(self, input_ids: torch.Tensor, attention_mask: torch.Tensor) -> ModelOutput:
        """Return the loss of DPO."""
        labels = input_ids.masked_fill(attention_mask == 0, IGNORED)
        chosen, rejected = self.likely(self.model, input_ids, attention_mask, labels).sum(dim=1).chunk(2)
        margin = chosen - rejected
        if self.compares:
            with torch.no_grad(), self._other() as reference:
                known, other = self.likely(reference, input_ids, attention_mask, labels).sum(dim=1).chunk(2)
            margin = margin - (known - other)
        return ModelOutput(loss=-functional.logsigmoid(BETA * margin).mean())

    @contextlib.contextmanager
    def _other(self) -> Iterator[Any]:
        """Give the model that is compared with: a copy, or the same one without its adapters."""
        if self.reference is not None:
            yield self.reference
        else:
            with self.model.disable_adapter():
                yield self.model

    def likely(self, model: Any, input_ids: torch.Tensor, attention_mask: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        """Return the logarithm of each token's probability, 0 where there is none."""
        wanted = labels[:, 1:]
        targets = wanted.clamp(min=0)
        if self.is_tiled:
            inner = model.get_base_model() if self.has_adapters else model
            hidden = inner.base_model(input_ids=input_ids, attention_mask=attention_mask, use_cache=False).last_hidden_state[:, :-1]
            weight = inner.get_output_embeddings().weight
            dtype = self.tile_type or hidden.dtype
            tiled: torch.Tensor = Tiled.apply(hidden.reshape(-1, hidden.size(-1)), weight, targets.reshape(-1), dtype)  # type: ignore[no-untyped-call]
            found = tiled.view(wanted.shape)
        else:
            logits = model(input_ids=input_ids, attention_mask=attention_mask, use_cache=False).logits[:, :-1]
            rows = zip(logits, targets, strict=True)
            found = torch.stack([row.log_softmax(-1).gather(-1, words.unsqueeze(-1)).squeeze(-1) for row, words in rows])
        return found.masked_fill(wanted == IGNORED, 0)


class Completing(Preferring):
    """The same for GRPO: what the model answered is as likely as its tokens, and better or worse than the other answers."""

    def forward(self, input_ids: torch.Tensor, attention_mask: torch.Tensor, **completion: torch.Tensor) -> ModelOutput:
        """Return the loss of GRPO for prompts and their completions; each second answer is the better one."""
        ids, mask = completion["completion_ids"], completion["completion_mask"]
        whole, attended = torch.cat([input_ids, ids], dim=1), torch.cat([attention_mask, mask], dim=1)
        labels = whole.masked_fill(attended == 0, IGNORED)
        labels[:, : -ids.size(1)] = IGNORED
        known = None
        if self.compares:
            with torch.no_grad(), self._other() as reference:
                known = self.likely(reference, whole, attended, labels)[:, -ids.size(1) :]
        found = self.likely(self.model, whole, attended, labels)[:, -ids.size(1) :]
        ratio = torch.exp(found - found.detach())
        better = torch.ones(len(ids), 1, device=ids.device)
        better[::2] = -1.0
        loss = -torch.min(ratio * better, torch.clamp(ratio, 0.8, 1.2) * better)
        if known is not None:
            loss = loss + BETA * (torch.exp(known - found) - (known - found) - 1)
        return ModelOutput(loss=(loss * mask).sum() / mask.sum())


class Tiled(torch.autograd.Function):
    """Log-probabilities of tokens without all their logits: a tile at a time, made anew for the gradients."""

    @staticmethod
    def forward(ctx: Any, hidden: torch.Tensor, weight: torch.Tensor, targets: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
        """Return the log-probability of each target."""
        tokens = len(hidden)
        highest, total, *others = (torch.zeros(tokens, device=hidden.device) for _ in range(7))
        picked = others[-1]
        buffer = torch.empty(min(tokens, TOKENS), WORDS, device=hidden.device, dtype=dtype)
        highest.fill_(float("-inf"))
        for rows, words, tile in _tiles(hidden, weight, buffer, dtype):
            z = tile.float() * 1.0
            z = z * 1.0
            top = torch.maximum(highest[rows], z.amax(-1))
            scaled = torch.exp(z - top.unsqueeze(-1))
            total[rows] = total[rows] * torch.exp(highest[rows] - top) + scaled.sum(-1)
            highest[rows] = top
            local = targets[rows] - words.start
            inside = (local >= 0) & (local < tile.size(1))
            found = z.gather(-1, local.clamp(0, tile.size(1) - 1).unsqueeze(-1)).squeeze(-1)
            picked[rows] = torch.where(inside, found, picked[rows])
        normaliser = highest + torch.log(total)
        ctx.save_for_backward(hidden, weight, targets, normaliser)
        ctx.dtype = dtype
        return picked - normaliser

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        """Return the gradients of the hidden states and of the weight, summed in float32."""
        hidden, weight, targets, normaliser = ctx.saved_tensors
        of_hidden = torch.zeros(hidden.shape, device=hidden.device) if ctx.needs_input_grad[0] else None
        of_weight = torch.zeros(weight.shape, device=hidden.device) if ctx.needs_input_grad[1] else None
        buffer = torch.empty(min(len(hidden), TOKENS), WORDS, device=hidden.device, dtype=ctx.dtype)
        for rows, words, tile in _tiles(hidden, weight, buffer, ctx.dtype):
            y = tile.float() * 1.0
            z = y * 1.0
            logarithm = z - normaliser[rows].unsqueeze(-1)
            probability = torch.exp(logarithm)
            change = torch.zeros_like(z)
            is_target = torch.arange(words.start, words.stop, device=hidden.device) == targets[rows].unsqueeze(-1)
            change += gradient[rows].unsqueeze(-1) * (is_target.float() - probability)
            tile.copy_(change * 1.0 * 1.0)
            del y, z, logarithm, probability, change, is_target
            if of_hidden is not None:
                of_hidden[rows].addmm_(tile.float(), weight[words].to(ctx.dtype).float())
            if of_weight is not None:
                of_weight[words].addmm_(tile.t().float(), hidden[rows].to(ctx.dtype).float())
        return (
            of_hidden.to(hidden.dtype) if of_hidden is not None else None,
            of_weight.to(weight.dtype) if of_weight is not None else None,
            None,
            None,
        )


def _tiles(
    hidden: torch.Tensor, weight: torch.Tensor, buffer: torch.Tensor, dtype: torch.dtype
) -> Iterator[tuple[slice, slice, torch.Tensor]]:
    """Yield parts of the logits in a buffer, with the tokens and the words that they are of."""
    for first in range(0, len(hidden), TOKENS):
        rows = slice(first, min(first + TOKENS, len(hidden)))
        part = hidden[rows].to(dtype)
        for start in range(0, len(weight), WORDS):
            words = slice(start, min(start + WORDS, len(weight)))
            tile = buffer[: len(part), : words.stop - start]
            torch.mm(part, weight[words].to(dtype).t(), out=tile)
            yield rows, words, tile
