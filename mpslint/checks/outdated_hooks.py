"""Hooks of a LightningModule that newer versions refuse, or pass less than they require, from `rules/platform/overrides.yaml`."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from typing import Any

from mpslint.core.finding import Span
from mpslint.core.knowledge import platform_data
from mpslint.core.versions import VersionRange
from mpslint.facts.values import Class, Function
from mpslint.program.walk import called_name
from mpslint.rule.judge import Match
from mpslint.settings.evidence import Evidence


def _table(options: Mapping[str, Any]) -> Mapping[str, Mapping[str, Any]]:
    rows: Mapping[str, Mapping[str, Any]] = platform_data("overrides")[options["table"]]
    return rows


def find(evidence: Evidence, options: Mapping[str, Any]) -> Iterator[Match]:
    """Yield each hook, at its name, of a class that the program derives from the library's.

    Options: `table`, where the hooks are listed; `unstarted`, to yield those of methods of the Trainer that a run never calls, while it
    calls others, instead of the rest.
    """
    known = set(platform_data("overrides")["lightning_classes"])
    rows = {name: row for name, row in _table(options).items() if VersionRange.parse(row["versions"]).matches(evidence.target.versions)}
    rows = {name: row for name, row in rows.items() if _is_unstarted(row["by"], options, evidence) is bool(options.get("unstarted"))}
    seen: set[int] = set()
    for cls in _classes(evidence) if rows else ():
        if known.isdisjoint(cls.outside_bases()):
            continue
        for name, row in rows.items():
            hook = cls.lookup(name)
            if not isinstance(hook, Function) or isinstance(hook.node, ast.Lambda) or id(hook.node) in seen:
                continue
            more = _more(hook.node, row["passes"]) if "passes" in row else []
            if "passes" in row and not more:
                continue
            seen.add(id(hook.node))
            yield _match(hook.node, cls, more, row, evidence)


def _is_unstarted(method: str, options: Mapping[str, Any], evidence: Evidence) -> bool:
    """Return whether a run calls other methods of a Trainer that the hooks are for, and not this one."""
    whole = evidence.whole or evidence
    methods = {row["by"] for row in _table(options).values()}
    called = {one for one in methods for node in whole.nodes_beside(f".{one}") if isinstance(node, ast.Call) and called_name(node) == one}
    return bool(called) and method not in called


def _classes(evidence: Evidence) -> Iterator[Class]:
    """Yield the classes of the program that some name stands for."""
    for frame in evidence.facts.frames:
        yield from (value for value in frame.slots.values() if isinstance(value, Class))


def _more(hook: ast.FunctionDef | ast.AsyncFunctionDef, passes: list[str]) -> list[str]:
    """Return the parameters that a hook requires beyond those it is passed; none for a decorated one, whose signature is another."""
    if hook.decorator_list:
        return []
    places = [one.arg for one in (*hook.args.posonlyargs, *hook.args.args)][1:]
    required = places[: len(places) - len(hook.args.defaults)]
    return required[len(passes) :]


def _match(hook: ast.FunctionDef | ast.AsyncFunctionDef, cls: Class, more: list[str], row: Mapping[str, Any], evidence: Evidence) -> Match:
    package = VersionRange.parse(row["versions"]).packages[0]
    values = {
        "written": f"{cls.node.name}.{hook.name}",
        "by": f"Trainer.{row['by']}",
        "becomes": row.get("becomes", ""),
        "more": " and ".join(f"`{one}`" for one in more),
        "passes": ", ".join(["self", *row.get("passes", ())]),
        "library": f"{package.capitalize()} {evidence.target.shown(package)}",
    }
    start = evidence.document.text.index(hook.name, evidence.span_of(hook).start)
    return Match(Span(start, start + len(hook.name)), values, node=hook)
