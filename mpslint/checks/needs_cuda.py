"""Code that stops where there is no CUDA, or no package that needs it: an `assert`, a `raise` or an exit under a question for it.

A check because it asks whether the branch that a Mac takes ends the program.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from typing import Any

from mpslint.program.flow import ends_program
from mpslint.program.platform import load_platform
from mpslint.rule.judge import Match
from mpslint.settings.evidence import Evidence


def find(evidence: Evidence, options: Mapping[str, Any]) -> Iterator[Match]:
    """Yield each question whose answer on a Mac ends the program, at the question. Option: `questions`, others than those for CUDA."""
    questions = options["questions"] if options else load_platform().cuda_questions
    for choice in evidence.facts.choices:
        node = choice.node
        if choice.source not in questions or isinstance(node, ast.expr):
            continue
        if isinstance(node, ast.Assert):
            ends, what = not choice.answer, "the assertion fails"
        else:
            block = node.body if choice.answer else node.orelse
            ends = ends_program(block)
            what = "it raises" if ends and isinstance(block[-1], ast.Raise) else "it exits"
        if ends:
            written = ast.unparse(node.test)
            yield Match(evidence.span_of(node.test), {"written": written, "what": what}, context=choice.context, node=node)
