"""CUDA sources that a program compiles: `load("op", sources=["op.cpp", "op_kernel.cu"])`."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from typing import Any

from mpslint.program.walk import walk
from mpslint.rule.check import Gate
from mpslint.rule.judge import Match
from mpslint.settings.evidence import Evidence

GATE = Gate(words=("cpp_extension", "load", "CUDAExtension"), file_words=("cpp_extension",))


def find(evidence: Evidence, options: Mapping[str, Any]) -> Iterator[Match]:
    """Yield each call that compiles CUDA sources.

    Options: `always`, the calls that need CUDA whatever they compile; `by_source`, those that need it for a file that ends in `ending`.
    """
    for call in evidence.facts.calls:
        is_always = call.name in options["always"]
        if is_always or (call.name in options["by_source"] and _names(call.node, options["ending"])):
            span = evidence.span_of(call.node.func)
            yield Match(span, {"written": ast.unparse(call.node.func)}, None, call, None, call.context, (), call.node)


def _names(node: ast.AST, ending: str) -> bool:
    """Return whether a file with an ending is written anywhere in a call."""
    return any(isinstance(one, ast.Constant) and isinstance(one.value, str) and one.value.endswith(ending) for one in walk(node))
