"""Lines that ordinary training prints. Nothing in them may be recognised; the benchmark uses them too."""

from __future__ import annotations

import random
from collections.abc import Iterator

_WORDS = """
the model loss step epoch learning rate training evaluation batch device mps memory tensor weights loading
shards tokenizer dataset map examples checkpoint saved output generated summary of a to in and was said
government police adapter config special tokens embeddings resized cache found accelerate transformers torch
version warning error placeholder buffer size operator backend watermark allocated cuda float64 bf16 fp16
semaphore worker pin storage generator segmentation
""".split()


def ordinary_log(lines: int, seed: int = 0) -> Iterator[str]:
    """Yield lines of the kinds that training prints: metrics, progress bars, logging, warnings, generated text."""
    chance = random.Random(seed)
    for number in range(lines):
        yield _line(chance, number, lines)


def _line(chance: random.Random, number: int, lines: int) -> str:
    done = number * 100 // lines
    kinds = (
        f"{{'loss': {chance.uniform(0, 4):.4f}, 'grad_norm': {chance.uniform(0, 9):.3f}, "
        f"'learning_rate': {chance.random() * 5e-5:.3e}, 'epoch': {number / lines:.2f}}}",
        f"{done:3d}%|{'█' * (done // 10):<10}| {number}/{lines} [{number // 60:02d}:{number % 60:02d}<01:40, 5.41it/s]",
        f"2026-03-01 10:{number // 60 % 60:02d}:{number % 60:02d},{number % 1000:03d} - INFO - __main__ - "
        + " ".join(chance.choices(_WORDS, k=10)),
        f"\x1b[32mINFO\x1b[0m Epoch {done}: val_loss={chance.random():.3f}, acc={chance.random():.3f}, device=mps:0",
        f"[rank0]: step {number} tokens/s {chance.uniform(900, 4000):.1f} allocated by the tokenizer: {number % 97}",
        "Some weights of the model were not used when initializing T5ForConditionalGeneration: ['decoder.bias']",
        "UserWarning: Was asked to gather along dimension 0, but all input tensors were scalars",
        f"***** Running Evaluation ***** Num examples = {number % 1000}, Batch size = 8",
        f'  File "/Users/me/venv/lib/python3.11/site-packages/torch/nn/functional.py", line {number % 900}, in x',
        f"I{number % 1231:04d} 10:00:00.000001 4711 profiler.py:{number % 99}] GPU: {number % 64} MiB of 64 GB in use",
        f"| eval/rouge1 | {chance.random():.4f} | eval/runtime | {chance.uniform(1, 99):.2f} s |",
        " ".join(chance.choices(_WORDS, k=25)),
    )
    return kinds[number % len(kinds)]
