"""Questions for CUDA, as far as a text tells."""

from __future__ import annotations

import ast
import re


def is_plain_switch(test: ast.expr, text: str) -> bool:
    """Return whether a test is an option that is off until somebody asks for it (`--use_gpu`), and nothing else decides: no choice of
    the program's own, but what the command line says."""
    if not isinstance(test, ast.Attribute):
        return False
    words = re.escape(test.attr).replace("_", "[_-]")
    is_switch = re.search(rf"--{words}['\"][^()]*(?:store_true|default *= *False)", text) is not None
    return is_switch and re.search(rf"\.{re.escape(test.attr)} *[&|]?=(?!=)", text) is None
