"""The name by which a program speaks of its device: one that it has, or a constant that it gets when several places say CUDA."""

from __future__ import annotations

import ast
import functools
from collections.abc import Sequence
from pathlib import PurePath
from typing import TypeGuard

from mpslint.core.finding import Edit, Span
from mpslint.core.grouped import grouped
from mpslint.core.knowledge import platform_data
from mpslint.core.record import record
from mpslint.facts.facts import EnvironmentWrite
from mpslint.program.platform import load_platform
from mpslint.program.walk import bound_by, first_line
from mpslint.rule.judge import Match, Peers
from mpslint.settings.evidence import Evidence, once
from mpslint.settings.importing import has_forks, import_edits, is_imported_after, is_read_once
from mpslint.source.document import Kind
from mpslint.source.magics import binds_nothing

_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


@record(frozen=True, slots=True)
class DeviceName:
    """A name to write in place of a device, and the edits that define it."""

    name: str
    edits: tuple[Edit, ...] = ()


def device_name(match: Match, evidence: Evidence, choice: str) -> DeviceName | None:
    """Return the name that stands for the device at a match: one that the program chose before, else a new constant that is `choice`.

    None where the place is the only one of its kind, or itself gives the device a name.
    """
    device = _device(match.values["value"], evidence)
    if _assigned_name(match.node, evidence) is not None:
        return None
    name = _chosen_before(match, match.peers, device, evidence)
    return DeviceName(name) if name is not None else _new_constant(match.peers, device, choice, evidence)


@functools.lru_cache(maxsize=8)  # asked at every place, and the same for all
def _new_constant(peers: Peers, device: str, choice: str, evidence: Evidence) -> DeviceName | None:
    """Return a new constant for the places that neither give the device a name nor have a name for it; None for a single one."""
    alike = [
        one for one in peers.matches if _device(one.values["value"], evidence) == device and _assigned_name(one.node, evidence) is None
    ]
    nameless = [one for one in alike if _chosen_before(one, peers, device, evidence) is None]
    name = _new_name(peers, device, evidence) if len({peer.span for peer in nameless}) > 1 else None
    edits = _definition(f"{name} = {choice}", nameless, evidence) if name is not None else None
    return DeviceName(name, edits) if name is not None and edits is not None else None


def _device(text: str, evidence: Evidence) -> str:
    """Return what a device is called: `cuda` is the first one, unless the run makes another one the current device."""
    return text if _sets_current(evidence.whole or evidence) else text.removesuffix(":0")


@once
def _sets_current(evidence: Evidence) -> bool:
    sets = platform_data("cuda")["sets_current"]
    return not evidence.calls_of_name.keys().isdisjoint(sets["calls"]) or any(True for one in sets["names"] for _ in evidence.naming(one))


def _assigned_name(node: ast.AST | None, evidence: Evidence) -> str | None:
    """Return the name that a statement of the module gives to a device (`device = torch.device("cuda")`)."""
    named = _named(node, evidence) if isinstance(node, ast.Constant) else None
    return named[0] if named is not None else None


def _named(node: ast.AST | None, evidence: Evidence) -> tuple[str, ast.Assign, bool] | None:
    """Return the name that a statement of the module gives to an expression, or to the device that it makes of it, with the statement, and
    whether it is such a device, not a text; None where none does."""
    parent = evidence.parents.get(node) if node is not None else None
    is_object = _makes_device(parent)
    parent = evidence.parents.get(parent) if is_object and parent is not None else parent
    if not isinstance(parent, ast.Assign) or parent in evidence.parents or len(parent.targets) != 1:
        return None
    return (parent.targets[0].id, parent, is_object) if isinstance(parent.targets[0], ast.Name) else None


def _chosen_before(match: Match, peers: Peers, device: str, evidence: Evidence) -> str | None:
    """Return the name that the module gave to a choice of device before a place, if it means nothing else there."""
    if match.node is None:
        return None
    here = evidence.span_of(_outermost(match.node, evidence))
    for (name, statement, is_object), said in _choices(peers, evidence):
        if evidence.span_of(statement) >= here:
            return None
        is_taken = said == device and (not is_object or _takes_objects(match, evidence))
        if is_taken and _is_only_device(name, match.node, evidence) and not _is_starred(evidence.span_of(statement).start, evidence):
            return name
    return None


@functools.lru_cache(maxsize=2)  # asked at every place
def _choices(peers: Peers, evidence: Evidence) -> Sequence[tuple[tuple[str, ast.Assign, bool], str]]:
    """Return the devices to which statements of the module give names, in order: CUDA where there is CUDA, and those among the places,
    which are rewritten where they are given."""
    questions = load_platform().cuda_questions
    asked = (one.node for one in evidence.facts.choices if one.source in questions and isinstance(one.node, ast.IfExp))
    chosen = [(node, node.body) for node in asked] + [(peer.node, peer.node) for peer in peers.matches]
    constants = ((node, said.value) for node, said in chosen if isinstance(said, ast.Constant) and isinstance(said.value, str))
    found = [(named, _device(text, evidence)) for node, text in constants if (named := _named(node, evidence)) is not None]
    return sorted(found, key=lambda one: evidence.span_of(one[0][1]).start)


def _makes_device(node: ast.AST | None) -> TypeGuard[ast.Call]:
    """Return whether a node is `torch.device(...)` of one argument."""
    if not isinstance(node, ast.Call) or len(node.args) != 1 or node.keywords:
        return False
    return ast.unparse(node.func).rpartition(".")[2] == "device"


def _takes_objects(match: Match, evidence: Evidence) -> bool:
    """Return whether a `torch.device` may stand where the device's name stands: in `.cuda()`, `.to(...)`, `device=` and the like."""
    parent = evidence.parents.get(match.node) if match.node is not None else None
    if isinstance(match.node, ast.Call):
        return True
    if isinstance(parent, ast.Call):
        return ast.unparse(parent.func).rpartition(".")[2] in ("to", "device")
    return isinstance(parent, ast.keyword) and parent.arg in ("device", "map_location")


@functools.lru_cache(maxsize=4)
def _binding(name: str, evidence: Evidence) -> Sequence[ast.AST]:
    """Return the nodes that give a name a meaning: looked for once, however many places ask."""
    return [one for one in evidence.naming(name) if name in bound_by(one)]


def _is_only_device(name: str, node: ast.AST, evidence: Evidence) -> bool:
    """Return whether a name means what the module's own choices of device made it, in every scope around a node."""
    for bound in _binding(name, evidence):
        parent = evidence.parents.get(bound)
        is_choice = isinstance(parent, ast.Assign) and parent not in evidence.parents and "cuda" in ast.unparse(parent.value)
        scope = evidence.above(bound, _SCOPES)
        if not is_choice and (scope is None or evidence.span_of(node) in evidence.span_of(scope)):
            return False
    return True


def _new_name(peers: Peers, device: str, evidence: Evidence) -> str | None:
    """Return a name that the program does not use, as a notebook or a script would name its device; each device has one of its own."""
    names = ("device", "DEVICE") if evidence.document.kind is Kind.NOTEBOOK else ("DEVICE", "TORCH_DEVICE")

    def is_used(name: str) -> bool:
        return any(isinstance(one, ast.Name) or name in bound_by(one) for one in evidence.naming(name))

    places = grouped(
        (_device(one.values["value"], evidence), one.span) for one in peers.matches if _assigned_name(one.node, evidence) is None
    )
    devices = [one for one, spans in places.items() if len(set(spans)) > 1]
    return dict(zip(devices, (name for name in names if not is_used(name)), strict=False)).get(device)


def _definition(line: str, places: Sequence[Match], evidence: Evidence) -> tuple[Edit, ...] | None:
    """Return the edits that define a constant before the first statement of the module that needs it, and that import torch."""
    first = min((match for match in places if match.node is not None), key=lambda match: match.span, default=None)
    statement = _outermost(first.node, evidence) if first is not None and first.node is not None else None
    start = _line_start(statement, evidence) if statement is not None else None
    if statement is None or start is None or _is_too_early(start, evidence) or _is_starred(start, evidence):
        return None
    document, newline = evidence.document, evidence.document.newline_at(start)
    number, cell = document.line_at(start), document.cell_at(start)
    if cell is not None and binds_nothing(document.text[cell.span.start : cell.span.end]):
        return None
    while (
        number > 1
        and document.line_text(number - 1).startswith("#")
        and (cell is None or document.line_starts[number - 2] >= cell.span.start)
    ):
        number -= 1  # what is said of the statement stays with it
    start = document.line_starts[number - 1]
    is_first = number == 1 or (cell is not None and start == cell.span.start)
    before = "" if is_first or not document.line_text(number - 1).strip() else newline
    after = newline * (3 if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)) else 2)
    added = import_edits(evidence, "torch", Span(start, start))
    if added and added[0].span.start >= start:  # in front of the same statement
        return (Edit(Span(start, start), f"{before}import torch{newline}{newline}{line}{after}"),)
    return (Edit(Span(start, start), f"{before}{line}{after}"), *added)


def _is_starred(place: int, evidence: Evidence) -> bool:
    """Return whether `from x import *` below a place of a module may give its names another meaning, or gives them to another file."""
    part, path = evidence.document.part_at(place), PurePath(evidence.document.part_at(place).document.path)
    module = path.parent.name if path.stem == "__init__" else path.stem
    for one in (evidence.whole or evidence).naming("*"):
        start = evidence.span_of(one).start if isinstance(one, ast.ImportFrom) else -1
        is_own = evidence.document.part_at(start) is part if evidence.document.parts else True
        if start > place if is_own else getattr(one, "module", "").rpartition(".")[2] == module:
            return True
    return False


def _is_too_early(place: int, evidence: Evidence) -> bool:
    """Return whether asking for CUDA at a place of a module may come too early: before the run sets a variable that torch reads only once,
    or before it forks, after which no process could use CUDA."""
    part = evidence.document.part_at(place).span

    def is_before(write: EnvironmentWrite) -> bool:
        if part.start <= write.start < part.end and write.context is not None and not write.context.functions:
            return write.start < place
        return is_imported_after(write, place, evidence)

    writes = (write for write in evidence.facts.environment if is_read_once(write, "torch"))
    return has_forks(evidence) or not all(map(is_before, writes))


def _outermost(node: ast.AST, evidence: Evidence) -> ast.AST:
    """Return the statement of the module that a node is in."""
    while (above := evidence.parents.get(node)) is not None:
        node = above
    return node


def _line_start(statement: ast.AST, evidence: Evidence) -> int | None:
    """Return where a statement begins, decorators included; None where it is not at the very beginning of a line."""
    start = evidence.document.line_starts[(first_line(statement) or 1) - 1]
    is_decorated = bool(getattr(statement, "decorator_list", ()))
    return start if evidence.span_of(statement).start == start or is_decorated else None
