"""Collate functions of the program that pad each batch to its longest sample."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeGuard

from mpslint.facts.values import Bound, Frame, Function, Instance, Known, Value, alternatives_of
from mpslint.program.walk import walk
from mpslint.rule.check import Gate
from mpslint.rule.judge import Match
from mpslint.settings.evidence import Evidence
from mpslint.settings.plan import TrainingPlan

SHORT = 256
"""A collate function that cuts below this makes few shapes."""
BY_HAND = "pad_sequence"
"""Pads tensors, and takes no multiple to pad to."""
PADS = ("tokenizer", "processor", "pad", "tok")
EVALUATES = re.compile(r"eval|valid|test|predict", re.IGNORECASE)
"""Names of functions that collate for something else than training."""
TO_LONGEST = (True, "longest")
MAKERS = frozenset("zeros ones full empty pad zeros_like full_like new_zeros new_ones new_full new_empty".split())
"""Functions and methods that make, or fill up to, a given shape."""
MEASURES = re.compile(r"\blen\(|\.size\(|\.shape\b|len(gth)?s?\b|\blen(gth)?s?_")
"""What a longest length is the maximum of."""

GATE = Gate(words=("pad_sequence", "padding", ".pad(", "max("), file_words=("DataLoader", "Trainer"))


def find(evidence: Evidence, options: Mapping[str, Any]) -> Iterator[Match]:
    """Yield the first call, in each function that collates for training, that pads to the longest sample."""
    for function, owner, plan, given in _collate_functions(evidence):
        padding = [node for node in walk(function.node) if isinstance(node, ast.Call) and _pads_to_longest(node, owner)]
        padding = padding or _padded_by_hand(function, given)
        if not padding or EVALUATES.search(function.name):
            continue
        node = min(padding, key=lambda call: call.lineno)
        place = next((keyword for keyword in node.keywords if keyword.arg == "padding"), node.func)
        is_written = isinstance(place, ast.keyword) and isinstance(place.value, ast.Constant)
        fact = next((call for call in evidence.facts.calls if call.node is node and is_written), None)
        shown = function.name if owner is None or owner.cls is None else owner.cls.node.name
        values: dict[str, str] = {"written": ast.unparse(node.func), "function": shown}
        yield Match(evidence.span_of(place), values, None, fact, plan, fact.context if fact else None, (), node)


def _collate_functions(evidence: Evidence) -> Iterator[tuple[Function, Instance | None, TrainingPlan | None, frozenset[str]]]:
    """Yield the functions that loaders and Trainers collate with, the object whose method each is, the run they do it for, and the
    names of the arguments that they are given beside the samples."""
    for matched in evidence.file_plans.matched:
        if matched.pattern.role not in ("loader", "trainer"):
            continue
        name = "collate_fn" if matched.pattern.role == "loader" else "data_collator"
        given = {**dict(zip(matched.pattern.table.positional, matched.call.arguments, strict=False)), **matched.call.keywords}
        argument = given.get(name)
        plan = next((plan for plan in evidence.plans if any(matched.call in calls for calls in plan.calls.values())), None)
        for value in alternatives_of(argument.value) if argument is not None else ():
            function = _function_of(value)
            if function is not None:
                yield function, value if isinstance(value, Instance) else None, plan, _given_beside(value)


def _given_beside(value: Value) -> frozenset[str]:
    """Return the names that `partial(collate, max_len=512)` and `lambda rows: collate(rows, max_len=512)` give a value."""
    if isinstance(value, Instance) and value.name == "functools.partial" and value.call is not None:
        return frozenset(value.call.keywords)
    if isinstance(value, Function) and isinstance(value.node, ast.Lambda) and isinstance(value.node.body, ast.Call):
        return frozenset(keyword.arg for keyword in value.node.body.keywords if keyword.arg is not None)
    return frozenset()


def _function_of(value: Value) -> Function | None:
    """Return the function that is called when a value is: behind `partial(collate, ...)` and `lambda rows: collate(rows)`, `collate`."""
    if isinstance(value, Bound):
        return value.function
    if isinstance(value, Instance) and value.name == "functools.partial" and value.call is not None and value.call.arguments:
        return _function_of(value.call.arguments[0].value)
    if isinstance(value, Function) and isinstance(value.node, ast.Lambda):
        called = value.node.body.func if isinstance(value.node.body, ast.Call) else None
        behind = _found(called.id, value.frame) if isinstance(called, ast.Name) else None
        return behind if isinstance(behind, Function) and behind is not value else value
    if isinstance(value, Instance) and value.cls is not None:
        method = value.cls.lookup("__call__")
        return method if isinstance(method, Function) else None
    return value if isinstance(value, Function) else None


def _found(name: str, frame: Frame | None) -> Value | None:
    """Return what a name means in a frame or those around it."""
    while frame is not None and name not in frame.slots:
        frame = frame.parent
    return frame.slots[name] if frame is not None else None


def _name(node: ast.Call) -> str:
    return node.func.attr if isinstance(node.func, ast.Attribute) else node.func.id if isinstance(node.func, ast.Name) else ""


def _pads_to_longest(node: ast.Call, owner: Instance | None) -> bool:
    keywords = {keyword.arg: keyword.value for keyword in node.keywords}
    if _name(node) == BY_HAND:
        return True
    if not _name(node).endswith(PADS) or None in keywords:
        return False
    if "pad_to_multiple_of" in keywords and _constant(keywords["pad_to_multiple_of"], owner) != (None,):
        return False
    length = _constant(keywords.get("max_length"), owner)
    if length and isinstance(length[0], int) and length[0] < SHORT:
        return False
    if "padding" not in keywords and _name(node) == "pad":
        return _pads_inputs(node, keywords)
    padding = _constant(keywords.get("padding"), owner)
    return bool(padding) and padding[0] in TO_LONGEST


def _pads_inputs(node: ast.Call, keywords: Mapping[str | None, ast.expr]) -> bool:
    """Return whether a `.pad(rows, return_tensors="pt")` is a tokenizer's, which pads to the longest unless told otherwise.

    Labels beside inputs of one length (spectrograms) make few shapes, and a feature extractor pads those.
    """
    is_of_tokenizer = isinstance(node.func, ast.Attribute) and ast.unparse(node.func.value).lower().endswith(PADS)
    return is_of_tokenizer and "return_tensors" in keywords and not any("label" in ast.unparse(part).lower() for part in node.args)


def _padded_by_hand(function: Function, given: frozenset[str]) -> list[ast.Call]:
    """Return each `max(...)` of lengths up to which a function fills: `[pad] * (longest - len(row))`, `torch.zeros(n, longest)`.

    A length that the function is `given` is not the longest: `if max_len is None: max_len = max(lengths)` doesn't run then.
    """
    nodes = list(walk(function.node))
    named = {node.targets[0].id: node.value for node in nodes if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name)}
    longest = {name: value for name, value in named.items() if _is_longest(value) and name not in given and _is_given_once(name, nodes)}
    longest.update((name, value) for name, value in _running_longest(nodes, longest) if name not in given)
    filled = [part for node in nodes for part in _fills(node)]
    names = {part.id for part in filled if isinstance(part, ast.Name)}
    return [value for name, value in longest.items() if name in names] + [part for part in filled if _is_longest(part)]


def _is_longest(node: ast.expr) -> TypeGuard[ast.Call]:
    """Return whether an expression is the maximum of some lengths."""
    if not isinstance(node, ast.Call) or _name(node) != "max":
        return False
    measured = node.args if isinstance(node.func, ast.Name) else [node.func]
    is_bounded = any(isinstance(argument, ast.Constant) for argument in node.args)
    return not is_bounded and any(MEASURES.search(ast.unparse(argument)) for argument in measured)


def _running_longest(nodes: Sequence[ast.AST], longest: Mapping[str, ast.Call]) -> Iterator[tuple[str, ast.Call]]:
    """Yield each name that begins as a number and grows with the lengths, `longest = max(longest, len(row))`, and that maximum.

    A name that is given anything else, such as the next multiple, is none.
    """
    given: dict[str, list[ast.expr | None]] = {}
    for node in nodes:
        if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
            given.setdefault(node.targets[0].id, []).append(node.value)
        elif isinstance(node, (ast.AugAssign, ast.AnnAssign)) and isinstance(node.target, ast.Name):
            given.setdefault(node.target.id, []).append(node.value if isinstance(node, ast.AnnAssign) else None)
    for name, (first, *others) in given.items():
        if not isinstance(first, ast.Constant) or len(others) != 1:
            continue
        grown = others[0]
        if not isinstance(grown, ast.Call) or _name(grown) != "max" or not isinstance(grown.func, ast.Name) or len(grown.args) != 2:
            continue
        lengths = [one for one in grown.args if not (isinstance(one, ast.Name) and one.id == name)]
        is_length = len(lengths) == 1 and (MEASURES.search(ast.unparse(lengths[0])) or ast.unparse(lengths[0]) in longest)
        if is_length and not isinstance(lengths[0], ast.Constant):
            yield name, grown


def _is_given_once(name: str, nodes: Sequence[ast.AST]) -> bool:
    """Return whether a name keeps what it was given first: it is not rounded up later."""
    return sum(isinstance(node, ast.Name) and node.id == name and not isinstance(node.ctx, ast.Load) for node in nodes) == 1


def _fills(node: ast.AST) -> Iterator[ast.expr]:
    """Yield the lengths up to which an expression fills something."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Sub):
        yield node.left
    elif isinstance(node, ast.Call) and _name(node) in MAKERS:
        for argument in node.args:
            yield from argument.elts if isinstance(argument, (ast.Tuple, ast.List)) else (argument,)


def _constant(node: ast.expr | None, owner: Instance | None) -> tuple[Any, ...]:
    """Return the constant that an expression is, or that an attribute of the collating object holds; () when it is not known."""
    if isinstance(node, ast.Constant):
        return (node.value,)
    if owner is None or owner.cls is None or not isinstance(node, ast.Attribute) or not isinstance(node.value, ast.Name):
        return ()
    value = owner.slots.get(node.attr) or owner.cls.lookup(node.attr)
    return (value.value,) if isinstance(value, Known) else ()
