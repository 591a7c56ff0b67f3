"""Loaders of a script whose workers would be handed what pickle doesn't take: a lambda, a nested function, or an open file of data."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from typing import Any

from mpslint.checks._loaders import TAKEN, pickled, with_workers
from mpslint.core.finding import Related
from mpslint.facts.values import Function, Instance
from mpslint.rule.judge import Match
from mpslint.settings.evidence import Evidence
from mpslint.source.document import Kind


def find(evidence: Evidence, options: Mapping[str, Any]) -> Iterator[Match]:
    """Yield the workers of loaders that take a function along which pickle cannot name.

    Options: `keepers`, classes (globs) that keep what they are given; `dropped`, arguments that they do not keep; `hiders`, those of which
    nothing that is read holds it, with the attribute of the first argument; what raises, by what is pickled: `handles`, or a `function`.
    """
    if evidence.document.kind is not Kind.PYTHON:
        return
    for _, match, arguments in with_workers(evidence):
        taken = [arguments[name].value for name in TAKEN if name in arguments]
        held = [one for _, one in pickled(taken, options["keepers"], options["dropped"], options["hiders"])]
        function = next((one for one in held if isinstance(one, Function) and _is_local(one)), None)
        if function is not None:
            name = "a lambda" if function.name == "<lambda>" else f"{function.name}()"
            related = (*match.related, Related(evidence.span_of(function.node), "it is defined here"))
            yield dataclasses.replace(match, values={**match.values, "name": name, "raises": options["function"]}, related=related)
            continue
        handle = next((one for one in held if isinstance(one, Instance) and one.name in options["handles"]), None)
        if handle is not None and handle.call is not None:
            related = (*match.related, Related(evidence.span_of(handle.call.node), "it is opened here"))
            name = f"{handle.name.removeprefix('builtins.')} in the dataset"
            values = {**match.values, "name": name, "raises": options["handles"][handle.name]}
            yield dataclasses.replace(match, values=values, related=related)


def _is_local(function: Function) -> bool:
    """Return whether no module has the function by its name: a lambda, or one that was defined while another one ran."""
    return function.name == "<lambda>" or (function.cls is None and function.frame.parent is not None)
