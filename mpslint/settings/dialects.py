"""All dialects together."""

from __future__ import annotations

import functools

from mpslint.core.knowledge import knowledge_files
from mpslint.settings.dialect import Dialects
from mpslint.settings.dialect_reader import read_dialect


@functools.lru_cache(maxsize=1)
def load_dialects() -> Dialects:
    """Return every dialect. Raises RuleError naming the file and the key that is wrong."""
    return Dialects(tuple(read_dialect(path) for path in knowledge_files("dialects")))
