"""Modules that stay on the CPU of a program's own choice, and run on what goes to the device that an Accelerator has chosen."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeGuard

from mpslint.checks._models import plain_text
from mpslint.checks._named_devices import names_device
from mpslint.checks._questions import may_ask_for_cuda
from mpslint.core.finding import Related
from mpslint.program.platform import load_platform
from mpslint.program.walk import walk
from mpslint.rule.check import Gate
from mpslint.rule.judge import Match
from mpslint.rule.loops import called_name
from mpslint.settings.evidence import Evidence

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)

GATE = Gate(words=("cuda",), may_find=lambda document, options, target: may_ask_for_cuda(document) and ".device" in document.text)


def find(evidence: Evidence, options: Mapping[str, Any]) -> Iterator[Match]:
    """Yield the first run of a module on the wrong device, in a run with one choice between CUDA and the CPU.

    Options: `device`, what the text of the chosen device ends in; `prepare`, the method that takes a module over to it.
    """
    whole = evidence.whole or evidence
    chosen = re.compile(options["device"])
    asked = [one.node for one in whole.facts.choices if one.source in load_platform().cuda_questions]
    choices = [
        node for node in asked if isinstance(node, ast.IfExp) and any(names_device(part, "cpu") for part in (node.body, node.orelse))
    ]
    kept = {plain_text(target) for node in choices for target in _targets(node, whole)} - {""}
    if not whole.has_device_chooser or len(kept) != 1:
        return
    (own,) = kept
    moves = [node for node in whole.nodes_beside(".to(") if isinstance(node, ast.Call) and called_name(node) == "to"]
    left = {_owner(node): node for node in moves if _device_of(node) == own and _is_kept(node, whole)}
    for function in {id(one): one for node in moves if (one := whole.above(node, FUNCTIONS)) is not None}.values():
        body = list(walk(function))
        names = {plain_text(target) for one in body if _is_device(one, chosen) for target in one.targets} - {""}
        there = [one for one in moves if _device_of(one) in names or chosen.search(_device_of(one))]
        within = {id(one) for one in body}
        tensors = {plain_text(target) for one in there if id(one) in within for target in _targets(one, whole)}
        taken = {_owner(one) for one in there} | _taken_over(whole, options["prepare"])
        for call in (one for one in body if isinstance(one, ast.Call)):
            module = next((part for part in plain_text(call.func).split(".") if part in left and part not in taken), "")
            if module and any(plain_text(argument) in tensors for argument in call.args if plain_text(argument)):
                related = (Related(whole.span_of(left[module]), "it goes to the CPU here"),)
                yield Match(whole.span_of(call), {"written": ast.unparse(call.func)}, related=related, node=call)
                return


def _targets(node: ast.AST, evidence: Evidence) -> Sequence[ast.expr]:
    """Return what the statement around an expression assigns it to."""
    above = evidence.above(node, (ast.stmt,))
    return above.targets if isinstance(above, ast.Assign) else ()


def _device_of(move: ast.Call) -> str:
    """Return the device of a move as it is written: `.to(device)`, `.to(device=device)`."""
    given = [*move.args[:1], *(one.value for one in move.keywords if one.arg == "device")]
    return plain_text(given[0]) if given else ""


def _owner(move: ast.Call) -> str:
    """Return the last name of what a move moves: `vae` of `self.vae.to(device)`."""
    return plain_text(move.func.value).rpartition(".")[2] if isinstance(move.func, ast.Attribute) else ""


def _is_kept(move: ast.Call, evidence: Evidence) -> bool:
    """Return whether an attribute is moved in place, or assigned to itself: `self.vae = self.vae.to(device)`."""
    owner = plain_text(move.func.value) if isinstance(move.func, ast.Attribute) else ""
    return "." in owner and owner in [plain_text(target) for target in _targets(move, evidence)]


def _is_device(node: ast.AST, chosen: re.Pattern[str]) -> TypeGuard[ast.Assign]:
    return isinstance(node, ast.Assign) and chosen.search(plain_text(node.value)) is not None


def _taken_over(evidence: Evidence, method: str) -> set[str]:
    """Return the last names of what is given to the method that takes modules over."""
    calls = [node for node in evidence.nodes_beside(f".{method}(") if isinstance(node, ast.Call) and called_name(node) == method]
    return {plain_text(argument).rpartition(".")[2] for call in calls for argument in call.args}
