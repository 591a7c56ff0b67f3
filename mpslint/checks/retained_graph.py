"""`total += loss` and `losses.append(loss)` in a loop that calls `loss.backward()`: the tensor is kept, and its graph with it."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from typing import Any

from mpslint.checks._gradients import LEAVES_GRAPH, last_value, names_in, touches
from mpslint.facts.facts import Accumulation
from mpslint.facts.values import Known, Loop
from mpslint.program.walk import walk
from mpslint.rule.autograd import has_gradients
from mpslint.rule.judge import Match
from mpslint.rule.loops import BACKWARD, called_name, inside
from mpslint.settings.evidence import Evidence


def find(evidence: Evidence, options: Mapping[str, Any]) -> Iterator[Match]:
    """Yield the expressions that keep a tensor whose gradient was taken in the same loop."""
    differentiated: dict[int, set[str]] = {}
    for kept in evidence.facts.accumulations:
        loop = kept.context.loops[-1] if kept.context.loops else None
        if not isinstance(loop, ast.stmt) or isinstance(kept.value, Known) or not has_gradients(kept.context):
            continue
        source = evidence.text_of(loop)
        if not any(word in source for word in BACKWARD):
            continue
        if id(loop) not in differentiated:
            differentiated[id(loop)] = _differentiated(loop)
        if _keeps_graph(kept, loop, differentiated[id(loop)]) and not _is_trained_on(kept, evidence) and not _starts_anew(kept, loop):
            span = evidence.span_of(kept.value_node)
            written = evidence.document.text[span.start : span.end]
            plain = written if isinstance(kept.value_node, (ast.Name, ast.Attribute)) else f"({written})"
            values = {"written": written, "target": kept.target, "detached": f"{plain}.detach()"}
            yield Match(span, values, context=kept.context, node=kept.node)


def _keeps_graph(kept: Accumulation, loop: Loop, differentiated: set[str]) -> bool:
    """Return whether what is kept is a tensor that `backward()` is called on in the loop, graph and all."""
    names = names_in(kept.value_node) & differentiated
    if (
        not names
        or touches(kept.value_node, LEAVES_GRAPH)
        or any(isinstance(n, (ast.Call, ast.List, ast.Dict)) for n in walk(kept.value_node))
    ):
        return False
    values = [last_value(loop, name, kept.value_node) for name in names]
    return all(value is None or not touches(value, LEAVES_GRAPH) for value in values)


def _differentiated(loop: Loop) -> set[str]:
    """Return the names on which a loop calls `backward()`, or which it hands to something that does."""
    found: set[str] = set()
    for node in inside(loop):
        if called_name(node) in BACKWARD and isinstance(node, ast.Call):
            receiver = node.func.value if isinstance(node.func, ast.Attribute) else None
            scaled = [*receiver.args] if isinstance(receiver, ast.Call) else []
            given = [part for part in (*node.args, *scaled) if isinstance(part, ast.Name)]
            found |= {part.id for part in given}
            if not given and isinstance(receiver, ast.Name):
                found.add(receiver.id)
    return found


def _starts_anew(kept: Accumulation, loop: Loop) -> bool:
    """Return whether the loop also empties what keeps the tensors, as every few steps after it was logged."""
    name = kept.target.split("[")[0]
    for node in inside(loop):
        if isinstance(node, ast.Call) and called_name(node) == "clear" and ast.unparse(node.func) == f"{name}.clear":
            return True
        targets = node.targets if isinstance(node, (ast.Assign, ast.Delete)) else [node.target] if isinstance(node, ast.AnnAssign) else []
        each = [part for target in targets for part in (target.elts if isinstance(target, (ast.Tuple, ast.List)) else [target])]
        value = node.value if isinstance(node, (ast.Assign, ast.AnnAssign)) else None
        adds = value is not None and name in {ast.unparse(part) for part in walk(value)} and not touches(value, LEAVES_GRAPH)
        if not adds and name in map(ast.unparse, each):
            return True
    return False


def _is_trained_on(kept: Accumulation, evidence: Evidence) -> bool:
    """Return whether the sum itself is differentiated somewhere: then its graph is wanted."""
    name = kept.target.split("[")[0]
    for statement in evidence.parsed.body:
        for node in walk(statement):
            if isinstance(node, ast.Call) and called_name(node) in BACKWARD and name in ast.unparse(node):
                return True
    return False
