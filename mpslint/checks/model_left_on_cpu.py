"""A loaded model that stays on the CPU while its inputs move: the mirror of `left_on_cpu`.

On a Mac that selects the CPU such a program runs; as soon as its device is the GPU, it raises where the model meets the inputs.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from mpslint.checks._models import computed_from, plain_text
from mpslint.core.knowledge import platform_data
from mpslint.program.walk import walk
from mpslint.rule.check import Gate
from mpslint.rule.judge import Match
from mpslint.rule.loops import called_name
from mpslint.settings.evidence import Evidence

LOADS, NEW = "from_pretrained", "nn."
IS_OF_TORCH = re.compile(r"(?:^|\.)nn\.([A-Z]\w*)$")
"""A class of torch.nn, and its name."""
IS_NO_MODEL = re.compile(r"Token|Process|Extractor|Config|Pipeline|Scheduler|Peft")
"""Classes of which `from_pretrained` gives no module of its own: a tokenizer, a pipeline, or an adapter around a model placed before."""
RUNS = ("generate", "forward")
"""Methods that run a model, apart from its call."""
GIVES_ITSELF = ("eval", "train", "float", "half", "bfloat16", "requires_grad_", "apply")
"""Methods whose result is the model, which can be moved or named again."""

GATE = Gate(
    words=("cuda",), may_find=lambda document, options, target: ".to(" in document.text and (LOADS in document.text or NEW in document.text)
)


def find(evidence: Evidence, options: Mapping[str, Any]) -> Iterator[Match]:
    """Yield each loading of a model that its scope runs on something that it moves, and never moves itself."""
    whole = evidence.whole or evidence
    if "set_default_" in whole.text:
        return
    for node in (one for word in (LOADS, NEW) for one in whole.nodes_beside(word)):
        if not isinstance(node, ast.Assign) or not isinstance(node.targets[0], ast.Name) or not _is_left(node.value):
            continue
        if _only_runs(node.targets[0].id, list(_scope_of(node, whole)), whole):
            yield Match(whole.span_of(node), {"written": ast.unparse(node)}, node=node)


def _is_left(value: ast.expr) -> bool:
    """Return whether an expression loads or makes a model and leaves it where it is, with no device asked for."""
    if _holds_weights(value) and isinstance(value, ast.Call):
        return not any(keyword.arg is None or "device" in keyword.arg for keyword in value.keywords)
    if not isinstance(value, ast.Call) or called_name(value) != LOADS or not isinstance(value.func, ast.Attribute) or len(value.args) > 1:
        return False
    named = [keyword.arg for keyword in value.keywords]
    return not IS_NO_MODEL.search(plain_text(value.func.value)) and not any(
        name is None or "device" in name or "quant" in name or name.startswith("load_in") for name in named
    )


def _holds_weights(value: ast.expr) -> bool:
    """Return whether an expression makes a module of torch that computes on one device only: a Linear, but no Softmax."""
    made = IS_OF_TORCH.search(plain_text(value.func)) if isinstance(value, ast.Call) else None
    layers = platform_data("layers")
    if made is None or not isinstance(value, ast.Call):
        return False
    is_of_others = made[1] in layers["contain"] and not all(_is_without_weights(argument) for argument in value.args)
    return made[1] in layers["hold_weights"] or is_of_others


def _is_without_weights(value: ast.expr) -> bool:
    """Return whether an expression certainly makes a module of torch that computes on any device."""
    return isinstance(value, ast.Call) and IS_OF_TORCH.search(plain_text(value.func)) is not None and not _holds_weights(value)


def _scope_of(node: ast.AST, evidence: Evidence) -> Iterable[ast.AST]:
    """Return the nodes of the function around a node, or of the whole run."""
    above = evidence.above(node, (ast.FunctionDef, ast.AsyncFunctionDef))
    for statement in above.body if isinstance(above, (ast.FunctionDef, ast.AsyncFunctionDef)) else evidence.parsed.body:
        yield from walk(statement)


def _moved(nodes: Sequence[ast.AST]) -> set[str]:
    """Return the names of what is moved, and of what is computed from it: `inputs = inputs.to(device)`, or `inputs.to(device)` alone."""
    found: set[str] = set()
    for node in nodes:
        if isinstance(node, ast.Assign) and _has_move(node.value) and LOADS not in ast.unparse(node.value):
            found |= {inner.id for target in node.targets for inner in walk(target) if isinstance(inner, ast.Name)}
        elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call) and isinstance(node.value.func, ast.Attribute):
            found |= {plain_text(node.value.func.value)} if _has_move(node.value) else set()
    return computed_from(found - {""}, nodes)


def _has_move(node: ast.AST) -> bool:
    return any(isinstance(one, ast.Call) and called_name(one) == "to" and len(one.args) == 1 and not one.keywords for one in walk(node))


def _meets(call: ast.Call, moved: set[str]) -> bool:
    """Return whether a call is given something that was moved, by name or in its own arguments."""
    given = [*call.args, *(keyword.value for keyword in call.keywords)]
    return any(_has_move(one) or any(isinstance(inner, ast.Name) and inner.id in moved for inner in walk(one)) for one in given)


def _only_runs(name: str, nodes: Sequence[ast.AST], evidence: Evidence) -> bool:
    """Return whether a model is run on what was moved, and nothing gets it that could move it: no `.to()`, no argument, no second name."""
    moved = _moved(nodes)
    is_run = False
    for node in nodes:
        if not isinstance(node, ast.Name) or node.id != name or not isinstance(node.ctx, ast.Load):
            continue
        above = evidence.parents.get(node)
        call = evidence.parents.get(above) if isinstance(above, ast.Attribute) else above
        if isinstance(above, ast.Attribute):
            is_statement = isinstance(evidence.parents.get(call or above), ast.Expr)
            if above.attr in ("to", "cuda") or (above.attr in GIVES_ITSELF and not is_statement):
                return False
            is_run = is_run or (above.attr in RUNS and isinstance(call, ast.Call) and _meets(call, moved))
        elif isinstance(above, ast.Call) and above.func is node:
            is_run = is_run or _meets(above, moved)
        elif not (isinstance(above, ast.Expr) or (isinstance(above, ast.Call) and called_name(above) == "print")):
            return False
    return is_run
