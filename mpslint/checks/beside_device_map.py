"""A model that a device_map puts on the Mac's GPU, beside a device of the program's own choice, which is the CPU.

accelerate's `dispatch_model` moves inputs only where a model lies on several devices; one that fits the GPU whole gets no such hooks
(accelerate/big_modeling.py, dispatch_model: `if len(devices) > 1 or "disk" in devices or force_hooks`).
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from typing import Any

from mpslint.checks._models import computed_from, plain_text
from mpslint.program.platform import load_platform
from mpslint.program.walk import walk
from mpslint.rule.judge import Match
from mpslint.rule.loops import called_name
from mpslint.settings.evidence import Evidence

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
MOVES = ("to", "cuda", "cpu")


def find(evidence: Evidence, options: Mapping[str, Any]) -> Iterator[Match]:
    """Yield each load of a model with a device map, whose program moves it nowhere else; with option `meets`, each of its runs on inputs
    that went to a device of the program's own choice.

    Options: `maps`, the device maps that put a model on the GPU; `ways`, the methods that run a model (its call is '').
    """
    whole = evidence.whole or evidence
    own = _own_devices(whole)
    for call in (node for node in whole.nodes_beside("device_map") if isinstance(node, ast.Call) and _is_mapped(node, options)):
        kept = whole.above(call, (ast.stmt,))
        if not isinstance(kept, ast.Assign) or any(called_name(one) in MOVES for one in walk(kept.value) if isinstance(one, ast.Call)):
            continue
        name = plain_text(kept.targets[0])
        calls = [node for node in whole.nodes_beside(name.rpartition(".")[2]) if isinstance(node, ast.Call)] if name else []
        if not calls or any(plain_text(one.func) in [f"{name}.{move}" for move in MOVES] for one in calls):
            continue
        if not options.get("meets"):
            yield Match(whole.span_of(call), {"written": whole.text_of(call.func)}, node=call)
            continue
        for run in (one for one in calls if plain_text(one.func) in [f"{name}.{way}".rstrip(".") for way in options["ways"]]):
            if _is_given_moved(run, own, whole):
                yield Match(whole.span_of(run), {"written": whole.text_of(run.func)}, node=run)


def _own_devices(evidence: Evidence) -> frozenset[str]:
    """Return the names that the program gives to its choices between CUDA and the CPU, without what they are attributes of."""
    asked = (one.node for one in evidence.facts.choices if one.source in load_platform().cuda_questions)
    kept = (evidence.above(node, (ast.Assign,)) for node in asked if isinstance(node, ast.IfExp))
    texts = (plain_text(target) for one in kept if isinstance(one, ast.Assign) for target in one.targets)
    return frozenset(text.rpartition(".")[2] for text in texts if text)


def _is_mapped(call: ast.Call, options: Mapping[str, Any]) -> bool:
    """Return whether a call loads a model with one of some device maps. What is asked to meet has weights that stay as they are."""
    said = {keyword.arg: keyword.value for keyword in call.keywords}
    given = said.get("device_map")
    is_changed = any(name is None or "quant" in name or name.startswith("load_in") for name in said)
    return (
        called_name(call) == "from_pretrained"
        and isinstance(given, ast.Constant)
        and given.value in options["maps"]
        and not (is_changed and options.get("meets"))
    )


def _is_given_moved(run: ast.Call, own: frozenset[str], evidence: Evidence) -> bool:
    """Return whether a run of a model is given something that its function moved to a device of the program's own."""
    function = evidence.above(run, FUNCTIONS)
    body = function.body if isinstance(function, FUNCTIONS) else evidence.parsed.body
    nodes = [node for statement in body for node in walk(statement)]
    kept = (node for node in nodes if isinstance(node, ast.Assign) and _is_moved(node.value, own))
    moved = computed_from({plain_text(target) for node in kept for target in node.targets} - {""}, nodes)
    given = [*run.args, *(keyword.value for keyword in run.keywords)]
    return any(_is_moved(one, own) or any(plain_text(inner) in moved for inner in walk(one)) for one in given)


def _is_moved(value: ast.expr, own: frozenset[str]) -> bool:
    """Return whether an expression contains a move to one of some devices: `x.to(device)`, not `x.to(model.device)`."""
    moves = (one for one in walk(value) if isinstance(one, ast.Call) and called_name(one) == "to" and one.args)
    texts = [plain_text(one.args[0]) for one in moves]
    return any(text.rpartition(".")[2] in own and text.rpartition(".")[0] in ("", "self", "args", "config") for text in texts)
