"""A loaded model that stays on the CPU while its inputs move: the mirror of `left_on_cpu`.

On a Mac that selects the CPU such a program runs; as soon as its device is the GPU, it raises where the model meets the inputs.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from mpslint.checks._models import plain_text
from mpslint.program.walk import walk
from mpslint.rule.check import Gate
from mpslint.rule.judge import Match
from mpslint.rule.loops import called_name
from mpslint.settings.evidence import Evidence

LOADS = "from_pretrained"
IS_NO_MODEL = re.compile(r"Token|Process|Extractor|Config|Pipeline|Scheduler|Peft")
"""Classes of which `from_pretrained` gives no module of its own: a tokenizer, a pipeline, or an adapter around a model placed before."""
RUNS = ("generate", "forward")
"""Methods that run a model, apart from its call."""
GIVES_ITSELF = ("eval", "train", "float", "half", "bfloat16", "requires_grad_", "apply")
"""Methods whose result is the model, which can be moved or named again."""

GATE = Gate(words=("cuda",), may_find=lambda document, options, target: LOADS in document.text and ".to(" in document.text)


def find(evidence: Evidence, options: Mapping[str, Any]) -> Iterator[Match]:
    """Yield each loading of a model that its scope runs and never moves, in a run that moves something else."""
    whole = evidence.whole or evidence
    if "set_default_" in whole.text:
        return
    for node in whole.nodes_beside(LOADS):
        if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name) and _is_left(node.value):
            nodes = list(_scope_of(node, whole))
            if _moves_inputs(nodes) and _only_runs(node.targets[0].id, nodes, whole):
                yield Match(whole.span_of(node), {"written": ast.unparse(node)}, node=node)


def _is_left(value: ast.expr) -> bool:
    """Return whether an expression loads a model and leaves it where it is: `AutoModel.from_pretrained(...)`, with no device asked for."""
    if not isinstance(value, ast.Call) or called_name(value) != LOADS or not isinstance(value.func, ast.Attribute) or len(value.args) > 1:
        return False
    named = [keyword.arg for keyword in value.keywords]
    return not IS_NO_MODEL.search(plain_text(value.func.value)) and not any(
        name is None or "device" in name or "quant" in name or name.startswith("load_in") for name in named
    )


def _scope_of(node: ast.AST, evidence: Evidence) -> Iterable[ast.AST]:
    """Return the nodes of the function around a node, or of the whole run."""
    above = evidence.parents.get(node)
    while above is not None and not isinstance(above, (ast.FunctionDef, ast.AsyncFunctionDef)):
        above = evidence.parents.get(above)
    for statement in evidence.parsed.body if above is None else above.body:
        yield from walk(statement)


def _moves_inputs(nodes: Iterable[ast.AST]) -> bool:
    return any(isinstance(node, ast.Call) and called_name(node) == "to" and len(node.args) == 1 and not node.keywords for node in nodes)


def _only_runs(name: str, nodes: Iterable[ast.AST], evidence: Evidence) -> bool:
    """Return whether a model is run, and nothing else gets it that could move it: no `.to()`, no argument, no second name."""
    is_run = False
    for node in nodes:
        if not isinstance(node, ast.Name) or node.id != name or not isinstance(node.ctx, ast.Load):
            continue
        above = evidence.parents.get(node)
        if isinstance(above, ast.Attribute):
            is_statement = isinstance(evidence.parents.get(evidence.parents.get(above) or above), ast.Expr)
            if above.attr in ("to", "cuda") or (above.attr in GIVES_ITSELF and not is_statement):
                return False
            is_run = is_run or above.attr in RUNS
        elif isinstance(above, ast.Call) and above.func is node:
            is_run = True
        elif not (isinstance(above, ast.Expr) or (isinstance(above, ast.Call) and called_name(above) == "print")):
            return False
    return is_run
