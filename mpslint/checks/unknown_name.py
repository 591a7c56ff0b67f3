"""Names of `torch.mps` and `torch.accelerator` that do not exist in the Target's release, or do not work for MPS yet.

A check because what isn't in a complete list of names is the finding, and no condition asks for what is missing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from mpslint.core.knowledge import platform_data
from mpslint.core.versions import Version, format_version, parse_version
from mpslint.rule.judge import Match
from mpslint.settings.evidence import Evidence


def find(evidence: Evidence, options: Mapping[str, Any]) -> Iterator[Match]:
    """Yield each call of such a name. Options: `kind`: unknown (in no release), later, or unready; `otherwise`, what to do where no name
    takes its place."""
    torch = evidence.target.versions.get("torch")
    known = platform_data("names")
    for call in evidence.facts.calls:
        module = next((one for one in known if "." in one and call.name.startswith(f"{one}.")), "")
        name = call.name[len(module) + 1 :].split(".")[0]
        if not module or not name or torch is None or name.startswith("_"):
            continue
        kind, what = _kind(known[module].get(name), module in known["complete"], torch)
        if kind != options["kind"]:
            continue
        instead, written = known["instead"].get(name, ""), f"{module}.{name}"
        is_other = instead and not instead.startswith(written)
        values = {"written": written, "what": what, "instead": f"Write {instead}." if is_other else options.get("otherwise", "")}
        yield Match(evidence.span_of(call.node.func), values, call=call, context=call.context, node=call.node)


def _kind(entry: Mapping[str, str] | None, is_complete: bool, torch: Version) -> tuple[str, str]:
    if entry is None:
        return ("unknown", "") if is_complete else ("", "")
    for key, kind in (("since", "later"), ("ready", "unready")):
        version = parse_version(entry.get(key, "0"))
        if version is not None and torch[: len(version)] < version:
            return kind, format_version(version)
    return "", ""
