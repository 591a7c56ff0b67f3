"""Loaders of a script whose workers would be handed what pickle doesn't take: a lambda, a nested function, or an open file of data."""

from __future__ import annotations

import dataclasses
import fnmatch
from collections.abc import Iterator, Mapping
from typing import Any

from mpslint.checks._loaders import with_workers
from mpslint.core.finding import Related
from mpslint.facts.values import Bound, Function, Instance, Items, Value, alternatives_of
from mpslint.facts.values import Mapping as DictValue
from mpslint.rule.judge import Match, match_of
from mpslint.settings.evidence import Evidence
from mpslint.source.document import Kind

TAKEN = ("dataset", "sampler", "batch_sampler", "collate_fn", "worker_init_fn")
"""Arguments that go to the workers."""
PICKLES_ITSELF = ("__getstate__", "__reduce__", "__reduce_ex__")
"""Methods that say what of an object is pickled."""


def find(evidence: Evidence, options: Mapping[str, Any]) -> Iterator[Match]:
    """Yield the workers of loaders that take a function along which pickle cannot name.

    Options: `keepers`, the classes (globs) that keep what they are given; `dropped`, arguments of theirs that they do not keep; what
    raises, by the name of what pickle doesn't take: of `handles`, and for a `function`.
    """
    if evidence.document.kind is not Kind.PYTHON:
        return
    for _, workers, arguments in with_workers(evidence):
        taken = [arguments[name].value for name in TAKEN if name in arguments]
        match = match_of(workers, evidence.plans[-1], evidence)
        if match is None:
            continue
        function = next((one for value in taken for one in _kept(value, options) if _is_local(one)), None)
        if function is not None:
            name = "a lambda" if function.name == "<lambda>" else f"{function.name}()"
            related = (*match.related, Related(evidence.span_of(function.node), "it is defined here"))
            yield dataclasses.replace(match, values={**match.values, "name": name, "raises": options["function"]}, related=related)
            continue
        handle = next((one for value in taken for one in _handles(value, options)), None)
        if handle is not None and handle.call is not None:
            related = (*match.related, Related(evidence.span_of(handle.call.node), "it is opened here"))
            values = {**match.values, "name": f"{handle.name} in the dataset", "raises": options["handles"][handle.name]}
            yield dataclasses.replace(match, values=values, related=related)


def _kept(value: Value, options: Mapping[str, Any], depth: int = 6) -> Iterator[Function]:
    """Yield the functions of the program that an object holds."""
    if depth <= 0:
        return
    for one in alternatives_of(value):
        if isinstance(one, Function):
            yield one
        elif isinstance(one, Bound) and one.function is not None and not one.function.is_static:
            yield from _kept(one.receiver, options, depth - 1)
        elif isinstance(one, Items):
            for part in one.values():
                yield from _kept(part, options, depth - 1)
        elif isinstance(one, DictValue):
            for entry in one.slots.values():
                yield from _kept(entry.value, options, depth - 1)
        elif isinstance(one, Instance) and one.cls is not None:
            if not any(one.cls.lookup(name) for name in PICKLES_ITSELF):
                held = [part for part in one.written_slots().values() if isinstance(part, (Function, Instance)) and part is not one]
                yield from (part for value in held for part in _kept(value, options, depth - 1))
        elif isinstance(one, Instance):
            yield from _kept_by(one, options, depth)


def _kept_by(instance: Instance, options: Mapping[str, Any], depth: int) -> Iterator[Function]:
    """Yield the functions that an object of another module was given and keeps, or that what it is a part of keeps."""
    if instance.owner is not None:
        yield from _kept(instance.owner, options, depth - 1)
    elif instance.call is not None and any(fnmatch.fnmatchcase(instance.name, glob) for glob in options["keepers"]):
        kept = [argument for name, argument in instance.call.keywords.items() if name not in options["dropped"]]
        for argument in (*instance.call.arguments, *kept):
            yield from _kept(argument.value, options, depth - 1)


def _handles(value: Value, options: Mapping[str, Any], depth: int = 6) -> Iterator[Instance]:
    """Yield the open files and the like that an object of the program holds once it is made, unless it says itself how it is pickled."""
    if depth <= 0:
        return
    for one in alternatives_of(value):
        if isinstance(one, Instance) and one.name in options["handles"]:
            yield one
        elif isinstance(one, Bound) and one.function is not None and not one.function.is_static:
            yield from _handles(one.receiver, options, depth - 1)
        elif isinstance(one, Instance) and one.cls is not None and not any(one.cls.lookup(name) for name in PICKLES_ITSELF):
            for part in one.slots.values():
                yield from _handles(part, options, depth - 1)
        elif isinstance(one, Instance) and one.call is not None and any(fnmatch.fnmatchcase(one.name, glob) for glob in options["keepers"]):
            for argument in (*one.call.arguments, *one.call.keywords.values()):
                yield from _handles(argument.value, options, depth - 1)
        elif isinstance(one, Items):
            for part in one.values():
                yield from _handles(part, options, depth - 1)


def _is_local(function: Function) -> bool:
    """Return whether no module has the function by its name: a lambda, or one that was defined while another one ran."""
    return function.name == "<lambda>" or (function.cls is None and function.frame.parent is not None)
