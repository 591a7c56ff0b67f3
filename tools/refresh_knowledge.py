"""Rebuild the machine-readable part of `rules/` from the packages on the index, and print what changed.

    python tools/refresh_knowledge.py                    print what would change
    python tools/refresh_knowledge.py --write            write it
    python tools/refresh_knowledge.py --step sources     one step: releases, arguments, names, operators, graphs or sources
    python tools/refresh_knowledge.py --bounds           read again both sides of every bound, not the newest releases only

It asks pip for the releases of every package in `rules/platform/versions.yaml` and reads their metadata without downloading wheels. The
other steps download wheels, at most `--downloads` of them: the arguments and names that packages take, torch's MPS kernels and compiled
graphs, and the files that the rules give as sources. For each table that changed it names the rules that rest on it. `docs/refresh.md`
says more.
"""

from __future__ import annotations

import argparse
import datetime
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from refresh import tables
from refresh.arguments import Rebuilt, Scope, arguments, removed_names, rules_on
from refresh.graphs import graphs
from refresh.index import Index
from refresh.operators import operators
from refresh.requirements import collect
from refresh.sources import check_sources, said_of
from refresh.wheels import LimitReached, Wheels

ROOT = Path(__file__).parents[1]
STEPS = ("releases", "arguments", "names", "operators", "graphs", "sources")


def main(given: list[str] | None = None) -> int:
    """Print what changed, and write it where asked. Returns 1 when something changed that was not written, or a source is refuted."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true", help="write the tables")
    parser.add_argument("--rules", type=Path, default=ROOT / "rules", help="the folder of the rules")
    parser.add_argument("--find-links", type=Path, help="read wheels from this folder in place of the index")
    parser.add_argument("--only", action="append", default=[], metavar="PACKAGE", help="only this package; repeatable")
    parser.add_argument("--date", default=datetime.date.today().isoformat(), help="the date to write")
    parser.add_argument("--step", action="append", choices=STEPS, help="only this step; repeatable (default: all)")
    parser.add_argument("--bounds", action="store_true", help="read both sides of every bound again")
    parser.add_argument("--since", action="append", default=[], metavar="PACKAGE=VERSION", help="compare with this release")
    parser.add_argument("--wheels", type=Path, help="keep downloaded wheels in this folder (default: a temporary one)")
    parser.add_argument("--downloads", type=int, default=40, metavar="N", help="download at most N wheels (default: 40)")
    options = parser.parse_args(given)
    with tempfile.TemporaryDirectory() as temporary:
        return _run(options, options.wheels or Path(temporary))


def _run(options: argparse.Namespace, folder: Path) -> int:
    """Run the steps that are asked for. Returns the exit code."""
    steps, rules = options.step or STEPS, options.rules
    folder.mkdir(parents=True, exist_ok=True)
    index = Index(options.find_links)
    old = tables.read(rules / "platform" / "versions.yaml")
    wheels = Wheels(index, folder, options.downloads, dict(old.get("formerly", {})))
    changed, refuted = 0, 0
    new = old
    if "releases" in steps:
        for path, text, lines in refreshed(index, rules, tuple(options.only), options.date):
            new = tables.parsed(text) if path.name == "versions.yaml" else new
            changed += _shown(path, text, lines, options)
    releases = {name: text.split() for name, text in new.get("released", {}).items()}
    before = {**{name: str(version) for name, version in old["newest"].items()}, **dict(one.split("=", 1) for one in options.since)}
    scope = Scope({name: listed for name, listed in releases.items() if not options.only or name in options.only}, before, options.bounds)
    for step, rebuilt in _rebuilds(rules, wheels, scope):
        if step in steps:
            changed += _rebuild(step, rebuilt, options)
    if "sources" in steps:
        verdicts = check_sources(rules, wheels, scope.releases)
        print("sources:", *said_of(verdicts), sep="\n  ")
        refuted = sum(one.word == "refuted" for one in verdicts)
    plural = "file" if changed == 1 else "files"
    done = "written" if options.write else "would change"
    print(f"{changed} {plural} {done}; {index.calls} calls of pip, {wheels.downloads} wheels downloaded")
    return 1 if refuted or (changed and not options.write) else 0


def _rebuilds(rules: Path, wheels: Wheels, scope: Scope) -> Iterator[tuple[str, tuple[Path, Callable[[Path], Rebuilt]]]]:
    """Yield each step that rebuilds a table from wheels, with the table and what rebuilds it."""
    platform, torch = rules / "platform", scope.releases.get("torch", [])
    yield "arguments", (platform / "arguments.yaml", lambda path: arguments(path, wheels, scope))
    yield "names", (platform / "removed_names.yaml", lambda path: removed_names(path, wheels, scope))
    yield "operators", (platform / "operators.yaml", lambda path: operators(path, wheels, torch, scope.before.get("torch"), scope.bounds))
    yield "graphs", (platform / "graph_cache.yaml", lambda path: graphs(path, wheels, torch, scope.bounds))


def _rebuild(step: str, rebuilt: tuple[Path, Callable[[Path], Rebuilt]], options: argparse.Namespace) -> bool:
    """Rebuild one table and show it. Returns whether it changed."""
    path, build = rebuilt
    if not path.is_file():
        return False
    try:
        done = build(path)
    except LimitReached as error:
        print(f"{step}: stopped at {error}: --downloads allows no more")
        return False
    print(f"{step}: {done.checked} statements checked against wheels, {done.unread} unread")
    if done.lines:
        resting = ", ".join(rules_on(options.rules, ROOT / "mpslint" / "checks", path.stem))
        done.lines.append(f"rules that rest on it: {resting}" if resting else "no rule rests on it")
    before = path.read_text(encoding="utf-8")
    if done.text != before:
        tables.parsed(done.text)
        return _shown(path, done.text, done.lines, options)
    if done.lines:
        print(*done.lines, sep="\n  ")
    return False


def _shown(path: Path, text: str, lines: Sequence[str], options: argparse.Namespace) -> bool:
    """Print what changes in a file, and write it where that is asked for. Returns True."""
    print(f"{path.relative_to(options.rules.parent)}:", *lines, sep="\n  ")
    if options.write:
        path.write_text(text, encoding="utf-8")
    return True


def refreshed(index: Index, rules: Path, only: tuple[str, ...], date: str) -> Iterator[tuple[Path, str, list[str]]]:
    """Yield (file, new text, lines that say what changed) of each table that is not what the index says."""
    versions_path, requirements_path = (rules / "platform" / name for name in ("versions.yaml", "requirements.yaml"))
    versions, known = tables.read(versions_path), tables.known_rows(tables.read(requirements_path))
    packages = [name for name in versions["newest"] if name not in ("macos", "python") and (not only or name in only)]
    releases: dict[str, list[str]] = {}
    needs = dict(known)
    for name, listed, found in collect(index, packages, versions, known):
        releases[name] = listed
        needs[name] = {**known.get(name, {}), **found}
    text = tables.versions_text(versions, releases, date)
    after = tables.parsed(text)
    if {**after, "date": ""} != {**versions, "date": ""}:
        lines = list(tables.changes(versions, after))
        yield versions_path, text, [*lines, *tables.rules_about(rules, versions, after)]
    ordered = {name: needs[name] for name in versions["newest"] if needs.get(name)}
    text = tables.requirements_text(ordered)
    lines = list(tables.changed_rows(known, ordered))
    if lines:
        yield requirements_path, text, lines


if __name__ == "__main__":
    sys.exit(main())
