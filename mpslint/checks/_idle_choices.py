"""Choices of a device that decide nothing on a Mac: where a run is put is known from elsewhere, or stays what it was."""

from __future__ import annotations

import ast

from mpslint.checks._device_uses import device_made, is_used, uses_of
from mpslint.checks._moved_by_trainer import is_overruled
from mpslint.checks._never_default import is_never_default
from mpslint.checks._written import computed_from, plain_text
from mpslint.facts.values import Known, alternatives_of, origin_of
from mpslint.program.walk import walk
from mpslint.rule.loops import called_name
from mpslint.settings.evidence import Evidence

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
LOOKS_UP = ("get", "pop", "setdefault", "getattr")
"""What takes a default: `config.get("device", default)`."""
RUNS = frozenset({"eval", "train", "to", "cuda", "forward", "parameters", "generate", "half", "float"})
"""Methods of a model, which a dict of tensors has not."""


def is_idle(node: ast.AST, evidence: Evidence) -> bool:
    """Return whether a choice, or the statement that makes it, is of no use for where anything of the program is put."""
    if not is_used(node, evidence) or is_overruled(node, evidence):
        return True
    return is_never_default(node, evidence) or is_set_elsewhere(node, evidence) or _is_of_states(node, evidence)


def mapped_by(use: ast.AST, evidence: Evidence) -> ast.Call | None:
    """Return the call that loads a file and is given a device for what it holds: `torch.load(path, map_location=device)`; or None."""
    above = evidence.parents.get(use)
    call = evidence.parents.get(above) if isinstance(above, ast.keyword) and above.arg == "map_location" else above
    is_second = isinstance(call, ast.Call) and len(call.args) > 1 and call.args[1] is use
    is_mapped = isinstance(call, ast.Call) and called_name(call) == "load" and (is_second or isinstance(above, ast.keyword))
    return call if is_mapped and isinstance(call, ast.Call) else None


def is_set_elsewhere(node: ast.AST, evidence: Evidence) -> bool:
    """Return whether a choice is the default of a lookup whose outcome is known, and comes from elsewhere: a file says `device: cpu`."""
    whole = evidence.whole or evidence
    default, lookup = device_made(node, whole)
    if not isinstance(lookup, ast.Call) or called_name(lookup) not in LOOKS_UP or default not in lookup.args[1:]:
        return False
    own = {id(one) for one in walk(default)}
    kept = whole.above(lookup, (ast.stmt,))
    targets = {plain_text(one) for one in kept.targets} - {""} if isinstance(kept, ast.Assign) else set()
    settings = (s for matched in whole.file_plans.matched for s in matched.settings if s.name == "device.name")
    given = [(s.argument.node, s.value) for s in settings if s.argument is not None and s.argument.node is not None]
    values = [value for node, value in given if plain_text(node) in targets or any(one is lookup for one in walk(node))]
    parts = [part for value in values for part in alternatives_of(value)]
    return bool(parts) and all(isinstance(part, Known) and id(origin_of(part)) not in own for part in parts)


def _is_of_states(node: ast.AST, evidence: Evidence) -> bool:
    """Return whether a device is only where weights lie until a model copies them: `load_state_dict(torch.load(path, device))`."""
    whole = evidence.whole or evidence
    loads = [mapped_by(use, whole) for use in uses_of(node, evidence) or ()]
    return bool(loads) and all(load is not None and _goes_to_states(load, whole) for load in loads)


def _goes_to_states(load: ast.Call, evidence: Evidence) -> bool:
    """Return whether what is loaded is a dict of weights that a model takes over, and no model itself."""
    statement = evidence.above(load, (ast.stmt,))
    if statement is None or _takes_over(statement, load):
        return statement is not None
    above = evidence.above(statement, FUNCTIONS)
    nodes = [node for one in (above.body if isinstance(above, FUNCTIONS) else evidence.parsed.body) for node in walk(one)]
    names = {plain_text(one) for one in statement.targets} - {""} if isinstance(statement, ast.Assign) else set()
    held = computed_from(names, nodes)
    calls = [node for node in nodes if isinstance(node, ast.Call)]
    taken = [one for one in calls if called_name(one) == "load_state_dict" and any(plain_text(part) in held for part in walk(one))]
    is_model = any(plain_text(one.func) in names or _is_run(one, names) for one in calls)
    return bool(names and taken) and not is_model and not any(map(_assigns, taken))


def _takes_over(statement: ast.AST, load: ast.Call) -> bool:
    """Return whether a model takes over what is loaded, in the same statement."""
    calls = (one for one in walk(statement) if isinstance(one, ast.Call) and called_name(one) == "load_state_dict" and not _assigns(one))
    return any(part is load for one in calls for part in walk(one))


def _assigns(call: ast.Call) -> bool:
    """Return whether a model takes the loaded tensors themselves, with their device (`assign=True`)."""
    return any(keyword.arg == "assign" for keyword in call.keywords)


def _is_run(call: ast.Call, names: set[str]) -> bool:
    return isinstance(call.func, ast.Attribute) and call.func.attr in RUNS and plain_text(call.func.value) in names
