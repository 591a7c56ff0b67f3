"""Names of `torch.mps` and `torch.accelerator` that do not exist in the Target's release, or do not work for MPS yet."""

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
    modules = tuple(f"{module}." for module in known if "." in module)
    for call in evidence.facts.calls:
        if not call.name.startswith(modules):
            continue
        module, _, rest = _split(call.name, known)
        name = rest.split(".")[0]
        if not name or torch is None or name.startswith("_"):
            continue
        kind, what = _kind(known[module].get(name), module in known["complete"], torch)
        if kind != options["kind"]:
            continue
        instead, written = known["instead"].get(name, ""), f"{module}.{name}"
        is_other = instead and not instead.startswith(written)
        values = {"written": written, "what": what, "instead": f"Write {instead}." if is_other else options.get("otherwise", "")}
        yield Match(evidence.span_of(call.node.func), values, call=call, context=call.context, node=call.node)


def _split(name: str, known: Mapping[str, Any]) -> tuple[str, str, str]:
    """Return (module, '.', rest) for a name of a module that is known; ('', '', '') for any other."""
    for module in known:
        if name.startswith(f"{module}.") and "." in module:
            return module, ".", name[len(module) + 1 :]
    return "", "", ""


def _kind(entry: Mapping[str, str] | None, is_complete: bool, torch: Version) -> tuple[str, str]:
    if entry is None:
        return ("unknown", "") if is_complete else ("", "")
    for key, kind in (("since", "later"), ("ready", "unready")):
        version = parse_version(entry.get(key, "0"))
        if version is not None and torch[: len(version)] < version:
            return kind, format_version(version)
    return "", ""
