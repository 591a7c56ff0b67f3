"""Inference loops that collect a model's outputs as they are: with their graphs, or on the device."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from typing import Any

from mpslint.checks._gradients import LEAVES_DEVICE, LEAVES_GRAPH, last_value, names_in, switches_off_for_good, touches
from mpslint.checks._models import KEEPS_GRAPH, flows_into_backward, is_frozen, output_of, plain_text
from mpslint.checks.evaluation_gradients import WANTS_GRADIENTS
from mpslint.facts.facts import Accumulation
from mpslint.facts.values import Call, Instance, Items, Loop, Value
from mpslint.program.walk import walk
from mpslint.rule.autograd import has_gradients
from mpslint.rule.judge import Match
from mpslint.rule.loops import called_name, inside
from mpslint.settings.evidence import Evidence

MODELS = re.compile(
    r"(transformers\.(?!.*(Tokenizer|Processor|Extractor|pipeline)).*\.from_pretrained|torchvision\.models\.\w+|timm\.create_model)"
    r"\.(__call__|get_\w+_features)"
)
"""Calls of models by qualified name."""

TRAINING = frozenset({"forward", "__call__", "training_step", "compute_loss", "step", "closure"})
"""Functions whose results something else differentiates."""
IS_STEP = re.compile(r"^forward$|_step$|^compute_loss$")
"""The name of a function that something else calls for every batch, and differentiates or not."""
IS_EVALUATION = re.compile(r"eval|valid|test|predict|infer", re.IGNORECASE)
"""The name of a function that does not train."""
MOST_PARTS = 8
"""Items of a list or tuple that are looked at."""


def find(evidence: Evidence, options: Mapping[str, Any]) -> Iterator[Match]:
    """Yield what an inference loop keeps of a model's outputs: with graphs (`graph: true`), or on the device without."""
    wants_graph = bool(options.get("graph"))
    if wants_graph:
        yield from _of_own_models(evidence)
    leaves = LEAVES_GRAPH if wants_graph else LEAVES_DEVICE | {"loss"}
    for kept in evidence.facts.accumulations:
        loop = kept.context.loops[-1] if kept.context.loops else None
        forward = _forward_of(kept.value)
        if loop is None or forward is None or loop not in forward.context.loops or _is_released(kept, loop, leaves):
            continue
        if any(not isinstance(outer, ast.stmt) or _takes_gradients(outer, evidence) for outer in kept.context.loops):
            continue
        if _is_of_one_step(kept):
            continue
        if not wants_graph and _is_joined_on_device(kept, evidence):
            continue
        with_graph = has_gradients(forward.context) and not switches_off_for_good(evidence) and not is_frozen(evidence)
        if with_graph is wants_graph:
            span = evidence.span_of(kept.value_node)
            written = evidence.document.text[span.start : span.end]
            yield Match(span, {"written": written, "target": kept.target}, context=kept.context, node=kept.node)


def _of_own_models(evidence: Evidence) -> Iterator[Match]:
    """Yield what a loop keeps of the outputs of the program's own models, graph and all, where nothing is differentiated afterwards."""
    for kept in evidence.facts.accumulations:
        loop = kept.context.loops[-1] if kept.context.loops else None
        target = plain_text(kept.target_node)
        if not isinstance(loop, (ast.For, ast.AsyncFor)) or "." in target or not target or not has_gradients(kept.context):
            continue
        if any(not isinstance(outer, ast.stmt) or _takes_gradients(outer, evidence) for outer in kept.context.loops):
            continue
        if not _is_reached(kept):
            continue
        if switches_off_for_good(evidence) or is_frozen(evidence):  # looks at the whole program, so it is asked last
            return
        if not output_of(kept.value_node, loop, evidence) or _is_released(kept, loop, LEAVES_GRAPH):
            continue
        function = kept.context.functions[-1] if kept.context.functions else None
        scope = function.body if isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef)) else evidence.parsed.body
        if not flows_into_backward(target, scope, evidence):
            span = evidence.span_of(kept.value_node)
            written = evidence.document.text[span.start : span.end]
            yield Match(span, {"written": written, "target": kept.target}, context=kept.context, node=kept.node)


def _is_reached(kept: Accumulation) -> bool:
    """Return whether a place is run by the program itself, or by a function that is for evaluation by its name."""
    names = [getattr(function, "name", "") for function in kept.context.functions]
    return not any(name in TRAINING for name in names) and (kept.context.called or any(IS_EVALUATION.search(name) for name in names))


def _takes_gradients(loop: ast.stmt, evidence: Evidence) -> bool:
    source = evidence.text_of(loop)
    return any(word in source for word in WANTS_GRADIENTS)


def _is_of_one_step(kept: Accumulation) -> bool:
    """Return whether what is kept belongs to one step: in a function that a trainer calls for a batch, or in a loop over the parts of a
    batch (`for part in range(parts)`) inside the loop that makes the list.
    """
    if any(IS_STEP.search(getattr(function, "name", "")) for function in kept.context.functions):
        return True
    *outer, loop = kept.context.loops
    if not (isinstance(loop, ast.For) and called_name(loop.iter) == "range" and len(getattr(loop.iter, "args", ())) == 1):
        return False
    return any(isinstance(node, ast.Assign) and kept.target in map(plain_text, node.targets) for around in outer for node in inside(around))


def _is_released(kept: Accumulation, loop: Loop, words: frozenset[str]) -> bool:
    """Return whether what is kept, or a name in it one step back, goes through a call after which nothing is held."""
    before = [value for name in names_in(kept.value_node) if (value := last_value(loop, name, kept.value_node)) is not None]
    return any(touches(expression, words) for expression in (kept.value_node, *before))


def _is_joined_on_device(kept: Accumulation, evidence: Evidence) -> bool:
    """Return whether the function hands on one tensor made of what was kept: then the device is where it is wanted."""
    function = kept.context.functions[-1] if kept.context.functions else None
    returns = [node.value for node in walk(function) if isinstance(node, ast.Return) and node.value] if function is not None else []
    return any(kept.target in names_in(value) and not touches(value, LEAVES_DEVICE) for value in returns)


def _forward_of(value: Value, depth: int = 6) -> Call | None:
    """Return the call of a model that a value is an output of, or is computed from by operations that keep the graph."""
    if depth <= 0:
        return None
    if isinstance(value, Items):
        return next((found for part in value.values()[:MOST_PARTS] if (found := _forward_of(part, depth - 1)) is not None), None)
    if not isinstance(value, Instance):
        return None
    call = value.call
    if call is not None and MODELS.fullmatch(call.name):
        return call
    if call is None:
        return _forward_of(value.owner, depth - 1) if value.owner is not None else None
    if (call.method or call.name.rsplit(".", 1)[-1]) not in KEEPS_GRAPH:
        return None
    sources = [*([value.owner] if value.owner is not None else []), *(argument.value for argument in call.arguments)]
    return next((found for source in sources[:MOST_PARTS] if (found := _forward_of(source, depth - 1)) is not None), None)
