"""Device strings that torch doesn't know, such as "MPS" and "gpu"."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from typing import Any

from mpslint.core.finding import Related
from mpslint.core.knowledge import platform_data
from mpslint.facts.values import Argument, Call, Instance, Known, origin_of
from mpslint.rule.check import Gate
from mpslint.rule.guards import is_certain
from mpslint.rule.judge import Match
from mpslint.settings.evidence import Evidence

GATE = Gate(words=("device", ".to("))


def find(evidence: Evidence, options: Mapping[str, Any]) -> Iterator[Match]:
    """Yield the texts that are certainly given to a call as device and are none, where they were written."""
    known = re.compile(rf"(?:{'|'.join(platform_data('device_types')['known'])})(?::\d+)?")
    for call in evidence.facts.calls:
        given = _device(call) if is_certain(call.context) else None
        text = given.value.value if given is not None and isinstance(given.value, Known) else None
        if given is None or given.node is None or not isinstance(text, str) or known.fullmatch(text):
            continue
        values = {"value": text, "written": ast.unparse(call.node.func)}
        place = origin_of(given.value) or given.node
        related = (Related(evidence.span_of(given.node), f"{values['written']} is given it here"),) if place is not given.node else ()
        yield Match(evidence.span_of(place), values, None, call, None, call.context, related, place)


def _device(call: Call) -> Argument | None:
    """Return the argument of a call that names a device, None for a call that takes none, or of which that isn't sure."""
    data = platform_data("device_types")
    if call.name in data["makers"] or (call.method == "to" and _is_torch(call.receiver, data["packages"])):
        return call.keywords.get("device") or (call.arguments[0] if call.arguments else None)
    if call.name.partition(".")[0] in data["packages"]:
        return call.keywords.get("device")
    return None


def _is_torch(value: object, packages: list[str]) -> bool:
    """Return whether an object was made by torch, or derives from one of its classes."""
    if not isinstance(value, Instance):
        return False
    bases = value.cls.outside_bases() if value.cls is not None else ()
    return any(name.partition(".")[0] in packages for name in (value.name, *bases))
