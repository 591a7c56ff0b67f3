"""A machine with CUDA, on which a file that is fixed for the Mac has to mean what it meant."""

from __future__ import annotations

import functools

from mpslint.core.knowledge import sets_of
from mpslint.program.platform import Platform, load_platform


@functools.lru_cache(maxsize=1)
def with_cuda() -> Platform:
    """Return the answers of a Linux machine with one CUDA device, in the place of the Mac."""
    mac = load_platform()
    without_mps = dict.fromkeys((name for name in mac.results if "mps" in name), False)
    cuda = {name: 1 if name.endswith("count") else True for name in mac.results if name in mac.cuda_questions}
    results = {name: answer for name, answer in mac.results.items() if not isinstance(answer, list)}
    answers = {"values": {**mac.values, "sys.platform": "linux"}, "results": {**results, **without_mps, **cuda}}
    return Platform(**{**sets_of("answers"), **answers})
