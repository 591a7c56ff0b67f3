"""Another machine than the Mac, as the interpreter would be told of it."""

from __future__ import annotations

import functools
from typing import Any

from mpslint.program.platform import Platform, load_platform


@functools.lru_cache(maxsize=1)
def with_cuda() -> Platform:
    """Return the answers of a Linux machine with one CUDA device, on which a file that is fixed for the Mac has to mean what it meant."""
    mac = load_platform()
    answers: dict[str, Any] = {name: getattr(mac, name) for name in Platform.__dataclass_fields__}
    without_mps = dict.fromkeys((name for name in mac.results if "mps" in name), False)
    cuda = {name: 1 if name.endswith("count") else True for name in mac.results if name in mac.cuda_questions}
    values = {**mac.values, "sys.platform": "linux"}
    results = {name: answer for name, answer in mac.results.items() if not isinstance(answer, list)}
    return Platform(**{**answers, "values": values, "results": {**results, **without_mps, **cuda}})
