"""What several checks need to know of DataLoaders: which have workers, and what of the program they take to them."""

from __future__ import annotations

import ast
import fnmatch
from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType

from mpslint.facts.values import Argument, Bound, Call, Class, Function, Instance, Items, Known, Value, alternatives_of
from mpslint.facts.values import Mapping as DictValue
from mpslint.program.implicit import inside
from mpslint.rule.judge import Match, match_of
from mpslint.settings.evidence import Evidence
from mpslint.settings.translate import bound_arguments

ONLY_ASKED = frozenset(["dataset", "batch_size", "num_workers", "sampler", "batch_sampler", "collate_fn", "pin_memory", "drop_last"])
"""Attributes of a loader that start nothing."""
TAKEN = ("dataset", "sampler", "batch_sampler", "collate_fn", "worker_init_fn")
"""Arguments that go to the workers."""
IN_WORKERS = ("__getitem__", "__getitems__", "__iter__", "__call__")
"""Methods that run in the workers."""
PICKLES_ITSELF = ("__getstate__", "__reduce__", "__reduce_ex__")
"""Methods that say what of an object is pickled."""


def with_workers(evidence: Evidence) -> Iterator[tuple[Call, Match, dict[str, Argument]]]:
    """Yield the DataLoaders that certainly start workers, with the match of the setting that says so, and their arguments."""
    for matched in evidence.file_plans.matched:
        if matched.pattern.role != "loader":
            continue
        arguments = bound_arguments(matched.call, matched.pattern)
        workers = next((setting for setting in matched.settings if setting.name == "loader.workers"), None)
        if never_read(matched.call, evidence):
            continue
        if workers is None or not workers.constants or not all(isinstance(n, int) and n > 0 for n in workers.constants):
            continue
        context = arguments.get("multiprocessing_context")
        is_spawned = _spawns(matched.call, evidence) if context is None else _is_spawn(context.value)
        match = match_of(workers, evidence.plans[-1], evidence) if is_spawned else None
        if match is not None:
            yield matched.call, match, arguments


def _spawns(loader: Call, evidence: Evidence) -> bool:
    """Return whether workers are spawned, as on macOS where the program doesn't choose another way: one that a loader's run reaches."""
    if "chosen" not in evidence.memo:
        calls = [call for call in evidence.facts.calls if "set_start_method" in (call.method, call.name[-16:])]
        evidence.memo["chosen"] = [call.context.called for call in calls if not _is_spawn(_first(call))]
    is_called = loader.context.called
    return not any(was_called or not is_called for was_called in evidence.memo["chosen"])


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
    """Return whether a program asks a loader for no batch: all that it does with its name is `loader.dataset` or `len(loader)`.

    A name that is read nowhere may be another file's to import.
    """
    above = evidence.parents.get(loader.node)
    target = above.targets[0] if isinstance(above, ast.Assign) and len(above.targets) == 1 else None
    if not isinstance(target, ast.Name):
        return False
    reads = [
        node
        for node in (evidence.whole or evidence).nodes_beside(target.id)
        if isinstance(node, ast.Name) and node.id == target.id and isinstance(node.ctx, ast.Load)
    ]
    return bool(reads) and all(_only_asks(evidence.parents.get(node)) for node in reads)


def _only_asks(node: ast.AST | None) -> bool:
    if isinstance(node, ast.Attribute):
        return node.attr in ONLY_ASKED
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "len"


def run_in_workers(part: Class | Function) -> list[Function]:
    """Return what of a data set's class, or of a function that a loader is given, runs in the workers."""
    found = [part] if isinstance(part, Function) else [part.lookup(name) for name in IN_WORKERS]
    return [one for one in found if isinstance(one, Function)]


def pickled(
    values: Iterable[Value], keepers: Sequence[str] = ("*",), dropped: Sequence[str] = (), hiders: Mapping[str, str] = MappingProxyType({})
) -> Iterator[tuple[str, Value]]:
    """Yield all that pickle takes along with some values, each with the attribute that holds it, or in whose value it is; '' for none.

    `keepers` are the classes of other modules (globs) that keep what they are given, but for the `dropped` arguments; `hiders` those of
    which nothing that is read holds it, each with the attribute that its first argument becomes.
    """
    waiting, seen, wholes = [("", value) for value in reversed(list(values))], set[int](), set[int]()
    while waiting:
        name, value = waiting.pop()
        for one in alternatives_of(value):
            cls = one.cls if isinstance(one, Instance) else None
            if id(one) in seen or (cls is not None and any(cls.lookup(method) for method in PICKLES_ITSELF)):
                continue
            seen.add(id(one))
            if id(one) not in wholes:
                yield name, one
            parts = [(name, part) for part in inside(one)]
            globs = [glob for glob in keepers if id(one) not in wholes or glob not in hiders]
            if isinstance(one, (Items, DictValue)) and one.each is not None:
                parts.append((name, one.each))
            if isinstance(one, Bound) and one.function is not None and not one.function.is_static:
                parts = [(name, one.receiver)]
            elif isinstance(one, Instance) and cls is not None:
                parts = [(key, part) for key, part in one.written_slots().items() if isinstance(key, str)]
            elif isinstance(one, Instance) and one.owner is not None:  # what was read from it may hold what it was given, not itself
                wholes.add(id(one.owner))
                parts = [(name, one.owner)]
            elif isinstance(one, Instance) and one.call is not None and any(fnmatch.fnmatchcase(one.name, glob) for glob in globs):
                written, first = one.written_slots(), hiders.get(one.name)  # what is set later takes the place of what was given
                kept = [argument.value for key, argument in one.call.keywords.items() if key not in dropped and key not in written]
                kept += [argument.value for argument in one.call.arguments[first in written :]] + list(written.values())
                parts = [(name, value) for value in kept]
            waiting += reversed(parts)


def made_of(value: Value, depth: int = 5) -> Iterator[Class | Function]:
    """Yield the classes and functions of the program that an object is made of."""
    if depth <= 0:
        return
    for one in alternatives_of(value):
        if isinstance(one, Function):
            yield one
        elif isinstance(one, Bound):
            yield from made_of(one.receiver, depth - 1)
        elif isinstance(one, (Items, DictValue)):
            for part in inside(one):
                yield from made_of(part, depth - 1)
        elif isinstance(one, Instance):
            if one.cls is not None:
                yield one.cls
            if one.owner is not None:
                yield from made_of(one.owner, depth - 1)
            elif one.call is not None:
                for given in one.call.given:
                    yield from made_of(given, depth - 1)
