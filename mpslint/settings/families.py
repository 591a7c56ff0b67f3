"""What is known of a model by its name and its class, from `rules/platform/model_families.yaml`."""

from __future__ import annotations

import fnmatch
import functools
import re
from collections.abc import Iterable, Mapping
from dataclasses import field

from mpslint.core.knowledge import platform_data
from mpslint.core.record import record

NO_LIMIT = "none"


@record(frozen=True, slots=True, eq=False)
class ModelFamily:
    """Models that share an architecture and its defaults."""

    name: str
    names: str
    classes: tuple[str, ...] = ()
    length: int | None = None
    """The tokens of its positions, or those it was trained on."""
    tokenizer_length: int | None = None
    """What `padding="max_length"` pads to; None where the tokenizer knows no limit."""
    dropout: Mapping[str, float] = field(default_factory=dict)
    """The randomness inside its layers, by configuration parameter."""


def is_quantised(checkpoint: str) -> bool:
    """Return whether the weights of a checkpoint are quantised, by its name."""
    return re.search(platform_data("model_families")["quantised"]["names"], checkpoint.lower()) is not None


def bits_of(checkpoint: str) -> int | None:
    """Return to how many bits bitsandbytes has quantised a checkpoint, by its name, or None."""
    rows = platform_data("model_families")["quantised"]["bitsandbytes"].items()
    return next((bits for names, bits in rows if re.search(names, checkpoint.lower())), None)


def family_named(checkpoint: str) -> ModelFamily | None:
    """Return the family of a checkpoint, or None."""
    return next((family for family in _families() if re.search(family.names, checkpoint.lower())), None)


def family_of_class(qualified: str) -> ModelFamily | None:
    """Return the family of a class such as `transformers.T5ForConditionalGeneration`, or None."""
    name = _class_name(qualified)
    return next((family for family in _families() if name.startswith(family.classes)), None) if name else None


def head_of(names: Iterable[str]) -> str | None:
    """Return what a class's output is, by the names that its call goes by, or None."""
    classes = [_class_name(name) for name in names]
    heads = ((row["head"], glob) for row in platform_data("model_families")["heads"] for glob in row["classes"])
    return next((head for head, glob in heads for name in classes if fnmatch.fnmatchcase(name, glob)), None)


def _class_name(qualified: str) -> str:
    return next((part for part in qualified.split(".")[1:] if part[:1].isupper()), "")


@functools.lru_cache(maxsize=1)
def _families() -> tuple[ModelFamily, ...]:
    """Return every family."""
    families = []
    for row in platform_data("model_families")["families"]:
        length = row.get("length")
        padded = row.get("tokenizer", length)
        limit = None if padded == NO_LIMIT else padded
        families.append(ModelFamily(row["family"], row["names"], tuple(row.get("classes", ())), length, limit, row.get("dropout", {})))
    return tuple(families)
