"""Does calibration work? The steps of ten small models on this machine's CPU, estimated after `doctor --calibrate`, against measured.

    python benchmarks/cpu_step_time.py            measures, and prints the table (two minutes)
    python benchmarks/cpu_step_time.py --write    also writes docs/step-time-cpu.md

All on one thread, in seconds that the process got: other programs share the machine. None of the ten is what calibration runs.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import torch
from step_models import (
    Keywords,
    Program,
    Unet,
    basic_resnet,
    classify,
    count,
    diffusion,
    from_config,
    keywords,
    program,
    tokens,
)

from mpslint.estimate.calibration import Calibration, calibrated_parts
from mpslint.estimate.timing import constants
from mpslint.verify.child.calibrate import calibrate

PAGE = Path(__file__).parents[1] / "docs" / "step-time-cpu.md"
SMALL = {"hidden_size": 256, "num_hidden_layers": 4, "num_attention_heads": 4, "intermediate_size": 1024}
NAMES = {
    "BERT of 4 layers, 8 x 128": lambda: program(
        from_config("bert", "SequenceClassification", **SMALL), tokens(8, 128, is_lm=False), "adamw", 8
    ),
    "BERT of 4 layers, 2 x 512": lambda: program(
        from_config("bert", "SequenceClassification", **SMALL), tokens(2, 512, is_lm=False), "adamw", 2
    ),
    "DistilBERT, 2 x 64": lambda: program(from_config("distilbert", "SequenceClassification"), tokens(2, 64, is_lm=False), "adamw", 2),
    "GPT-2 of 4 layers, 4 x 128": lambda: program(
        from_config("gpt2", "CausalLM", n_embd=256, n_layer=4, n_head=4, vocab_size=8000), tokens(4, 128, is_lm=True), "adamw", 4
    ),
    "Llama of 4 layers, 4 x 128": lambda: program(
        from_config("llama", "CausalLM", vocab_size=8000, num_key_value_heads=4, **SMALL), tokens(4, 128, is_lm=True), "adamw", 4
    ),
    "ViT of 4 layers, 8 pictures of 224": lambda: program(
        from_config("vit", "ImageClassification", **SMALL), classify(8, 224), "adam", 8
    ),
    "ResNet-20, 64 pictures of 32": lambda: program(
        basic_resnet((16, 32, 64), 3, is_imagenet=False), classify(64, 32), "adam", 64
    ),
    "ResNet-18, 16 pictures of 64": lambda: program(
        basic_resnet((64, 128, 256, 512), 2, is_imagenet=True), classify(16, 64), "sgd", 16
    ),
    "KWT-1, 32 clips": lambda: program(Keywords(64, 1), keywords(32), "adamw", 32),
    "diffusion U-Net, 4 pictures of 32": lambda: program(Unet(), diffusion(4), "adam", 4),
}  # fmt: skip


def measured(made: Program) -> float:
    """Return the seconds of a step: the shortest of several."""
    made.step()
    best = float("inf")
    spent = 0.0
    for _ in range(12):
        start = time.process_time()
        made.step()
        took = time.process_time() - start
        best, spent = min(best, took), spent + took
        if spent > 8:
            break
    return best


def rows(rates: Calibration) -> list[tuple[str, float, float, str]]:
    """Return each model with its measured and estimated seconds, and its largest parts."""
    found = []
    for name, make in NAMES.items():
        with torch.device("meta"):
            work = count(make())
        parts = calibrated_parts(work, rates, constants().overlap)
        torch.manual_seed(0)
        seconds, estimated = measured(make()), sum(parts.values())
        most = sorted(parts.items(), key=lambda part: -part[1])[:3]
        found.append((name, seconds, estimated, ", ".join(f"{part} {value / estimated:.0%}" for part, value in most)))
    return found


def page(found: list[tuple[str, float, float, str]], rates: Calibration) -> str:
    """Return docs/step-time-cpu.md."""
    factors = [max(seconds / estimated, estimated / seconds) for _, seconds, estimated, _ in found]
    near, close = (sum(factor <= bound for factor in factors) for bound in (1.3, 1.5))
    lines = [
        "# Calibration, tried on a CPU",
        "",
        "`mpslint doctor --calibrate` measures how fast a machine runs operators of each kind and size. With these rates a",
        "step is estimated from its operators. No Mac was at hand, so the method was tried on a CPU as a device of its own.",
        f"`python benchmarks/cpu_step_time.py --write` writes this page: one thread, torch {rates.torch}, calibrated in",
        f"{rates.seconds:.0f} s on {rates.date}. Runs differ: in three of them 9, 8 and 10 models were within 1.3x.",
        "",
        f"{near} of {len(found)} models are within 1.3x, {close} within 1.5x; the worst is {max(factors):.2f}x off.",
        "Calibration runs none of them. It shows that operators, their sizes and their sum are right. How far launches and a",
        "GPU's work overlap isn't tested by a CPU.",
        "",
        "| model, batch | measured ms | estimated ms | measured / estimated | largest parts |",
        "| --- | ---: | ---: | ---: | --- |",
    ]
    lines += [f"| {name} | {one * 1e3:.1f} | {two * 1e3:.1f} | {one / two:.2f} | {parts} |" for name, one, two, parts in found]
    return "\n".join(lines) + "\n"


def main() -> int:
    """Calibrate, measure, print and, if asked, write."""
    torch.set_num_threads(1)
    rates = calibrate("cpu", "CPU")
    found = rows(rates)
    text = page(found, rates)
    print(text)
    if "--write" in sys.argv:
        PAGE.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
