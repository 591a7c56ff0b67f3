"""Batches that stay on the CPU when the model moves: a move whose result nothing keeps, or a training loop that moves the model alone.

On a Mac that selects the CPU such a program trains; as soon as its device is the GPU, it raises where the model meets the batch.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from typing import Any, TypeGuard

from mpslint.checks._models import model_texts, plain_text
from mpslint.program.walk import walk
from mpslint.rule.check import Gate
from mpslint.rule.judge import Match
from mpslint.rule.loops import called_name
from mpslint.settings.evidence import Evidence

PLACES_DATA = re.compile(
    r"[(,]\s*device\s*=(?!=)|set_default_(?:device|tensor_type)|\bto_device\b|\bto_gpu\b|\.type\(|cuda\.\w*Tensor"
    r"|prepare\(|fabric|ignite|fastai|fastNLP|mmcv|mmengine|pyg_to|send_to|recursive_to|move_\w*to|\w*_to_(?:device|cuda|gpu|torch)\b"
)
"""How a program puts data on a device, apart from `.to(device)` and `.cuda()`."""
LOADS = re.compile(r"(?:^|_)(?:loader|dataloader|batches|iterator|iter|dl)\d*$|loader$", re.IGNORECASE)
"""A name that gives batches."""

GATE = Gate(words=("cuda",), may_find=lambda document, options, target: ".to(" in document.text)


def find(evidence: Evidence, options: Mapping[str, Any]) -> Iterator[Match]:
    """Yield each move of a batch that nothing keeps, and the first move of a model whose batches no code of the run moves."""
    whole = evidence.whole or evidence
    yield from _unkept(whole)
    yield from _alone(whole)


def _unkept(evidence: Evidence) -> Iterator[Match]:
    """Yield `x.to(device)` as a statement, of what a loop over batches unpacks: tensors are copied, only modules move in place."""
    for node in evidence.nodes_beside(".to("):
        if not isinstance(node, ast.Expr) or not _is_move(node.value):
            continue
        owner = _owner(node.value)
        name = owner.value if isinstance(owner, ast.Subscript) else owner
        if isinstance(name, ast.Name) and name.id not in model_texts(evidence):
            loop = _loop_above(node, evidence)
            if loop is not None and name.id in _tensors_of(loop, isinstance(owner, ast.Subscript)):
                yield Match(evidence.span_of(node), {"written": ast.unparse(node)}, node=node)


def _alone(evidence: Evidence) -> Iterator[Match]:
    """Yield the first move of a model, in a run that differentiates batches of a loader and moves nothing but models."""
    text = evidence.text
    if ".backward(" not in text or ".cuda(" in text:
        return
    moves = [node for node in evidence.nodes_beside(".to(") if _is_move(node)]
    if not moves or PLACES_DATA.search(text):
        return
    models = model_texts(evidence)
    if not all(plain_text(_owner(move)) in models or _is_new_model(_owner(move)) for move in moves):
        return
    if any(isinstance(node, ast.For) and gives_batches(node) for node in evidence.nodes_beside("for")):
        yield Match(evidence.span_of(moves[0]), {"written": ast.unparse(moves[0])}, node=moves[0])


def _is_new_model(node: ast.expr) -> bool:
    """Return whether an expression makes a model: `Net(...)`, `AutoModel.from_pretrained(...)`."""
    made = plain_text(node.func).rpartition(".")[2] if isinstance(node, ast.Call) else ""
    return made == "from_pretrained" or (made[:1].isupper() and not made.isupper() and "Tensor" not in made)


def _is_move(node: ast.AST) -> TypeGuard[ast.Call]:
    """Return whether an expression is `x.to(device)`, with nothing else asked for."""
    return isinstance(node, ast.Call) and called_name(node) == "to" and isinstance(node.func, ast.Attribute) and len(node.args) == 1


def _owner(move: ast.Call) -> ast.expr:
    return move.func.value if isinstance(move.func, ast.Attribute) else move.func


def _loop_above(node: ast.AST, evidence: Evidence) -> ast.For | None:
    """Return the innermost loop over batches around a node."""
    above = evidence.parents.get(node)
    while above is not None and not isinstance(above, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        if isinstance(above, ast.For) and gives_batches(above):
            return above
        above = evidence.parents.get(above)
    return None


def gives_batches(loop: ast.For) -> bool:
    """Return whether a loop goes over a loader, counted and shown or not: `for i, (x, y) in enumerate(tqdm(train_loader))`."""
    node = loop.iter
    while isinstance(node, ast.Call) and node.args:
        node = node.args[0]
    return LOADS.search(plain_text(node)) is not None


def _tensors_of(loop: ast.For, is_item: bool) -> set[str]:
    """Return the names of tensors in a loop over batches: what a batch is unpacked into. With `is_item`, those of whole batches."""
    target = loop.target
    if isinstance(loop.iter, ast.Call) and called_name(loop.iter) == "enumerate" and isinstance(target, ast.Tuple) and target.elts:
        target = target.elts[-1]
    if isinstance(target, ast.Name):
        if is_item:
            return {target.id}
        taken = (node for statement in loop.body for node in walk(statement) if isinstance(node, ast.Assign))
        return {name for node in taken for one in node.targets if _is_part(node.value, one, target.id) for name in _names(one)}
    return set() if is_item else _names(target)


def _is_part(value: ast.expr, target: ast.expr, batch: str) -> bool:
    """Return whether a target is given one of a batch's parts, or is what the batch is unpacked into."""
    if isinstance(value, ast.Subscript):
        return plain_text(value.value) == batch
    return isinstance(target, ast.Tuple) and plain_text(value) == batch


def _names(node: ast.expr) -> set[str]:
    return {inner.id for inner in ast.walk(node) if isinstance(inner, ast.Name)}
