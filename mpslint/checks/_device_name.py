"""The name by which a program speaks of its device: one that it has, or a constant that it gets when several places say CUDA."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeGuard

from mpslint.finding import Edit, Span
from mpslint.judge import Match
from mpslint.settings.evidence import Evidence
from mpslint.settings.spell import import_edits
from mpslint.source.document import Kind

_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


@dataclass(frozen=True, slots=True)
class DeviceName:
    """A name to write in place of a device, and the edits that define it."""

    name: str
    edits: tuple[Edit, ...] = ()


def device_name(match: Match, evidence: Evidence, choice: str) -> DeviceName | None:
    """Return the name that stands for the device at a match: one that the program chose before, else a new constant that is `choice`.

    None where the place is the only one of its kind, or itself gives the device a name.
    """
    device = _device(match.values["value"])
    if _assigned_name(match.node, evidence) is not None:
        return None
    name = _chosen_before(match, device, evidence)
    if name is not None:
        return DeviceName(name)
    alike = [peer for peer in match.peers if _device(peer.values["value"]) == device and _is_nameless(peer, device, evidence)]
    name = _new_name(evidence) if len(alike) > 1 else None
    edits = _definition(f"{name} = {choice}", alike, evidence) if name is not None else None
    return DeviceName(name, edits) if name is not None and edits is not None else None


def _is_nameless(match: Match, device: str, evidence: Evidence) -> bool:
    """Return whether a place neither gives the device a name nor has a name for it."""
    return _assigned_name(match.node, evidence) is None and _chosen_before(match, device, evidence) is None


def _device(text: str) -> str:
    return text.removesuffix(":0")


def _assigned_name(node: ast.AST | None, evidence: Evidence) -> str | None:
    """Return the name that a statement of the module gives to a device (`device = torch.device("cuda")`)."""
    parent = evidence.parents.get(node) if isinstance(node, ast.Constant) else None
    if _makes_device(parent):
        parent = evidence.parents.get(parent)
    if not isinstance(parent, ast.Assign) or parent not in evidence.parsed.body:
        return None
    return parent.targets[0].id if len(parent.targets) == 1 and isinstance(parent.targets[0], ast.Name) else None


def _chosen_before(match: Match, device: str, evidence: Evidence) -> str | None:
    """Return the name that the module gave to a choice of device before a place, if it means nothing else there."""
    if match.node is None:
        return None
    statement = _statement_of(match.node, evidence)
    renewed = {name for peer in match.peers if (name := _assigned_name(peer.node, evidence)) is not None}
    for other in evidence.parsed.body:
        if other is statement:
            return None
        if not isinstance(other, ast.Assign) or len(other.targets) != 1 or not isinstance(other.targets[0], ast.Name):
            continue
        name = other.targets[0].id
        chosen = _choice_in(other.value, takes_objects=_takes_objects(match, evidence))
        is_choice = isinstance(chosen, ast.IfExp) and "cuda.is_available" in ast.unparse(chosen.test)
        first = chosen.body if isinstance(chosen, ast.IfExp) else chosen
        is_same = isinstance(first, ast.Constant) and isinstance(first.value, str) and _device(first.value) == device
        if is_same and (is_choice or name in renewed) and _is_only_device(name, match.node, evidence):
            return name
    return None


def _choice_in(value: ast.expr, takes_objects: bool) -> ast.expr:
    """Return what decides a device: the expression itself, or, where an object does as well as a name, what `torch.device` is given."""
    return value.args[0] if takes_objects and _makes_device(value) else value


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


def _statement_of(node: ast.AST, evidence: Evidence) -> ast.AST:
    """Return the module's statement that a node is in."""
    while node in evidence.parents:
        node = evidence.parents[node]
    return node


def _is_only_device(name: str, node: ast.AST, evidence: Evidence) -> bool:
    """Return whether a name means what the module's own choices of device made it, in every scope around a node."""
    for bound in _bindings(name, evidence):
        parent = evidence.parents.get(bound)
        is_choice = isinstance(parent, ast.Assign) and parent in evidence.parsed.body and "cuda" in ast.unparse(parent.value)
        scope = _scope_of(bound, evidence)
        if not is_choice and (scope is None or _is_inside(node, scope, evidence)):
            return False
    return True


def _bindings(name: str, evidence: Evidence) -> Iterator[ast.AST]:
    """Yield the nodes that give a name a meaning."""
    for node in (*evidence.parsed.body, *evidence.parents):
        if name in _bound_by(node):
            yield node


def _bound_by(node: ast.AST) -> Sequence[str]:
    """Return the names that a node by itself gives a meaning."""
    if isinstance(node, ast.Name):
        return () if isinstance(node.ctx, ast.Load) else (node.id,)
    if isinstance(node, (ast.Global, ast.Nonlocal)):
        return node.names
    if isinstance(node, ast.arg):
        return (node.arg,)
    if isinstance(node, ast.alias):
        return (node.asname or node.name,)
    return (node.name,) if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)) else ()


def _scope_of(node: ast.AST, evidence: Evidence) -> ast.AST | None:
    """Return the function or class that a node is in; None for the module."""
    parent = evidence.parents.get(node)
    while parent is not None and not isinstance(parent, _SCOPES):
        parent = evidence.parents.get(parent)
    return parent


def _is_inside(node: ast.AST, scope: ast.AST, evidence: Evidence) -> bool:
    current: ast.AST | None = node
    while current is not None:
        if current is scope:
            return True
        current = evidence.parents.get(current)
    return False


def _new_name(evidence: Evidence) -> str | None:
    """Return a name that the program does not use, as a notebook or a script would name its device."""
    names = ("device", "DEVICE") if evidence.document.kind is Kind.NOTEBOOK else ("DEVICE", "TORCH_DEVICE")
    used = {node.id for node in evidence.parents if isinstance(node, ast.Name)}
    return next((name for name in names if name not in used and not any(True for _ in _bindings(name, evidence))), None)


def _definition(line: str, places: Sequence[Match], evidence: Evidence) -> tuple[Edit, ...] | None:
    """Return the edits that define a constant after the imports that come before some places, and that import torch."""
    first = min((match for match in places if match.node is not None), key=lambda match: match.span, default=None)
    if first is None or first.node is None:
        return None
    newline = "\r\n" if "\r\n" in evidence.document.text else "\n"
    above = evidence.parsed.body[: evidence.parsed.body.index(_statement_of(first.node, evidence))]  # type: ignore[arg-type]
    imports = [s for s in above if isinstance(s, (ast.Import, ast.ImportFrom)) and getattr(s, "module", "") != "__future__"]
    if not imports:
        start = _line_start(_statement_of(first.node, evidence), evidence)
        return None if start is None else (Edit(Span(start, start), f"import torch{newline}{newline}{line}{newline}{newline}"),)
    last = _block_end(above, next((s for s in imports if _imports_torch(s)), imports[0]), evidence)
    span = evidence.span_of(last)
    if _line_start(last, evidence) != span.start:
        return None
    document = evidence.document
    number = document.line_at(span.end)
    cell = document.cell_at(span.start)
    end = document.line_starts[number - 1] + len(document.line_text(number))
    is_last = end >= (cell.span.end if cell is not None else len(document.text))
    gap = newline if is_last or not document.line_text(number + 1).strip() else ""
    return (Edit(Span(end, end), f"{newline}{gap}{line}"), *import_edits(evidence, "torch", Span(end, end)))


def _imports_torch(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Import) and any(alias.name.split(".")[0] == "torch" for alias in statement.names)


def _block_end(body: Sequence[ast.stmt], start: ast.stmt, evidence: Evidence) -> ast.stmt:
    """Return the last of the imports that follow one another from a first, in its cell."""
    last = start
    for statement in body[body.index(start) :]:
        if not isinstance(statement, (ast.Import, ast.ImportFrom)):
            break
        if evidence.document.cell_at(evidence.span_of(statement).start) != evidence.document.cell_at(evidence.span_of(start).start):
            break
        last = statement
    return last


def _line_start(statement: ast.AST, evidence: Evidence) -> int | None:
    """Return where a statement begins, decorators included; None where it is not at the very beginning of a line."""
    decorators = getattr(statement, "decorator_list", ())
    line = min([statement.lineno, *(decorator.lineno for decorator in decorators)])  # type: ignore[attr-defined]
    start = evidence.document.line_starts[line - 1]
    return start if evidence.span_of(statement).start == start or decorators else None
