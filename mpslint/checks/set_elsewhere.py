"""A choice of device that is only a default, where the run sets the device: `config.get("device", choice)`, and `device: cpu` in YAML."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from typing import Any

from mpslint.checks._idle_choices import is_set_elsewhere
from mpslint.checks._questions import may_ask_for_cuda
from mpslint.program.platform import load_platform
from mpslint.rule.check import Gate
from mpslint.rule.judge import Match
from mpslint.settings.evidence import Evidence

GATE = Gate(words=("cuda",), may_find=lambda document, options, target: may_ask_for_cuda(document))


def find(evidence: Evidence, options: Mapping[str, Any]) -> Iterator[Match]:
    """Yield each choice in whose place the run takes a device from elsewhere."""
    for choice in evidence.facts.choices:
        if (
            choice.source in load_platform().cuda_questions
            and isinstance(choice.node, ast.IfExp)
            and is_set_elsewhere(choice.node, evidence)
        ):
            yield Match(evidence.span_of(choice.node), {"written": ast.unparse(choice.node)}, context=choice.context, node=choice.node)
