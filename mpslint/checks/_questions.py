"""Questions for CUDA, as far as a text tells."""

from __future__ import annotations

import functools

from mpslint.program.platform import load_platform
from mpslint.source.words import may_name


@functools.lru_cache(maxsize=1)
def may_ask_for_cuda(code: str) -> bool:
    """Return whether code may ask one of the questions for CUDA (`torch.cuda.is_available()`)."""
    questions = load_platform().cuda_questions
    of_modules = [name for name in questions if name.count(".") > 1]
    return any(name.rsplit(".", 1)[-1] in code for name in questions.difference(of_modules)) or may_name(code, of_modules)
