"""DataLoaders that start workers, by spawn as on macOS, and those that a program asks for no batch."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from mpslint.facts.values import Argument, Call, Instance, Known, Value
from mpslint.settings.evidence import Evidence
from mpslint.settings.setting import Setting
from mpslint.settings.translate import bound_arguments

ONLY_ASKED = frozenset(["dataset", "batch_size", "num_workers", "sampler", "batch_sampler", "collate_fn", "pin_memory", "drop_last"])
"""Attributes of a loader that start nothing."""


def with_workers(evidence: Evidence) -> Iterator[tuple[Call, Setting, dict[str, Argument]]]:
    """Yield the DataLoaders that certainly start workers, with the setting that says so, and their arguments."""
    for matched in evidence.file_plans.matched:
        if matched.pattern.role != "loader" or never_read(matched.call, evidence):
            continue
        arguments = bound_arguments(matched.call, matched.pattern)
        workers = next((setting for setting in matched.settings if setting.name == "loader.workers"), None)
        if workers is None or not workers.constants or not all(isinstance(n, int) and n > 0 for n in workers.constants):
            continue
        context = arguments.get("multiprocessing_context")
        if _spawns(matched.call, evidence) if context is None else _is_spawn(context.value):
            yield matched.call, workers, arguments


def _spawns(loader: Call, evidence: Evidence) -> bool:
    """Return whether workers are spawned, as on macOS where the program doesn't choose another way: one that a loader's run reaches."""
    calls = (call for call in evidence.facts.calls if "set_start_method" in (call.method, call.name[-16:]))
    ways = (call.context.called for call in calls if not _is_spawn(_first(call)))
    return not any(was_called or not loader.context.called for was_called in ways)


def _is_spawn(way: Value) -> bool:
    """Return whether a way to start processes is the one of macOS: its name, none at all, or the context that has it."""
    if isinstance(way, Instance) and way.call is not None and way.name.endswith("get_context"):
        way = _first(way.call)
    return isinstance(way, Known) and way.value in (None, "spawn")


def _first(call: Call) -> Value:
    """Return what a call is given for the way to start processes; None is the default of the system."""
    given = call.keywords.get("method") or next(iter(call.arguments), None)
    return given.value if given is not None else Known(None)


def never_read(loader: Call, evidence: Evidence) -> bool:
    """Return whether a program asks a loader for no batch: all that it does with it is `loader.dataset` or `len(loader)`.

    What is read nowhere may be another file's to import.
    """
    reads = evidence.facts.uses.of_made(loader)
    return bool(reads) and all(_only_asks(evidence.parents.get(node)) for node in reads)


def _only_asks(node: ast.AST | None) -> bool:
    if isinstance(node, ast.Attribute):
        return node.attr in ONLY_ASKED
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "len"
