"""Code that stops where there is no CUDA, or no package that needs it: an `assert`, a `raise` or an exit under a question for it."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from typing import Any

from mpslint.checks._questions import may_ask_for_cuda
from mpslint.program.flow import ENDS, ends_program
from mpslint.program.platform import load_platform
from mpslint.rule.check import Gate
from mpslint.rule.judge import Match
from mpslint.settings.evidence import Evidence
from mpslint.source.document import Document
from mpslint.target.target import Target

STOPS = ("assert", "raise", *(name.rsplit(".", 1)[-1] for name in sorted(ENDS)))


def _names(options: Mapping[str, Any]) -> Iterator[str]:
    """Yield words of which one stands in every function in which it finds something."""
    yield from options["questions"] if options else ["cuda"]


def _questions(options: Mapping[str, Any]) -> frozenset[str]:
    """Return the questions that are meant: for CUDA, or those that `questions` names."""
    return frozenset(options["questions"]) if options else load_platform().cuda_questions


def _may_ask(document: Document, options: Mapping[str, Any], target: Target) -> bool:
    """Return whether a Document may ask one of the questions."""
    return may_ask_for_cuda(document) if not options else any(document.holds(name.rsplit(".", 1)[-1]) for name in _names(options))


GATE = Gate(
    names=_names,
    ways=lambda options: [(_questions(options), STOPS)],
    may_find=_may_ask,
)


def find(evidence: Evidence, options: Mapping[str, Any]) -> Iterator[Match]:
    """Yield each question whose answer on a Mac ends the program, at the question. Option: `questions`, others than those for CUDA."""
    questions = _questions(options)
    for choice in evidence.facts.choices:
        node = choice.node
        if choice.source not in questions or isinstance(node, ast.IfExp):
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
