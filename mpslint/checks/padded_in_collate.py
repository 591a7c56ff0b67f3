"""Collate functions of the program that pad each batch to its longest sample.

A check because the length to which a function of the program fills is found in its arithmetic, which the tensor domain doesn't follow
yet.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any

from mpslint.checks._longest import filled_to_longest
from mpslint.checks._one_length import has_one_length
from mpslint.facts.values import Bound, Function, Instance, Known, Unknown, Value, alternatives_of
from mpslint.program.walk import called_name, walk
from mpslint.rule.judge import Match
from mpslint.rule.loaders import never_read
from mpslint.settings.evidence import Evidence
from mpslint.settings.plan import TrainingPlan

SHORT = 256
"""A collate function that cuts below this makes few shapes."""
BY_HAND = {"pad_sequence": (), "zip_longest": ("fillvalue",)}
"""Functions that pad, take no multiple to pad to, and the arguments without which they don't."""
PADS = ("tokenizer", "processor", "pad", "tok")
EVALUATES = re.compile(r"eval|valid|test|predict", re.IGNORECASE)
"""Names of functions that collate for something else than training."""
TOKENS, SECOND = 64, 16_000
"""Multiples that leave a few lengths: of tokens and frames, and of the samples of sound."""
RAW_SOUND = "input_values"
"""How models call the samples of a waveform."""
TO_LONGEST = (True, "longest")


def find(evidence: Evidence, options: Mapping[str, Any]) -> Iterator[Match]:
    """Yield the first call, in each function that collates for training, that pads to the longest sample.

    Option: `one_length`, methods that find all samples of one length.
    """
    even = {call.node for call in evidence.facts.calls if any(fnmatchcase(call.name, one) for one in options["one_length"])}
    for function, owner, plan, given, dataset in _collate_functions(evidence):
        padding = [call for call in _padding(function, owner, given) if call not in even]
        if not padding or EVALUATES.search(function.name) or has_one_length(dataset, _with_assigned(padding, function), len(padding)):
            continue
        node = min(padding, key=lambda call: call.lineno)
        place = next((keyword for keyword in node.keywords if keyword.arg == "padding"), node.func)
        is_written = isinstance(place, ast.keyword) and isinstance(place.value, ast.Constant)
        fact = next(iter(evidence.calls_at.get(node, ()) if is_written else ()), None)
        shown = function.name if owner is None or owner.cls is None else owner.cls.node.name
        multiple = str(SECOND if RAW_SOUND in ast.unparse(function.node) else TOKENS)
        values: dict[str, str] = {"written": ast.unparse(node.func), "function": shown, "multiple": multiple}
        yield Match(evidence.span_of(place), values, None, fact, plan, fact.context if fact else None, (), node)


Collating = tuple[Function, Instance | None, TrainingPlan | None, frozenset[str], Value]


def _collate_functions(evidence: Evidence) -> Iterator[Collating]:
    """Yield the functions that loaders and Trainers collate with, the object whose method each is, the run they do it for, the
    names of the arguments that they are given beside the samples, and the data set that the samples are of."""
    for matched in evidence.file_plans.matched:
        if matched.pattern.role not in ("loader", "trainer") or never_read(matched.call, evidence):
            continue
        name = "collate_fn" if matched.pattern.role == "loader" else "data_collator"
        given = {**dict(zip(matched.pattern.table.positional, matched.call.arguments, strict=False)), **matched.call.keywords}
        argument, data = given.get(name), given.get("dataset") or given.get("train_dataset")
        dataset = data.value if data is not None else Unknown()
        plan = evidence.plan_with.get(id(matched.call))
        for value in alternatives_of(argument.value) if argument is not None else ():
            function = _function_of(value)
            if function is not None:
                yield function, value if isinstance(value, Instance) else None, plan, _given_beside(value), dataset


def _with_assigned(padding: Sequence[ast.Call], function: Function) -> list[ast.AST]:
    """Return the calls that pad, each with what the names in it are given in the function."""
    names = {node.id for call in padding for node in walk(call) if isinstance(node, ast.Name)}
    assigned = [node for node in walk(function.node) if isinstance(node, ast.Assign)]
    said = [one.value for one in assigned if any(isinstance(target, ast.Name) and target.id in names for target in one.targets)]
    return [*padding, *said]


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
        behind = _called(value, called)
        return behind if isinstance(behind, Function) and behind is not value else value
    if isinstance(value, Instance) and value.cls is not None:
        method = value.cls.lookup("__call__")
        return method if isinstance(method, Function) else None
    return value if isinstance(value, Function) else None


def _called(function: Function, called: ast.expr | None) -> Value | None:
    """Return what is called by a name in a function; None for what is called otherwise."""
    frame = function.frame.having(called.id) if isinstance(called, ast.Name) else None
    return frame.slots[called.id] if frame is not None and isinstance(called, ast.Name) else None


def _pads_to_longest(node: ast.Call, owner: Instance | None) -> bool:
    keywords = {keyword.arg: keyword.value for keyword in node.keywords}
    if called_name(node) in BY_HAND:
        return keywords.keys() >= set(BY_HAND[called_name(node)])
    if not called_name(node).endswith(PADS) or None in keywords:
        return False
    if "pad_to_multiple_of" in keywords and _constant(keywords["pad_to_multiple_of"], owner) != (None,):
        return False
    length = _constant(keywords.get("max_length"), owner)
    if length and isinstance(length[0], int) and length[0] < SHORT:
        return False
    if "padding" not in keywords and called_name(node) == "pad":
        return _pads_inputs(node, keywords)
    padding = _constant(keywords.get("padding"), owner)
    return bool(padding) and padding[0] in TO_LONGEST


def _pads_inputs(node: ast.Call, keywords: Mapping[str | None, ast.expr]) -> bool:
    """Return whether a `.pad(rows, return_tensors="pt")` is a tokenizer's, which pads to the longest unless told otherwise.

    Labels beside inputs of one length (spectrograms) make few shapes, and a feature extractor pads those.
    """
    is_of_tokenizer = isinstance(node.func, ast.Attribute) and ast.unparse(node.func.value).lower().endswith(PADS)
    return is_of_tokenizer and "return_tensors" in keywords and not any("label" in ast.unparse(part).lower() for part in node.args)


def _padding(function: Function, owner: Instance | None, given: frozenset[str], depth: int = 2) -> list[ast.Call]:
    """Return the calls that pad to the longest sample in a function, or in one of the program that it calls by its name."""
    nodes = list(walk(function.node))
    padding = [node for node in nodes if isinstance(node, ast.Call) and _pads_to_longest(node, owner)]
    padding = padding or filled_to_longest(nodes, given, _constants(owner))
    for node in nodes if depth and not padding else ():
        behind = _called(function, node.func) if isinstance(node, ast.Call) else None
        if isinstance(node, ast.Call) and isinstance(behind, Function) and behind.node is not function.node:
            parameters = [parameter.arg for parameter in behind.node.args.args]
            passed = [*parameters[: len(node.args)], *(keyword.arg for keyword in node.keywords if keyword.arg is not None)]
            padding = padding or _padding(behind, None, frozenset(passed), depth - 1)
    return padding


def _constants(owner: Instance | None) -> dict[str, object]:
    """Return the constants that the collating object, or its class, holds, by how its methods write them (`self.multiple`)."""
    classes = owner.cls.lineage()[::-1] if owner is not None and owner.cls is not None else ()
    held = [*(cls.slots for cls in classes), owner.slots if owner is not None else {}]
    return {f"self.{name}": value.value for slots in held for name, value in slots.items() if isinstance(value, Known)}


def _constant(node: ast.expr | None, owner: Instance | None) -> tuple[Any, ...]:
    """Return the constant that an expression is, or that an attribute of the collating object holds; () when it is not known."""
    held = _constants(owner)
    written = ast.unparse(node) if node is not None else ""
    return (node.value,) if isinstance(node, ast.Constant) else (held[written],) if written in held else ()
