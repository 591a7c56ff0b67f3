"""Lengths that go to the GPU with their batch, and to `pack_padded_sequence`, which takes them on the CPU only."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeGuard

from mpslint.checks._models import plain_text
from mpslint.checks._placed import on_mps
from mpslint.checks.left_on_cpu import gives_batches
from mpslint.core.finding import Edit, Span
from mpslint.program.walk import walk
from mpslint.rule.check import Gate
from mpslint.rule.guards import is_certain
from mpslint.rule.judge import Match
from mpslint.rule.loops import called_name
from mpslint.settings.evidence import Evidence
from mpslint.settings.spelling import WrittenSetting

PACKS = "pack_padded_sequence"
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
IS_ON_CPU = re.compile(r"\.cpu\(|\.tolist\(|\.numpy\(|['\"]cpu|\blen\(|\.item\(|\blist\(|\bmap\(|torch\.(?:tensor|as_tensor|LongTensor)\(")
"""What takes lengths to the CPU, or makes them there."""
IS_LENGTHS = re.compile(r"len(?:gth)?s?(?:$|_)|_len", re.IGNORECASE)
"""A name of lengths."""

GATE = Gate(words=(PACKS,), may_find=lambda document, options, target: document.anywhere("packs", lambda one: PACKS in one.code))


def find(evidence: Evidence, options: Mapping[str, Any]) -> Iterator[Match]:
    """Yield each packing whose lengths come with the batch that the program moves.

    With option `placed`, only where the batch goes to the Mac's GPU and the packing is certainly reached; else wherever it may go.
    """
    whole = evidence if options.get("placed") else evidence.whole or evidence
    moved = [node for node in whole.nodes_beside(".to(") if _is_moved(node, bool(options.get("placed")), whole)]
    owners = [owner for node in moved if (owner := _moved_name(node, bool(options.get("placed")), whole))]
    if not owners or any(IS_LENGTHS.search(owner) for owner in _taken_back(whole)):
        return
    reached = {id(call.node): call for call in evidence.facts.calls if is_certain(call.context)}
    for node in whole.nodes_beside(PACKS):
        if not isinstance(node, ast.Call) or called_name(node) != PACKS or (options.get("placed") and id(node) not in reached):
            continue
        lengths = _lengths(node)
        if lengths is not None and _comes_with(lengths, owners, whole):
            yield Match(whole.span_of(node), {"written": ast.unparse(lengths)}, call=reached.get(id(node)), node=node)


def _lengths(call: ast.Call) -> ast.expr | None:
    return next((one.value for one in call.keywords if one.arg == "lengths"), call.args[1] if len(call.args) > 1 else None)


def _is_moved(node: ast.AST, placed: bool, evidence: Evidence) -> TypeGuard[ast.Call]:
    """Return whether a call moves a tensor to a device, with `placed` certainly to the Mac's GPU."""
    if not isinstance(node, ast.Call) or called_name(node) != "to" or not isinstance(node.func, ast.Attribute) or not node.args:
        return False
    return bool(on_mps(evidence).is_move(node)) if placed else not IS_ON_CPU.search(ast.unparse(node.args[0]))


def _moved_name(node: ast.Call, placed: bool, evidence: Evidence) -> str:
    """Return what a move takes along of the lengths: their name, or "" where it takes nothing of theirs; "*" for all parts of a batch.

    With `placed`, of a batch that a loop over a loader gives.
    """
    owner = node.func.value if isinstance(node.func, ast.Attribute) else node
    parent = evidence.parents.get(node)
    if isinstance(parent, (ast.ListComp, ast.GeneratorExp)) and not parent.generators[0].ifs and len(parent.generators) == 1:
        whole = parent.generators[0].iter
        if placed and not (isinstance(loop := evidence.above(parent, (ast.For,)), ast.For) and gives_batches(loop) and _is_of(whole, loop)):
            return ""
        return "*" if isinstance(owner, ast.Name) and plain_text(parent.generators[0].target) == owner.id else ""
    name = plain_text(owner).rpartition(".")[2]
    return name if IS_LENGTHS.search(name) else ""


def _is_of(node: ast.expr, loop: ast.For) -> bool:
    """Return whether an expression is a target of a loop."""
    return isinstance(node, ast.Name) and any(isinstance(part, ast.Name) and part.id == node.id for part in walk(loop.target))


def _taken_back(evidence: Evidence) -> Iterator[str]:
    """Yield the names of what is taken to the CPU somewhere."""
    for word in (".cpu(", ".tolist("):
        for node in evidence.nodes_beside(word):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
                yield plain_text(node.func.value)


def _comes_with(lengths: ast.expr, owners: Sequence[str], evidence: Evidence) -> bool:
    """Return whether lengths are what a function is given, through all that it does to them, and were moved by their name or as a part."""
    function = evidence.above(lengths, FUNCTIONS)
    if not isinstance(function, FUNCTIONS):
        return not IS_ON_CPU.search(ast.unparse(lengths)) and plain_text(lengths) in owners
    given = {one.arg for one in (*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs)} - {"self", "cls"}
    assigned = [node for statement in function.body for node in walk(statement) if isinstance(node, ast.Assign)]
    names, seen = {node.id for node in walk(lengths) if isinstance(node, ast.Name)}, set[str]()
    texts = [ast.unparse(lengths)]
    while names - seen:
        name = (names - seen).pop()
        seen.add(name)
        for node in assigned:
            if any(isinstance(part, ast.Name) and part.id == name for target in node.targets for part in walk(target)):
                texts.append(ast.unparse(node.value))
                names |= {part.id for part in walk(node.value) if isinstance(part, ast.Name)}
    if any(IS_ON_CPU.search(text) for text in texts):
        return False
    return not seen.isdisjoint(given) and ("*" in owners or any(IS_LENGTHS.search(name) for name in seen & given))


def rewrite(match: Match, evidence: Evidence) -> WrittenSetting | None:
    """Return the edit that takes the lengths to the CPU where they are packed, which is right on every machine."""
    lengths = _lengths(match.node) if isinstance(match.node, ast.Call) else None
    if lengths is None or not plain_text(lengths):
        return None
    end = evidence.span_of(lengths).end
    return WrittenSetting((Edit(Span(end, end), ".cpu()"),), f"{ast.unparse(lengths)}.cpu()")
