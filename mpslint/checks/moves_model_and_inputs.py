"""A run that is seen to move both a model and its inputs to a device that it keeps by name.

A device that is selected for the Mac's GPU is followed by what moves there. Where only one of the two is seen to move, the other may be
moved by code that isn't read, or not at all: then the run raises where they meet, which the same run on the CPU doesn't.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from typing import Any

from mpslint.checks._models import model_texts, plain_text
from mpslint.checks._named_devices import NAMED_DEVICE, names_device
from mpslint.rule.check import Gate
from mpslint.rule.judge import Match
from mpslint.rule.loops import called_name
from mpslint.settings.evidence import Evidence

IS_MODEL = re.compile(r"(?:^|[._])(?:self|(?:\w*_)?(?:model|net|network|module)s?\d*|\w*(?:Model|Net))$")
"""A name that stands for a model where nothing else tells."""
IS_CLASS = re.compile(r"^(?!\w*(?:Tensor|Loss|Batch|Data)$)[A-Z]\w*$")
"""A class whose new objects are models when they move: `Net(...).to(device)`."""
LOADS = ("from_pretrained", "from_config", "create_model", "load", "load_model")
"""Functions and methods that give a model."""
TAKES = ("device", "device_map")
"""Arguments that say where something is made or loaded."""
NAMES = (ast.Name, ast.Attribute, ast.Subscript, ast.Call, ast.IfExp)
"""Expressions that may give any device."""
IS_DTYPE = re.compile(r"dtype|^torch\.(?:b?float|double|half|u?int|long|short|bool)\d*$")
HAS_MODEL = re.compile(r"\bnn\b|Module|[Mm]odel|\bnet|Net\b|from_pretrained|parameters\(|\.backward\(|^class |\.load\(", re.MULTILINE)
"""What a program says that makes, loads or trains a model."""
MOVES_ITS_INPUTS = re.compile(r"pipe(?:line)?\d*(?:\W|$)|Pipeline\b", re.IGNORECASE)
"""What moves the inputs that it is given, by its name: a pipeline."""
GIVES_ITSELF = ("eval", "train", "float", "half", "bfloat16", "requires_grad_")
"""Methods whose result is the model that they are called on."""

GATE = Gate(words=("cuda",))


def find(evidence: Evidence, options: Mapping[str, Any]) -> Iterator[Match]:
    """Yield the first move of a model, in a run that moves or makes something else on a device too.

    A program of one file that has no model has none to leave behind: there the first move of a tensor counts.
    """
    whole = evidence.whole or evidence
    models, first, are_inputs = model_texts(whole), None, False
    has_model = bool(models) or HAS_MODEL.search(whole.text) is not None or bool(whole.document.parts)
    for node in (node for word in (".to(", "device", "jit.load") for node in whole.nodes_beside(word)):
        if not isinstance(node, ast.Call) or not _is_on_device(node):
            continue
        if MOVES_ITS_INPUTS.search(ast.unparse(node.func)):
            first, are_inputs = first or node, True
        elif _is_model(node, models):
            first = first or node
        else:
            are_inputs = True
            first = first if has_model else node
        if first is not None and are_inputs:
            yield Match(whole.span_of(first), {"written": ast.unparse(first)}, node=first)
            return


def _is_on_device(call: ast.Call) -> bool:
    """Return whether a call moves something to a device, or makes it there, by a name that may be any device: not `"cuda"`, `"cpu"`."""
    takes = (*TAKES, "map_location") if plain_text(call.func).endswith("jit.load") else TAKES
    given = [keyword.value for keyword in call.keywords if keyword.arg in takes]
    if called_name(call) == "to":
        given += [one for one in call.args[:1] if not IS_DTYPE.search(ast.unparse(one))]
        return any(isinstance(one, NAMES) for one in given) and not any(_is_fixed(one) for one in given)
    given += [one for one in call.args if isinstance(one, NAMES) and NAMED_DEVICE.search(ast.unparse(one))]
    return bool(given) and not any(_is_fixed(one) for one in given)


def _is_fixed(node: ast.expr) -> bool:
    return names_device(node, "cuda") or names_device(node, "cpu")


def _is_model(call: ast.Call, models: frozenset[str]) -> bool:
    """Return whether what a call moves, or makes, is a model."""
    if not (isinstance(call.func, ast.Attribute) and call.func.attr == "to"):
        return IS_CLASS.match(called_name(call)) is not None or called_name(call) in LOADS
    owner = call.func.value
    while isinstance(owner, ast.Call) and isinstance(owner.func, ast.Attribute) and owner.func.attr in GIVES_ITSELF:
        owner = owner.func.value
    if isinstance(owner, ast.Call):
        return IS_CLASS.match(called_name(owner)) is not None or called_name(owner) in LOADS
    text = plain_text(owner)
    return text in models or IS_MODEL.search(text) is not None
