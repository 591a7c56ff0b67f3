"""A choice of device that is only a default, where the run sets the device.

`config.get("device", choice)`, and `device: cpu` in YAML; `def load(device=choice)`, and every call gives one, or nothing calls it.

A check because it asks whether any run takes a default at all, by all calls of its function.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from typing import Any

from mpslint.checks._uses import is_never_taken
from mpslint.program.platform import load_platform
from mpslint.rule.judge import Match
from mpslint.settings.evidence import Evidence


def find(evidence: Evidence, options: Mapping[str, Any]) -> Iterator[Match]:
    """Yield each choice in whose place the run takes a device from elsewhere."""
    for node in _asking(evidence):
        if is_never_taken(node, evidence):
            shown = node.test if isinstance(node, ast.If) else node
            yield Match(evidence.span_of(shown), {"written": ast.unparse(shown)}, node=node)


def _asking(evidence: Evidence) -> Iterator[ast.If | ast.IfExp]:
    """Yield each choice by a question for CUDA, also where the run doesn't come to it."""
    names = {name.rpartition(".")[2] for name in load_platform().cuda_questions}
    for node in (node for name in names for node in evidence.naming(name)):
        below, above = node, evidence.parents.get(node)
        while above is not None and isinstance(below, ast.expr):
            if isinstance(above, (ast.If, ast.IfExp)) and above.test is below:
                yield above
            below, above = above, evidence.parents.get(above)
