"""What a plan says of a run over answers: the model they are compared with, their logits, and those that the run generates itself."""

from __future__ import annotations

from mpslint.core.knowledge import platform_data
from mpslint.core.versions import parse_version
from mpslint.verify.plan_source import PlanSource
from mpslint.verify.spec import Lengths, Task


def completed(source: PlanSource) -> Lengths:
    """Return how long the answers are that the run generates: nobody knows when they end, so all reach the limit."""
    limit = source.known("length.target", int) or int(platform_data("assumptions")["generation_length"])
    source.assume(f"when completions end is not known: all have {limit} tokens, the most allowed")
    return Lengths(limit)


def has_reference(source: PlanSource, task: Task) -> bool:
    """Return whether the trainer keeps a model to compare with."""
    if task == "policy":
        return bool(source.known("generation.kl", (int, float)))
    return task == "preference" and source.known("preference.precomputed") is not True


def generated(source: PlanSource) -> int:
    """Return how many completions are generated together."""
    source.assume("the reward functions are not emulated: they run on the CPU, or their memory is missing here")
    batch = source.count("batch.train", int(platform_data("assumptions")["batch"]))
    batches = source.known("generation.batches", int) or source.count("batch.accumulation", 1)
    return source.known("generation.batch", int) or batch * batches


def makes_tiles(source: PlanSource) -> bool:
    """Return whether the trainer's version makes logits a tile at a time."""
    since = parse_version(str(platform_data("assumptions")["tiled_head_since"]))
    version = source.evidence.target.versions.get("trl")
    return version is not None and since is not None and version >= since
