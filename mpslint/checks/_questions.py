"""Questions for CUDA, as far as a text tells."""

from __future__ import annotations

from mpslint.program.platform import load_platform
from mpslint.source.document import Document
from mpslint.source.words import may_name


def may_ask_for_cuda(document: Document) -> bool:
    """Return whether a Document may ask one of the questions for CUDA (`torch.cuda.is_available()`)."""
    return document.anywhere("may ask for CUDA", lambda one: _may_ask(one.code))


def _may_ask(code: str) -> bool:
    """Return whether code may ask one of the questions for CUDA (`torch.cuda.is_available()`)."""
    questions = load_platform().cuda_questions
    of_modules = [name for name in questions if name.count(".") > 1]
    return any(name.rsplit(".", 1)[-1] in code for name in questions.difference(of_modules)) or may_name(code, of_modules)
