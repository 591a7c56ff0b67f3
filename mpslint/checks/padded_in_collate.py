"""Collate functions of the program that pad each batch to its longest sample.

A check because it asks which functions collate for training, and of which data set.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any

from mpslint.checks._one_length import has_one_length
from mpslint.facts.values import Bound, Call, Function, Instance, Known, Unknown, Value, alternatives_of
from mpslint.program.walk import called_name, walk
from mpslint.rule.judge import Match
from mpslint.rule.loaders import never_read
from mpslint.settings.evidence import Evidence
from mpslint.settings.plan import TrainingPlan
from mpslint.tensors.traits import is_none

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
NONE = Known(None)


def find(evidence: Evidence, options: Mapping[str, Any]) -> Iterator[Match]:
    """Yield the first call, in each function that collates for training, that pads to the longest sample.

    Option: `one_length`, methods that find all samples of one length.
    """
    even = {call.node for call in evidence.facts.calls if any(fnmatchcase(call.name, one) for one in options["one_length"])}
    for function, owner, plan, dataset in _collate_functions(evidence):
        calls = {call.node: call for call in evidence.facts.calls if function.node in call.context.functions and _pads_to_longest(call)}
        filled = (
            node for node, context in evidence.facts.fills if function.node in context.functions and not _is_found_once(node, evidence)
        )
        padding = [node for node in list(calls) or filled if node not in even]
        if not padding or EVALUATES.search(function.name) or has_one_length(dataset, _with_assigned(padding, function), len(padding)):
            continue
        node = min(padding, key=lambda call: call.lineno)
        place = next((keyword for keyword in node.keywords if keyword.arg == "padding"), node.func)
        is_written = isinstance(place, ast.keyword) and isinstance(place.value, ast.Constant)
        fact = calls.get(node) if is_written else None
        shown = function.name if owner is None or owner.cls is None else owner.cls.node.name
        multiple = str(SECOND if RAW_SOUND in ast.unparse(function.node) else TOKENS)
        values: dict[str, str] = {"written": ast.unparse(node.func), "function": shown, "multiple": multiple}
        yield Match(evidence.span_of(place), values, None, fact, plan, fact.context if fact else None, (), node)


def _is_found_once(node: ast.AST, evidence: Evidence) -> bool:
    """Return whether a length is found by a module or a constructor: it is the same for all batches."""
    maker = evidence.above(node, (ast.FunctionDef, ast.AsyncFunctionDef))
    return maker is None or (isinstance(maker, ast.FunctionDef) and maker.name == "__init__")


Collating = tuple[Function, Instance | None, TrainingPlan | None, Value]


def _collate_functions(evidence: Evidence) -> Iterator[Collating]:
    """Yield the functions that loaders and Trainers collate with, the object whose method each is, the run they do it for, and the
    data set that the samples are of."""
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
                yield function, value if isinstance(value, Instance) else None, plan, dataset


def _with_assigned(padding: Sequence[ast.Call], function: Function) -> list[ast.AST]:
    """Return the calls that pad, each with what the names in it are given in the function."""
    names = {node.id for call in padding for node in walk(call) if isinstance(node, ast.Name)}
    assigned = [node for node in walk(function.node) if isinstance(node, ast.Assign)]
    said = [one.value for one in assigned if any(isinstance(target, ast.Name) and target.id in names for target in one.targets)]
    return [*padding, *said]


def _function_of(value: Value) -> Function | None:
    """Return the function that is called when a value is: behind `partial(collate, ...)` and `lambda rows: collate(rows)`, `collate`."""
    if isinstance(value, Bound):
        return value.function
    if isinstance(value, Instance) and value.name == "functools.partial" and value.call is not None and value.call.arguments:
        return _function_of(value.call.arguments[0].value)
    if isinstance(value, Function) and isinstance(value.node, ast.Lambda):
        called = value.node.body.func if isinstance(value.node.body, ast.Call) else None
        frame = value.frame.having(called.id) if isinstance(called, ast.Name) else None
        behind = frame.slots[called.id] if frame is not None and isinstance(called, ast.Name) else None
        return behind if isinstance(behind, Function) else value
    if isinstance(value, Instance) and value.cls is not None:
        method = value.cls.lookup("__call__")
        return method if isinstance(method, Function) else None
    return value if isinstance(value, Function) else None


def _pads_to_longest(call: Call) -> bool:
    """Return whether a call pads to the longest of what it is given, which a tokenizer does unless told otherwise."""
    name, given = called_name(call.node), call.keywords
    if name in BY_HAND:
        return given.keys() >= set(BY_HAND[name])
    multiple, length = (given[key].value if key in given else NONE for key in ("pad_to_multiple_of", "max_length"))
    if not name.endswith(PADS) or call.is_open or not is_none(multiple):
        return False
    if isinstance(length, Known) and isinstance(length.value, int) and length.value < SHORT:
        return False
    if "padding" not in given:
        return name == "pad" and _pads_inputs(call.node)
    padding = given["padding"].value
    return isinstance(padding, Known) and padding.value in TO_LONGEST


def _pads_inputs(node: ast.Call) -> bool:
    """Return whether a `.pad(rows, return_tensors="pt")` is a tokenizer's, which pads to the longest unless told otherwise.

    Labels beside inputs of one length (spectrograms) make few shapes, and a feature extractor pads those.
    """
    is_of_tokenizer = isinstance(node.func, ast.Attribute) and ast.unparse(node.func.value).lower().endswith(PADS)
    is_of_labels = any("label" in ast.unparse(part).lower() for part in node.args)
    return is_of_tokenizer and not is_of_labels and any(one.arg == "return_tensors" for one in node.keywords)
