"""Published checkpoints: their configurations, from `rules/platform/models/`, and how large they are."""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping
from typing import Any

from mpslint.core.knowledge import knowledge_files, platform_data, read_yaml

TASKS = "tasks"


@functools.cache
def _families() -> tuple[Mapping[str, Any], ...]:
    files = [path for path in knowledge_files("platform/models") if path.stem != TASKS]
    return tuple(family for path in files for family in read_yaml(path).values())


@functools.lru_cache(maxsize=64)
def configuration_of(name: str) -> Mapping[str, Any] | None:
    """Return the configuration of a checkpoint in the table, None when it is not there; its organisation does not matter."""
    wanted = name.rsplit("/", 1)[-1].lower()
    for family in _families():
        for checkpoint, values in family["checkpoints"].items():
            if checkpoint.lower() == wanted:
                return {**family["defaults"], **values}
    return None


def parameters_of(checkpoint: str) -> float | None:
    """Return how many million parameters a checkpoint has, from the table or from its own name; None where neither says."""
    known = platform_data("model_sizes")
    name = checkpoint.rstrip("/").rsplit("/", 1)[-1]
    if name in known["parameters"]:
        return float(known["parameters"][name])
    found = re.search(known["named"], name)
    return float(found.group(1)) * (1000 if found.group(2) in "bB" else 1) if found is not None else None
