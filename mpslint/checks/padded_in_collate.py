"""Collate functions of the program that pad each batch to its longest sample.

A check because what a call pads to follows from several of its arguments together.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase
from typing import Any

from mpslint.facts.facts import Preparation
from mpslint.facts.values import Call, Context, Instance, Known, Value, made_from
from mpslint.program.lengths import MEASURES, has_one_length, is_filled
from mpslint.program.walk import called_name, walk
from mpslint.rule.crosses import never_read
from mpslint.rule.judge import Match
from mpslint.settings.evidence import Evidence
from mpslint.tensors.traits import elements_of, is_none

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
    for one in (one for one in evidence.facts.preparations if one.maker.method != "map"):
        padding = {call.node: call for call in one.calls if _pads_to_longest(call, options["one_length"])}
        by_hand: dict[ast.Call, Call | Context] = dict(one.fills)
        node, found = min((padding or by_hand).items(), key=lambda pair: pair[0].lineno, default=(None, None))
        if node is None or found is None or never_read(one.maker, evidence) or _is_evened(one.maker, evidence):
            continue
        if isinstance(found, Call) and _is_filled_later(found, one.rows[-1][0]):
            continue
        function, name = _named(one, found.context if isinstance(found, Call) else found, evidence)
        if EVALUATES.search(name):
            continue
        place = next((keyword for keyword in node.keywords if keyword.arg == "padding"), node.func)
        is_written = isinstance(place, ast.keyword) and isinstance(place.value, ast.Constant)
        fact = next(iter(evidence.calls_at.get(node, ())), None) if is_written else None
        multiple = str(SECOND if RAW_SOUND in ast.unparse(function) else TOKENS)
        values: dict[str, str] = {"written": ast.unparse(node.func), "function": name, "multiple": multiple}
        plan = evidence.plan_with.get(id(one.maker))
        yield Match(evidence.span_of(place), values, None, fact, plan, fact.context if fact else None, (), node)


def _is_filled_later(call: Call, batch: Value) -> bool:
    """Return whether what a call pads is filled up to one length before it is a part of the batch."""
    made = call.result
    parts = (part for part in elements_of(batch) if any(one is made for one in made_from(part)))
    return made is not None and not is_filled(made) and any(map(is_filled, parts))


def _is_evened(loader: Call, evidence: Evidence) -> bool:
    """Return whether each loop over a loader fills what it gets up to one length, or leaves out what has another.

    By what is written there: unlike a collate function, a loop isn't walked from a sample on.
    """
    loops = [node for node, iterated, _ in evidence.facts.loops if any(one is loader.result for one in made_from(iterated))]
    return bool(loops) and all(any(map(_evens, walk(loop))) for loop in loops)


def _evens(node: ast.AST) -> bool:
    """Return whether an expression is what is left of a length (`512 - ids.shape[1]`), or a statement fills the front of something longer
    (`full[:, : ids.shape[1]] = ids`, or by `copy_`) or leaves out what has another length."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Sub):
        return _measures(node.right) and not _measures(node.left)
    if isinstance(node, ast.If) and isinstance(node.test, ast.Compare) and isinstance(node.body[0], ast.Continue):
        return isinstance(node.test.ops[0], ast.NotEq) and _measures(node.test)
    is_copy = isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "copy_"
    written = [node.func.value] if is_copy else node.targets if isinstance(node, ast.Assign) else []  # type: ignore[attr-defined]
    parts = [part for one in written if isinstance(one, ast.Subscript) for part in walk(one.slice) if isinstance(part, ast.Slice)]
    return any(part.upper is not None and _measures(part.upper) for part in parts)


def _measures(node: ast.expr) -> bool:
    return MEASURES.search(ast.unparse(node)) is not None


def _named(preparation: Preparation, context: Context, evidence: Evidence) -> tuple[ast.AST, str]:
    """Return the function that collates, and its name, or that of the class whose objects do; behind a lambda, the one that it calls."""
    own = context.functions[len(preparation.maker.context.functions) :]
    function = next((one for one in own if not isinstance(one, ast.Lambda)), own[0])
    cls = preparation.function.cls if isinstance(preparation.function, Instance) else None
    return function, cls.node.name if cls is not None else getattr(function, "name", "lambda")


def _pads_to_longest(call: Call, evened: list[str]) -> bool:
    """Return whether a call pads to the longest of what it is given, which a tokenizer does unless told otherwise."""
    name, given = called_name(call.node), call.keywords
    if any(fnmatchcase(call.name, one) for one in evened) or any(map(has_one_length, call.given)):
        return False
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
