"""`operators.yaml`: which operators have an MPS kernel since when, from `native_functions.yaml` inside the macOS wheels of torch."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import yaml
from packaging.version import Version

from .arguments import Rebuilt
from .ranges import short
from .tables import parsed
from .wheels import Wheels

NATIVE = "torchgen/packaged/ATen/native/native_functions.yaml"
_OUT_OF_REACH = re.compile(
    r"cudnn|miopen|mkldnn|sparse|quant|nested|jagged|grad_input$|_conv_depthwise|slow_conv|thnn|flash|efficient|triton|_test_"
)
"""Operators that no program for MPS reaches: other vendors', sparse and quantised ones."""
_WRITES = re.compile(r"(?:\.|_)out$")
"""Variants that write into an argument. A program reaches one where the operator without it is defined by it."""


def kernels(text: str) -> dict[str, bool]:
    """Return whether each operator that needs a kernel of its own for each device has one for MPS; one made of others is left out."""
    rows = {str(row["func"]).split("(")[0]: row for row in yaml.load(text, getattr(yaml, "CSafeLoader", yaml.SafeLoader))}
    keys = {name: _keys(row) | _keys(rows.get(str(row.get("structured_delegate")), {})) for name, row in rows.items()}
    reached = {name for name in keys if not _WRITES.search(name) or "CompositeExplicitAutograd" in keys.get(_WRITES.sub("", name), ())}
    keys = {name: found for name, found in keys.items() if name in reached}
    own = {name: found for name, found in keys.items() if found and not any(key.startswith("Composite") for key in found - {"MPS"})}
    return {name: "MPS" in found for name, found in {**own, **{name: found for name, found in keys.items() if "MPS" in found}}.items()}


def operators(path: Path, wheels: Wheels, releases: Iterable[str], before: str | None, bounds: bool) -> Rebuilt:
    """Return `operators.yaml` as the wheels have it: of the newest release of torch, or of one release of every minor version."""
    done = Rebuilt(path.read_text(encoding="utf-8"))
    table = parsed(done.text)
    first: dict[str, set[str]] = {minor: set(names) for minor, names in table["first"].items()}
    never = set(table["never"])
    listed = [one for one in releases if Version(one) >= Version(min(first, key=Version))]
    read = (_last_of_minors(listed) if bounds else listed[-1:]) if listed else []
    for release in read:
        text = wheels.text("torch", release, NATIVE)
        if text is None:
            done.unread += 1
            continue
        has, minor = kernels(text), _minor(release)
        since = {name: one for one, names in first.items() for name in names}
        for name, one in sorted(since.items()):
            done.checked += name in has
            if has.get(name) is False and Version(one) <= Version(minor):
                done.lines.append(f"{name}: torch {release} has no kernel, against {one}")
            elif has.get(name) and Version(one) > Version(minor):
                first[one].discard(name)
                first.setdefault(minor, set()).add(name)
                done.lines.append(f"{name}: torch {release} has a kernel already, against {one}")
        for name in sorted(never & set(has)):
            done.checked += 1
            if has[name]:
                never.discard(name)
                first.setdefault(minor, set()).add(name)
                done.lines.append(f"{name}: has a kernel since torch {minor}")
    if before is not None and listed and listed[-1] != before:
        old, new = (wheels.text("torch", release, NATIVE) for release in (before, listed[-1]))
        came = set(kernels(new or "[]")) - set(kernels(old or "[]")) if old and new else set()
        for name in sorted(name for name in came if not kernels(new or "[]")[name] and not _OUT_OF_REACH.search(name)):
            never.add(name)
            done.lines.append(f"{name}: new in torch {_minor(listed[-1])}, without a kernel")
    if ({minor: set(names) for minor, names in table["first"].items()}, set(table["never"])) != (first, never):
        done.text = _written(done.text, first, never)
    return done


def _keys(row: Mapping[str, Any]) -> set[str]:
    return {key.strip() for keys in row.get("dispatch") or {} for key in keys.split(",")}


def _minor(release: str) -> str:
    return short(".".join(map(str, Version(release).release[:2])))


def _last_of_minors(releases: Iterable[str]) -> list[str]:
    return list({Version(one).release[:2]: one for one in sorted(releases, key=Version)}.values())


def _written(text: str, first: Mapping[str, set[str]], never: set[str]) -> str:
    """Return the table with its two lists written anew, and everything around them as it was."""
    start = re.search(r"^first:\n", text, re.MULTILINE)
    end = re.search(r"^never: \[.*?^  ?\]\n", text, re.MULTILINE | re.DOTALL)
    if start is None or end is None:
        raise ValueError("operators.yaml has no lists `first` and `never`")
    lines = ["first:"]
    for minor in sorted((one for one in first if first[one]), key=Version):
        lines += [f'  "{minor}": [', textwrap.indent(textwrap.fill(", ".join(sorted(first[minor])), 116), "    "), "  ]"]
    lines += ["never: [", textwrap.indent(textwrap.fill(", ".join(sorted(never)), 116), "    "), "  ]", ""]
    return text[: start.start()] + "\n".join(lines) + text[end.end() :]
