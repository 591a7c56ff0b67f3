"""The configurations of published checkpoints, from `rules/platform/models/`."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any

from mpslint.core.knowledge import knowledge_files, read_yaml

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
