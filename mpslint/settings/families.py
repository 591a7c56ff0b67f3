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


@record(frozen=True, slots=True, eq=False)
class Families:
    """Every family, and the heads by the patterns of their classes."""

    families: tuple[ModelFamily, ...]
    heads: tuple[tuple[str, str], ...]
    quantised: str
    """What the names of checkpoints contain whose weights are quantised."""
    bits: Mapping[str, int]
    """What the names of those contain that bitsandbytes reads, and to how many bits."""
    positions: tuple[str, ...] = ()
    """How configurations call the tokens of their positions."""

    def is_quantised(self, checkpoint: str) -> bool:
        """Return whether the weights of a checkpoint are quantised, by its name."""
        return re.search(self.quantised, checkpoint.lower()) is not None

    def bits_of(self, checkpoint: str) -> int | None:
        """Return to how many bits bitsandbytes has quantised a checkpoint, by its name, or None."""
        return next((bits for names, bits in self.bits.items() if re.search(names, checkpoint.lower())), None)

    def of_name(self, checkpoint: str) -> ModelFamily | None:
        """Return the family of a checkpoint, or None."""
        return next((family for family in self.families if re.search(family.names, checkpoint.lower())), None)

    def of_class(self, qualified: str) -> ModelFamily | None:
        """Return the family of a class such as `transformers.T5ForConditionalGeneration`, or None."""
        name = _class_name(qualified)
        return next((family for family in self.families if name.startswith(family.classes)), None) if name else None

    def head_of(self, names: Iterable[str]) -> str | None:
        """Return what a class's output is, by the names that its call goes by, or None."""
        classes = [_class_name(name) for name in names]
        return next((head for glob, head in self.heads for name in classes if fnmatch.fnmatchcase(name, glob)), None)


def _class_name(qualified: str) -> str:
    return next((part for part in qualified.split(".")[1:] if part[:1].isupper()), "")


@functools.lru_cache(maxsize=1)
def load_families() -> Families:
    """Return what is known of models."""
    data = platform_data("model_families")
    families = []
    for row in data["families"]:
        length = row.get("length")
        padded = row.get("tokenizer", length)
        limit = None if padded == NO_LIMIT else padded
        known = tuple(row.get("classes", ())), length, limit, row.get("dropout", {})
        families.append(ModelFamily(row["family"], row["names"], *known))
    heads = [(glob, row["head"]) for row in data["heads"] for glob in row["classes"]]
    quantised = data["quantised"]
    return Families(tuple(families), tuple(heads), quantised["names"], quantised["bitsandbytes"], tuple(data["positions"]))
