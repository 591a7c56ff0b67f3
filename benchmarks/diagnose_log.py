"""How long `mpslint diagnose` takes on a long training log with one error near its end.

    python benchmarks/diagnose_log.py [MEGABYTES]

The log is made by `ordinary_log`, which the tests use too: nothing in it may be recognised.
"""

from __future__ import annotations

import random
import resource
import sys
import time
from collections.abc import Iterator

from mpslint.diagnose import Log, diagnose

_WORDS = (
    "the model loss step epoch learning rate training evaluation batch device mps memory tensor weights loading shards "
    "tokenizer dataset map examples checkpoint saved output generated summary of a to in and was said government police "
    "adapter config special tokens embeddings resized cache found accelerate transformers torch version warning error"
).split()
_ERROR = (
    "RuntimeError: MPS backend out of memory (MPS allocated: 4.20 GiB, other allocations: 43.49 GiB, "
    "max allowed: 47.74 GiB). Tried to allocate 51.44 MiB on private pool."
)


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
        f"[rank0]: step {number} tokens/s {chance.uniform(900, 4000):.1f} allocated by the tokenizer: {number % 97} rows",
        "Some weights of the model were not used when initializing T5ForConditionalGeneration: ['decoder.bias']",
        "UserWarning: Was asked to gather along dimension 0, but all input tensors were scalars",
        f"***** Running Evaluation ***** Num examples = {number % 1000}, Batch size = 8",
        " ".join(chance.choices(_WORDS, k=25)),
    )
    return kinds[number % len(kinds)]


def main() -> None:
    """Print the time, the memory and what was recognised."""
    wanted = int(sys.argv[1]) if len(sys.argv) > 1 else 50
    lines = list(ordinary_log(wanted * 8_500))
    lines.insert(len(lines) - 40, _ERROR)
    text = "\n".join(lines)
    del lines
    start = time.perf_counter()
    diagnosis = diagnose(Log("benchmark", text))
    seconds = time.perf_counter() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1024**2 if sys.platform == "darwin" else 1024)
    print(f"{len(text.encode()) / 1e6:.0f} MB, {diagnosis.lines:,} lines: {seconds:.2f} s, peak {peak:.0f} MB")
    print("recognised:", ", ".join(f"{s.message.id} at {s.place}" for s in diagnosis.symptoms))


if __name__ == "__main__":
    main()
