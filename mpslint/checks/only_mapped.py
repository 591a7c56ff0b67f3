"""A device that is given to what loads a model and to nothing else: `torch.jit.load(path, map_location=device)`, and inputs on the CPU.

On a Mac that selects the CPU such a program runs; as soon as its device is the GPU, it raises where the model meets its inputs.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from typing import Any

from mpslint.checks._device_uses import uses_of
from mpslint.checks._idle_choices import mapped_by
from mpslint.checks._named_devices import is_cpu
from mpslint.checks._questions import may_ask_for_cuda
from mpslint.checks.fed_on_cpu import has_move
from mpslint.program.platform import load_platform
from mpslint.rule.check import Gate
from mpslint.rule.judge import Match
from mpslint.settings.evidence import Evidence

GATE = Gate(words=("cuda",), may_find=lambda document, options, target: may_ask_for_cuda(document) and "load(" in document.text)


def find(evidence: Evidence, options: Mapping[str, Any]) -> Iterator[Match]:
    """Yield the choices of a run that moves nothing, where each device is only one to load onto."""
    whole = evidence.whole or evidence
    if "set_default_" in whole.text or any(_places(node) for word in (".to(", ".cuda(", "device") for node in whole.nodes_beside(word)):
        return
    asked = [one for one in whole.facts.choices if one.source in load_platform().cuda_questions and isinstance(one.node, ast.IfExp)]
    for choice in (one for one in asked if isinstance(one.node, ast.IfExp) and (is_cpu(one.node.orelse) or is_cpu(one.node.body))):
        uses = uses_of(choice.node, whole)
        if uses and all(mapped_by(use, whole) for use in uses):
            yield Match(whole.span_of(choice.node), {"written": ast.unparse(choice.node)}, context=choice.context, node=choice.node)


def _places(node: ast.AST) -> bool:
    """Return whether an expression moves something, or makes it on a device."""
    return isinstance(node, ast.Call) and (has_move(node) or any(keyword.arg == "device" for keyword in node.keywords))
