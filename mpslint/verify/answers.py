"""What a plan says of a run over answers: the model they are compared with, their logits, and those that the run generates itself."""

from __future__ import annotations

from dataclasses import replace

from mpslint.core.knowledge import platform_data
from mpslint.core.versions import parse_version
from mpslint.verify.plan_source import PlanSource
from mpslint.verify.spec import Lengths, RunSpec


def completed(source: PlanSource) -> Lengths:
    """Return how long the answers are that the run generates: nobody knows when they end, so all reach the limit."""
    limit = source.known("length.target", int) or int(platform_data("assumptions")["generation_length"])
    source.assume(f"when completions end is not known: all have {limit} tokens, the most allowed")
    return Lengths(limit)


def with_answers(source: PlanSource, spec: RunSpec) -> RunSpec:
    """Return a run with what its trainer does about answers; as it is where it has none."""
    if spec.task == "policy":
        source.assume("the reward functions are not emulated: they run on the CPU, or their memory is missing here")
        batches = source.known("generation.batches", int) or spec.accumulation
        return replace(
            spec,
            has_reference=bool(source.known("generation.kl", (int, float))),
            has_tiled_head=_makes_tiles(source),
            group_size=source.known("generation.group_size", int) or 1,
            generated=source.known("generation.batch", int) or spec.train_batch * batches,
        )
    if spec.task == "preference":
        compares = source.known("preference.precomputed") is not True
        return replace(spec, has_reference=compares, has_tiled_head=_makes_tiles(source))
    return spec


def _makes_tiles(source: PlanSource) -> bool:
    """Return whether the trainer's version makes logits a tile at a time."""
    since = parse_version(str(platform_data("assumptions")["tiled_head_since"]))
    version = source.evidence.target.versions.get("trl")
    return version is not None and since is not None and version >= since
