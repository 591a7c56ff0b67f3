"""Questions for CUDA, as far as a text tells."""

from __future__ import annotations

import ast
import re

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


def is_plain_switch(test: ast.expr, text: str) -> bool:
    """Return whether a test is an option that is off until somebody asks for it (`--use_gpu`), and nothing else decides: no choice of
    the program's own, but what the command line says."""
    if not isinstance(test, ast.Attribute):
        return False
    words = re.escape(test.attr).replace("_", "[_-]")
    is_switch = re.search(rf"--{words}['\"][^()]*(?:store_true|default *= *False)", text) is not None
    return is_switch and re.search(rf"\.{re.escape(test.attr)} *[&|]?=(?!=)", text) is None
